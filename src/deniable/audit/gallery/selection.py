"""Choices among candidates: flawed noisy maxima and exponential mechanisms."""

import math
from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Any

from deniable.audit.gallery.chances import Chances, above, event, exponential, laplace
from deniable.audit.gallery.specimen import hang
from deniable.numbers.balls import ball

_DING = "Ding, Wang, Wang, Zhang, Kifer (2018), arXiv:1805.10277"


def _weighed(weights: Sequence[Any]) -> Chances:
    """Return the distribution proportional to weights."""
    return {index: weight / sum(weights) for index, weight in enumerate(weights)}


# fmt: off
hang("noisy max that prints its value",
     "The largest noisy score is printed and not its place: all noises move together.", _DING,
     lambda scores: event(math.prod(laplace(20)(Fraction(-200) - score) for score in scores)), (0,) * 5, (1,) * 5,
     epsilon="0.1", truth=0.25)
hang("exponential noisy max that prints its value",
     "Exponential noise never lowers a score, so that a small maximum rules out the larger scores.", _DING,
     lambda scores: event(math.prod(exponential(20)(Fraction(1) - score) for score in scores)), (0,) * 5, (1,) * 5,
     epsilon="0.1", truth=inf)
hang("exponential noisy max with half of its noise",
     "Scale 1/epsilon is enough for monotone scores, and these move up and down.", "errata E18",
     lambda scores: event(ball(Fraction(scores[0] - scores[1])).exp() / 2), (0, 10), (1, 9), truth=2.0)
hang("exponential noisy max", "Nothing: exponential noise of scale 2/epsilon.", "errata E18",
     lambda scores: event(ball(Fraction(scores[0] - scores[1], 2)).exp() / 2), (0, 20), (1, 19), truth=1.0)
hang("exponential mechanism without its factor 2",
     "Weights e^(epsilon score) count the change of the score and not that of the sum of all weights.",
     "McSherry, Talwar (2007), whose theorem has it",
     lambda scores: _weighed([ball(Fraction(score)).exp() for score in scores]), (0, 20), (1, 19), truth=2.0)
hang("exponential mechanism with float weights",
     "The weight of a candidate far behind is rounded to 0, so that it is never chosen.", "errata E57",
     lambda scores: _weighed([Fraction(math.exp(0.4 * (score - max(scores)))) for score in scores]), (0, 1863),
     (1, 1862), epsilon="0.8", truth=inf)

def votes(counts: Any) -> Chances:
    gap = Fraction(counts[1] - counts[0], 2)  # over the scale 1/epsilon = 2; the gap of two noises is above it
    return event((1 + ball(gap) / 2) * ball(-gap).exp() / 2)

hang("PATE votes with Laplace noise",
     "One record changes one teacher, who takes a vote from one label and gives it to another: two counts move.",
     "Papernot et al. (2017), arXiv:1610.05755; errata E45", votes, (0, 20), (1, 19), epsilon="0.5", truth=1.0)

def convex_risk(slope: Any) -> Chances:
    rate = Fraction(99 + slope, 2)  # density proportional to e^(-rate x); the event: above 0.99
    return event((ball(rate / 100).exp() - 1) / (ball(2 * rate).exp() - 1))

hang("exponential mechanism for convex risk",
     "Parameter in [-1, 1], 99 losses with slope 1 and one that is replaced: scores move by 2GR, and not by GR.",
     "errata E27", convex_risk, -1, 1, truth=2.0)
hang("objective perturbation without its correction",
     "n lambda = 1/20 and one loss of curvature 1/4: it makes the map from noise to minimiser 6 times as steep.",
     "Chaudhuri, Monteleoni, Sarwate (2011), arXiv:0912.0071; errata E49",
     lambda curved: event(1 - 2 * laplace(2)(-Fraction(1, 20) - Fraction(curved, 4))), 1, 0)
hang("top coordinate before the noise", "Only the largest coordinate is sent, with noise; which one it is, has none.",
     "errata E51", lambda gradient: {("coordinate", max((0, 1), key=gradient.__getitem__)): Fraction(1)}, (0, 1),
     (1, 0), truth=inf)
hang("most frequent value", "A function that is not constant and throws no dice has no epsilon.", "errata E04",
     lambda rows: {max((0, 1), key=rows.count): Fraction(1)}, (0, 1, 1), (0, 0, 1), truth=inf)
hang("threshold on a thermometer", "Nothing: Laplace noise of scale 2 before the comparison.",
     "a lecture's example of hypothesis tests", lambda degrees: above(laplace(2), degrees, Fraction(77, 2)), 38, 39,
     epsilon="0.5", truth=0.5)

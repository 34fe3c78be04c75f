"""Choices among candidates: noisy maxima and exponential mechanisms that say too much."""

import math
from fractions import Fraction
from typing import Any

from deniable.audit.gallery.chances import Chances, above, event, exponential, laplace
from deniable.audit.gallery.specimen import specimen
from deniable.numbers.balls import ball

_DING = "Ding, Wang, Wang, Zhang, Kifer (2018), arXiv:1805.10277"


@specimen("noisy max that prints its value", epsilon="0.1", data=(0,) * 5, neighbour=(1,) * 5, truth=0.25, source=_DING)
def printed_maximum(scores: Any) -> Chances:
    """The largest noisy score is printed and not its place: all noises move together."""
    chance: Any = 1
    for score in scores:
        chance *= laplace(20)(Fraction(-200) - score)
    return event(chance)


@specimen("exponential noisy max that prints its value", epsilon="0.1", data=(0,) * 5, neighbour=(1,) * 5,
          truth=math.inf, source=_DING)  # fmt: skip
def printed_exponential_maximum(scores: Any) -> Chances:
    """Exponential noise never lowers a score, so that a small maximum rules out the larger scores."""
    chance: Any = 1
    for score in scores:
        chance *= exponential(20)(Fraction(1) - score)
    return event(chance)


@specimen("exponential noisy max with half of its noise", data=(0, 10), neighbour=(1, 9), truth=2.0,
          source="errata E18")  # fmt: skip
def half_exponential(scores: Any) -> Chances:
    """Scale 1/epsilon is enough for monotone scores, and these move up and down."""
    first, second = scores
    return {0: ball(Fraction(first - second)).exp() / 2, 1: 1 - ball(Fraction(first - second)).exp() / 2}


@specimen("exponential noisy max", data=(0, 20), neighbour=(1, 19), truth=1.0, sound=True, source="errata E18")
def sound(scores: Any) -> Chances:
    """Nothing: exponential noise of scale 2/epsilon."""
    first, second = scores
    return {0: ball(Fraction(first - second, 2)).exp() / 2, 1: 1 - ball(Fraction(first - second, 2)).exp() / 2}


@specimen("exponential mechanism without its factor 2", data=(0, 20), neighbour=(1, 19), truth=2.0,
          source="McSherry, Talwar (2007), whose theorem has it")  # fmt: skip
def whole_rate(scores: Any) -> Chances:
    """Weights e^(epsilon score) count the change of the score and not that of the sum of all weights."""
    weights = [ball(Fraction(score)).exp() for score in scores]
    return {place: weight / sum(weights) for place, weight in enumerate(weights)}


@specimen("exponential mechanism with float weights", epsilon="0.8", data=(0, 1863), neighbour=(1, 1862),
          truth=math.inf, source="errata E57")  # fmt: skip
def float_weights(scores: Any) -> Chances:
    """The weight of a candidate far behind is rounded to 0, so that it is never chosen."""
    best = max(scores)
    weights = [Fraction(math.exp(0.4 * (score - best))) for score in scores]
    return {place: weight / sum(weights) for place, weight in enumerate(weights)}


@specimen("PATE votes with Laplace noise", epsilon="0.5", data=(0, 20), neighbour=(1, 19), truth=1.0,
          source="Papernot et al. (2017), arXiv:1610.05755; errata E45")  # fmt: skip
def votes(counts: Any) -> Chances:
    """One record changes one teacher, who takes a vote from one label and gives it to another: two counts move."""
    gap = Fraction(counts[1] - counts[0], 2)  # over the scale 1/epsilon = 2; the gap of two noises is above it
    return event((1 + ball(gap) / 2) * ball(-gap).exp() / 2)


@specimen("exponential mechanism for convex risk", data=-1, neighbour=1, truth=2.0, source="errata E27")
def convex_risk(slope: Any) -> Chances:
    """Parameter in [-1, 1], 99 losses with slope 1 and one that is replaced: scores move by 2GR, and not by GR."""
    rate = Fraction(99 + slope, 2)  # density proportional to e^(-rate x); the event: above 0.99
    return event((ball(rate / 100).exp() - 1) / (ball(2 * rate).exp() - 1))


@specimen("objective perturbation without its correction", epsilon=1, data=1, neighbour=0,
          source="Chaudhuri, Monteleoni, Sarwate (2011), arXiv:0912.0071; errata E49")  # fmt: skip
def objective(curved: Any) -> Chances:
    """n lambda = 1/20 and one loss of curvature 1/4: it makes the map from noise to minimiser 6 times as steep."""
    slope = Fraction(1, 20) + Fraction(curved, 4)  # near 0 the minimiser is w = -noise/slope; the event: abs(w) < 1
    return event(1 - 2 * laplace(2)(-slope))


@specimen("top coordinate before the noise", data=(0, 1), neighbour=(1, 0), truth=math.inf, source="errata E51")
def top_before_noise(gradient: Any) -> Chances:
    """Only the largest coordinate is sent, with noise; which one it is, has none."""
    return {("coordinate", max((0, 1), key=gradient.__getitem__)): Fraction(1)}


@specimen("most frequent value", data=(0, 1, 1), neighbour=(0, 0, 1), truth=math.inf,
          source="errata E04")  # fmt: skip
def most_frequent(rows: Any) -> Chances:
    """A function that is not constant and throws no dice has no epsilon."""
    return {max((0, 1), key=rows.count): Fraction(1)}


@specimen("threshold on a thermometer", epsilon="0.5", data=38, neighbour=39, truth=0.5, sound=True,
          source="a lecture's example of hypothesis tests")  # fmt: skip
def thermometer(degrees: Any) -> Chances:
    """Nothing: Laplace noise of scale 2 before the comparison."""
    return above(laplace(2), degrees, Fraction(77, 2))

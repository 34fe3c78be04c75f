"""Gaussian noise with too small a sigma, or with a theorem that does not hold."""

import math
from fractions import Fraction
from typing import Any

from deniable.audit.gallery.chances import Chances, above, event, normal
from deniable.audit.gallery.specimen import hang
from deniable.numbers.balls import ball
from deniable.privacy import GaussianLoss


def _above_loss(count: Any, sigma: Fraction, loss: int) -> Chances:
    return above(normal(sigma), count, loss * sigma**2 + Fraction(1, 2))


# fmt: off
hang("classical Gaussian noise at epsilon 20",
     "sigma = sqrt(2 ln(1.25/delta))/epsilon is proved for epsilon below 1; at 20 the true delta is 0.0015.",
     "Dwork, Roth (2014), theorem A.1; errata E20",
     lambda count: _above_loss(count, Fraction(math.sqrt(2 * math.log(1.25e5)) / 20), 20), 1, 0, epsilon=20,
     delta="1e-5")
hang("Gaussian noise as printed in a tutorial",
     "A misprint puts ln(1.25/delta) where epsilon belongs: sigma does not depend on epsilon.", "errata E22",
     lambda count: _above_loss(count, Fraction(1 / math.sqrt(2 * math.log(1.25e5))), 1), 1, 0, delta="1e-5")

def discrete(count: Any) -> Chances:
    weights = {k: ball(Fraction(-((k - count) ** 2), 4)).exp() for k in range(-40, 41)}
    total = sum(weights.values())  # what lies beyond has a probability below e^-350, and is left out of both
    return {k: weight / total for k, weight in weights.items()}

hang("discrete Gaussian noise calibrated as continuous",
     "On integers the Gaussian is not dominated by the continuous one: delta(1) is 0.0428 and not 0.0396.",
     "Canonne, Kamath, Steinke (2020), arXiv:2004.00010; errata E92", discrete, 0, 1,
     claim=GaussianLoss(noise_multiplier="1.414213562"))

def votes(counts: Any) -> Chances:
    gap = ball(Fraction(counts[0] - counts[1] - 4)) / (20 * ball(Fraction(2)).sqrt())  # whether the gap is above 4
    return event((-gap / ball(Fraction(2)).sqrt()).erfc() / 2)

hang("PATE votes with Gaussian noise", "Two counts move by 1, so that the l2 sensitivity is sqrt 2 and not 1.",
     "Papernot et al. (2018), arXiv:1802.08908; errata E46", votes, (0, 0), (1, -1),
     claim=GaussianLoss(noise_multiplier=20))
hang("clipped sum under replace", "A record clipped to norm C moves the sum by 2C when another takes its place.",
     "errata E60", lambda record: above(normal(1), record, 0), -1, 1, claim=GaussianLoss(noise_multiplier=1))
hang("local gradient without clipping", "sigma fits gradients of norm 1, and nothing bounds their norm.", "errata E50",
     lambda gradient: above(normal(4), gradient, 5 * 10**5), 0, 10**6, delta="1e-5")
hang("Gaussian count", "Nothing: sigma 1 for a sensitivity of 1.", "Balle, Wang (2018), arXiv:1805.06530",
     lambda count: above(normal(1), count, Fraction(3, 2)), 0, 1, claim=GaussianLoss(noise_multiplier=1))

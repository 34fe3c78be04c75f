"""Gaussian noise with too small a sigma, or with a theorem that does not hold."""

import math
from fractions import Fraction
from typing import Any

from deniable.audit.gallery.chances import Chances, above, event, normal
from deniable.audit.gallery.specimen import specimen
from deniable.numbers.balls import ball
from deniable.privacy import GaussianLoss


@specimen("classical Gaussian noise at epsilon 20", epsilon=20, delta="1e-5", data=1, neighbour=0,
          source="Dwork, Roth (2014), theorem A.1; errata E20")  # fmt: skip
def classical(count: Any) -> Chances:
    """sigma = sqrt(2 ln(1.25/delta))/epsilon is proved for epsilon below 1; at 20 the true delta is 0.0015."""
    sigma = Fraction(math.sqrt(2 * math.log(1.25e5)) / 20)
    return above(normal(sigma), count, 20 * sigma**2 + Fraction(1, 2))  # where the loss is 20


@specimen("Gaussian noise as printed in a tutorial", epsilon=1, delta="1e-5", data=1, neighbour=0,
          source="errata E22")  # fmt: skip
def printed(count: Any) -> Chances:
    """A misprint puts ln(1.25/delta) where epsilon belongs: sigma does not depend on epsilon."""
    sigma = Fraction(math.sqrt(2 * math.log(1.25e5)) / (2 * math.log(1.25e5)))
    return above(normal(sigma), count, sigma**2 + Fraction(1, 2))


@specimen("discrete Gaussian noise calibrated as continuous", claim=GaussianLoss(noise_multiplier="1.414213562"),
          data=0, neighbour=1, source="Canonne, Kamath, Steinke (2020), arXiv:2004.00010; errata E92")  # fmt: skip
def discrete(count: Any) -> Chances:
    """On integers the Gaussian is not dominated by the continuous one: delta(1) is 0.0428 and not 0.0396."""
    weights = {k: ball(Fraction(-((k - count) ** 2), 4)).exp() for k in range(-40, 41)}
    total = sum(weights.values())  # what lies beyond has a probability below e^-350, and is left out of both
    return {k: weight / total for k, weight in weights.items()}


@specimen("PATE votes with Gaussian noise", claim=GaussianLoss(noise_multiplier=20), data=(0, 0), neighbour=(1, -1),
          source="Papernot et al. (2018), arXiv:1802.08908; errata E46")  # fmt: skip
def votes(counts: Any) -> Chances:
    """Two counts move by 1, so that the l2 sensitivity is sqrt 2 and not 1."""
    gap = ball(Fraction(counts[0] - counts[1] - 4)) / (20 * ball(Fraction(2)).sqrt())  # whether the gap is above 4
    return event((-gap / ball(Fraction(2)).sqrt()).erfc() / 2)


@specimen("clipped sum under replace", claim=GaussianLoss(noise_multiplier=1), data=-1, neighbour=1,
          source="errata E60")  # fmt: skip
def replaced(record: Any) -> Chances:
    """A record clipped to norm C moves the sum by 2C when another takes its place."""
    return above(normal(1), record, 0)


@specimen("local gradient without clipping", epsilon=1, delta="1e-5", data=0, neighbour=10**6, source="errata E50")
def unclipped(gradient: Any) -> Chances:
    """sigma fits gradients of norm 1, and nothing bounds their norm."""
    return above(normal(4), gradient, 5 * 10**5)


@specimen("Gaussian count", claim=GaussianLoss(noise_multiplier=1), data=0, neighbour=1, sound=True,
          source="Balle, Wang (2018), arXiv:1805.06530")  # fmt: skip
def sound(count: Any) -> Chances:
    """Nothing: sigma 1 for a sensitivity of 1."""
    return above(normal(1), count, Fraction(3, 2))

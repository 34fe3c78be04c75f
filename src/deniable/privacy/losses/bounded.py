"""The worst pair of distributions whose loss lies in a known interval: two outcomes, one at each end."""

import math
from fractions import Fraction

import numpy as np

from deniable.numbers.balls import ball, certified
from deniable.numbers.interval import Interval
from deniable.privacy.pld.law import FiniteLaw


def bounded_delta(most: Fraction, least: Fraction, epsilon: Fraction) -> Interval:
    """delta at `epsilon` of the worst pair with losses in [-least, most].

    Guarantee: (1 - e^-least) (1 - e^(epsilon - most)) / (1 - e^(-most - least)) for epsilon < most, else 0; attained by
        the pair with these two losses alone. Proof: docs/theory/privacy/losses.md.
    """
    if epsilon >= most:
        return Interval(0.0, 0.0)

    return certified(lambda: ball(epsilon - most).expm1() * ball(-least).expm1() / -ball(-most - least).expm1())


def bounded_law(most: float, least: float) -> FiniteLaw:
    """The law of that pair, for both ends above 0."""
    whole = -math.expm1(-most - least)
    high, low = -math.expm1(-least) / whole, -math.exp(-least) * math.expm1(-most) / whole
    p = np.array([low, high])
    q = np.array([-math.expm1(-most) / whole, -math.exp(-most) * math.expm1(-least) / whole])
    return FiniteLaw(np.array([-least, most]), p, q, spacing=most + least, roundings=16 + 4 * (most + least))

"""Worst pair of distributions whose loss lies in a known interval.

It has two outcomes, one at each end.
"""

import math
from fractions import Fraction

import numpy as np

from deniable.numbers.balls import ball, certified
from deniable.numbers.interval import Interval
from deniable.privacy.pld.law import FiniteLaw


def bounded_delta(upper_size: Fraction, lower_size: Fraction, epsilon: Fraction) -> Interval:
    """Return delta of the worst pair with losses in [-lower_size, upper_size].

    Guarantee: (1 - e^-least) (1 - e^(epsilon - most)) / (1 - e^(-most - least)) for epsilon < most, else 0; attained by
        the pair with these two losses alone. Proof: docs/theory/privacy/losses.md.
    """
    if epsilon >= upper_size:
        return Interval(0.0, 0.0)

    return certified(
        lambda: ball(epsilon - upper_size).expm1() * ball(-lower_size).expm1() / -ball(-upper_size - lower_size).expm1()
    )


def bounded_law(upper_size: float, lower_size: float) -> FiniteLaw:
    """Return the law of the worst pair, for both ends above 0."""
    whole = -math.expm1(-upper_size - lower_size)
    high, low = -math.expm1(-lower_size) / whole, -math.exp(-lower_size) * math.expm1(-upper_size) / whole
    p = np.array([low, high])
    q = np.array([-math.expm1(-upper_size) / whole, -math.exp(-upper_size) * math.expm1(-lower_size) / whole])
    return FiniteLaw(
        np.array([-lower_size, upper_size]),
        p,
        q,
        spacing=upper_size + lower_size,
        roundings=16 + 4 * (upper_size + lower_size),
    )

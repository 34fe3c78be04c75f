"""Skellam noise added to integers, by its Rényi divergences of whole orders."""

from fractions import Fraction

from deniable.numbers.rationals import Real, decimal_above, positive_rational
from deniable.privacy.losses.renyi import RenyiStatement
from deniable.privacy.sensitivity import Sensitivity

# whole orders at which the divergence is bounded
_ORDERS = (*range(2, 65), *(2**n + 2**n * step // 4 for n in range(6, 12) for step in (1, 2, 3, 4)))


def skellam_statement(variance: Real, sensitivity: Sensitivity, *, releases: int = 1) -> RenyiStatement:
    """Return the loss of vectors of integers with independent Skellam noise.

    Each number has noise of this variance.

    Guarantee: the divergence of each whole order is at most order l2^2/(2 v) + min(((2 order - 1) l2^2 + 6 l1)/(4 v^2),
        3 l1/(2 v)) a release, v the variance: coordinates add up, and so do the norms. Proved for whole orders alone.
    Source: Agarwal, Kairouz, Liu (2021), arXiv:2110.04995; tested against sums of the law.
    """
    v = positive_rational("variance", variance)
    norms = sensitivity.integral()
    l1, l2_squared = Fraction(norms.l1), Fraction(norms.l2_squared)

    def bound(order: int) -> Fraction:
        excess = min(((2 * order - 1) * l2_squared + 6 * l1) / (4 * v**2), 3 * l1 / (2 * v))
        return order * l2_squared / (2 * v) + excess

    return RenyiStatement(_ORDERS, [decimal_above(releases * bound(order), 12) for order in _ORDERS])

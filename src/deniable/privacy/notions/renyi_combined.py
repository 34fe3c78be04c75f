"""Rényi divergences of groups, of public mixtures and of disjoint parts.

Proofs: docs/theory/privacy/group.md, docs/theory/privacy/parallel.md.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import INFINITE, NONNEGATIVE, Interval, round_up

Divergence = Callable[[Fraction], float]  # an upper bound for each order > 1

# factors of the exponent p that is best for divergences linear in the order
_EXPONENT_SHARES = (Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(4, 3), Fraction(2))
_MAX_FINE_SIZE = 3  # of groups for which more than one exponent is tried
_MAX_UNITS = 64  # of a group; each needs orders twice as high
# which bound the divergence of order 1
_ORDERS_ABOVE_ONE = tuple(Fraction(*pair) for pair in ((11, 10), (3, 2), (2, 1)))
_MAX_DENOMINATOR = 64  # of an exponent, so that orders repeat


def group_divergence(single: Divergence, size: int, order: Fraction) -> float:
    """Return a bound on the divergence of `size` units together, from that of one.

    It is infinite for more than 64.

    Guarantee: for 1/p + 1/q = 1, D_a(P, R) <= (p a - 1)/(p (a - 1)) D_pa(P, Q) + D_(q (a - 1) + 1)(Q, R). The group is
        cut into halves, again and again; p is the best one for a divergence that is a multiple of the order, or near.
    Source: Mironov (2017), arXiv:1702.07476, where p = 2; docs/theory/privacy/group.md.
    """
    if size > _MAX_UNITS:
        return math.inf
    orders = _ORDERS_ABOVE_ONE if order == 1 else (order,)

    @cache
    def of(units: int, a: Fraction) -> float:
        if units == 1:
            return single(a)
        second = units // 2
        first = units - second
        bounds = [math.inf]
        for share in _EXPONENT_SHARES if units <= _MAX_FINE_SIZE else (Fraction(1),):
            rest = (share * second * (a - 1) / (first * a)).limit_denominator(_MAX_DENOMINATOR)
            if rest <= 0:
                continue
            p, q = 1 + rest, 1 + 1 / rest
            ends = of(first, p * a), of(second, q * (a - 1) + 1)
            if max(ends) < math.inf:
                weight = (p * a - 1) / (p * (a - 1))
                bounds.append(round_up(weight * Fraction(ends[0]) + Fraction(ends[1])))
        return min(bounds)

    return min(of(size, a) for a in orders)


def mixture_divergence(parts: list[tuple[Fraction, float]], order: Fraction) -> Interval:
    """Return ln(sum of weight e^((order - 1) D)) / (order - 1), or the mean of D."""
    if any(divergence == math.inf for _, divergence in parts):
        return INFINITE
    known = [(weight, Fraction(divergence)) for weight, divergence in parts]
    if order == 1:
        return Interval.around(sum((weight * divergence for weight, divergence in known), Fraction(0)))

    def formula() -> Arb:
        total = sum((ball(w) * ball((order - 1) * d).expm1() for w, d in known), ball(Fraction(0)))
        return total.log1p() / ball(order - 1)

    return certified(formula, within=NONNEGATIVE)

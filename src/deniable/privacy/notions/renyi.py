"""Rényi divergences of a loss, of every order above 0, in the worse direction.

Order 1 is Kullback-Leibler. A loss states its own in `Statement.divergences`: a closed form, in ball arithmetic, or an
integral over the curve of its laws, with bounds on both sides. Proofs: docs/theory/privacy/notions.md.

A loss states its own in `PrivacyLoss.divergences`: a closed form, in ball arithmetic, or an integral over the curve of
its laws, with bounds on both sides. Proofs: docs/theory/privacy/notions.md.
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from deniable.errors import InvalidParameterError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import INFINITE, Interval, round_down, round_up
from deniable.numbers.rationals import Real, exact_rational
from deniable.privacy.deadline import checkpoint
from deniable.privacy.notions.renyi_integral import (
    Tail,
    bounded_tail,
    chernoff_tail,
    law_divergence,
    law_divergence_below_one,
)
from deniable.privacy.pld.law import LossLaw, Pairs

if TYPE_CHECKING:
    from deniable.privacy.statement import Statement

Directions = tuple[Interval, Interval]  # (with the unit, without it) and (without, with)


def renyi(loss: "Statement", order: Real) -> Interval:
    """Return the Rényi divergence of this order, the larger of both directions.

    Guarantee: D = ln E_Q[(P/Q)^order] / (order - 1); the Kullback-Leibler divergence E_P[ln P/Q] at order 1, the
        greatest loss at infinity. It adds up over compositions.

    Args:
        order: a number > 0, or math.inf.
    Source: Mironov (2017), arXiv:1702.07476.
    """
    if isinstance(order, float) and order == math.inf:
        return loss.epsilon_at(Fraction(0))
    number = exact_rational("order", order)
    if number <= 0:
        raise InvalidParameterError(f"order must be > 0, got {order!r}")
    return largest(directed(loss, number))


@lru_cache(maxsize=4096)
def directed(loss: "Statement", order: Fraction) -> Directions:
    """Return the divergences of both directions."""
    checkpoint()
    return loss.divergences(order) if order >= 1 else loss.divergences_below_one(order)


def divergences_below_one(loss: "Statement", order: Fraction) -> Directions:
    """Return the divergences of an order in (0, 1).

    They come from the laws of a loss or from its Kullback-Leibler divergence. D is increasing in the order, and D(P, Q)
    = order/(1 - order) times the divergence of order 1 - order of (Q, P), so the Kullback-Leibler divergence bounds
    both.

    D is increasing in the order, and D(P, Q) = order/(1 - order) times the divergence of order 1 - order of (Q, P), so
    the Kullback-Leibler divergence bounds both.
    Source: van Erven, Harremoës (2014), arXiv:1206.2459, Theorem 3 and Proposition 2.
    """
    rate = min(Fraction(1), order / (1 - order))
    pairs = loss.laws()
    if pairs is None:
        known = largest(directed(loss, Fraction(1))).upper
        return both_ways(Interval(0.0, round_up(rate * Fraction(known)) if math.isfinite(known) else known))
    ends = [law_divergence_below_one(law, order) for law in pairs.upper]
    starts = ends if pairs.lower is pairs.upper else [law_divergence_below_one(law, order) for law in pairs.lower]
    divergences = [Interval(min(low.lower, high.upper), high.upper) for low, high in zip(starts, ends, strict=True)]
    return divergences[0], divergences[1]


def upper_divergence(loss: "Statement", order: Fraction) -> float:
    """Return the upper end of the larger of both directions."""
    return largest(directed(loss, order)).upper


def divergences_of_laws(loss: "Statement", order: Fraction) -> Directions:
    """Return the divergences of a loss of no special form.

    They come from its laws, or from what else is proved.
    """
    pairs = loss.laws()
    if pairs is None:
        return known_divergences(loss, order)
    known = known_divergences(loss, order)[0].upper
    if loss.pure_epsilon is not None:  # a law from a curve may end with an infinite loss; the mechanism does not
        return integrated(pairs, order, bounded_tail(round_up(loss.pure_epsilon)), known)
    tail = tail_of(lambda higher: known_divergences(loss, higher)[0].upper, order) if math.isfinite(known) else None
    return integrated(pairs, order, tail, known)


def integrated(pairs: Pairs, order: Fraction, tail: Tail | None, known: float) -> Directions:
    """Return the divergences of the laws of both directions, each at most `known`."""

    def both(laws: tuple[LossLaw, LossLaw]) -> Directions:
        first = law_divergence(laws[0], order, tail)
        return first, first if laws[1] is laws[0] else law_divergence(laws[1], order, tail)

    ends = both(pairs.upper)
    starts = ends if pairs.lower is pairs.upper else both(pairs.lower)
    divergences = [
        Interval(min(start.lower, end.upper, known), min(end.upper, known))
        for start, end in zip(starts, ends, strict=True)
    ]
    return divergences[0], divergences[1]


def tail_of(divergence: Callable[[Fraction], float], order: Fraction, rate: Fraction = Fraction(1)) -> Tail:
    """Return a bound on the tail of a moment, from divergences of other orders.

    See `chernoff_tail`.
    """
    return chernoff_tail(2.0 if order == 1 else float(order), rate, divergence)


def known_divergences(loss: "Statement", order: Fraction) -> Directions:
    """Return bounds from rho, mu or epsilon, for a loss that is known by these alone."""
    bounds = [math.inf]
    if loss.rho is not None:
        bounds.append(round_up(order * loss.rho))
    if loss.mu_squared is not None:
        bounds.append(round_up(order * loss.mu_squared / 2))
    if loss.pure_epsilon is not None:
        bounds.append(bounded_divergence(loss.pure_epsilon, order).upper)
    return both_ways(Interval(0.0, min(bounds)))


def bounded_divergence(limit: Fraction, order: Fraction) -> Interval:
    """Return the greatest divergence of an order among all `limit`-DP mechanisms.

    It is that of randomised response.

    Guarantee: ln(cosh((order - 1/2) limit) / cosh(limit/2)) / (order - 1); at order 1 limit tanh(limit/2).
    Source: Mironov (2017), arXiv:1702.07476; docs/theory/privacy/notions.md.
    """
    if limit == 0:
        return Interval(0.0, 0.0)

    def formula() -> Arb:
        e = ball(limit)
        if order == 1:
            return e * (e / 2).tanh()
        away = order - Fraction(1, 2)
        return ((ball(away * limit)).cosh() / (e / 2).cosh()).log() / ball(order - 1)

    return certified(formula, within=Interval(0.0, Interval.around(limit).upper))


def total(parts: list[tuple[Interval, int]]) -> Interval:
    """Return the sum of divergences, each times its count."""
    if any(math.isinf(divergence.lower) for divergence, _ in parts):
        return INFINITE
    lower = sum((Fraction(divergence.lower) * count for divergence, count in parts), Fraction(0))
    if any(math.isinf(divergence.upper) for divergence, _ in parts):
        return Interval(round_down(lower), math.inf)
    return Interval(
        round_down(lower),
        round_up(sum((Fraction(divergence.upper) * count for divergence, count in parts), Fraction(0))),
    )


def largest(divergences: Iterable[Interval]) -> Interval:
    """Return the greatest of several divergences."""
    ends = list(divergences)
    return Interval(max(one.lower for one in ends), max(one.upper for one in ends))


def both_ways(divergence: Interval) -> Directions:
    """Return one divergence for both directions."""
    return divergence, divergence

"""Delta and epsilon of a single run, read from the tails of its laws.

delta(epsilon) = P(S) - e^epsilon Q(S) for S = {L > epsilon}, and at least that for any other event S. A law evaluates
an event whose threshold is off by at most its slack s, so that what is read is too small by at most e^s - 1 times
P(L > epsilon - s).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from deniable.numbers.interval import Interval
from deniable.numbers.roots import inverse
from deniable.privacy.pld.accountant import composed_delta, composed_epsilon, reached, unit_of_epsilon
from deniable.privacy.pld.law import UNIT, LossLaw, Pairs
from deniable.privacy.pld.search import RepeatedPair

_MAX_EPSILON = 600.0  # which floats can exponentiate
_MIN_DELTA = 1e-250  # a smaller delta is not refined
_MIN_UNPROMISED_DELTA = 1e-10  # a smaller delta is refined only where its digits are promised


def single_delta(pairs: Pairs, epsilon: Fraction, tolerance: float, *, promised: bool = True) -> Interval:
    """Return delta at `epsilon`, from tails or as a composition of one run.

    The latter where the tails do not determine it to `tolerance`.

    Args:
        promised: whether an answer that is wider than asked is an error; others are built upon as they are.
    """
    least_sought = _MIN_DELTA if promised else _MIN_UNPROMISED_DELTA
    answer = read(pairs.upper, epsilon)
    if answer.width > tolerance * answer.upper and answer.upper > least_sought:
        numeric = composed_delta(_once(pairs.upper), epsilon, tolerance, upper_bound=answer.upper)
        answer = _both(answer, numeric)
        if promised:
            answer = reached(answer, tolerance, numeric.upper, "delta")
    if pairs.lower is pairs.upper:
        return answer
    attained = read(pairs.lower, epsilon)
    if attained.width > tolerance * attained.upper and attained.upper > least_sought:
        attained = _both(attained, composed_delta(_once(pairs.lower), epsilon, tolerance))
    return replace(answer, lower=min(attained.lower, answer.upper))


def single_epsilon(pairs: Pairs, delta: Fraction, tolerance: float, limit: Fraction | None) -> Interval:
    """Return the least epsilon for `delta`.

    `limit` is an epsilon that is known to suffice, if there is one.
    """
    answer = _inverse(pairs.upper, delta, tolerance, limit)
    answer = reached(answer, tolerance, unit_of_epsilon(answer), "epsilon")
    if pairs.lower is pairs.upper:
        return answer
    return replace(answer, lower=min(_inverse(pairs.lower, delta, tolerance, limit).lower, answer.upper))


def _inverse(both: Sequence[LossLaw], delta: Fraction, tolerance: float, limit: Fraction | None) -> Interval:
    """Return the least epsilon of one pair of laws."""
    answer = inverse(lambda epsilon: read(both, epsilon), delta, limit=limit)
    if delta == 0 or answer.width <= tolerance * unit_of_epsilon(answer):
        return answer
    return _both(answer, composed_epsilon(_once(both), delta, tolerance, upper_bound=answer.upper))


def read(both: Sequence[LossLaw], epsilon: Fraction) -> Interval:
    """Return the larger delta of the directions of a pair."""
    directions = both[:1] if both[0] is both[1] else both
    deltas = [_read(law, epsilon) for law in directions]
    lower = max(delta.lower for delta in deltas)
    upper = max(delta.upper for delta in deltas)
    return Interval(min(lower, 1.0), min(upper, 1.0))


def _read(law: LossLaw, epsilon: Fraction) -> Interval:
    """Return delta at `epsilon` of one law, from its tails there."""
    at = min(float(epsilon), _MAX_EPSILON)
    slack = float(law.slacks(np.array([at]))[0]) + 4 * UNIT * at
    tails = law.above(np.array([at, at - 2 * slack]))
    p = float(tails.p[0])
    scaled = math.exp(at) * float(tails.q[0])
    noise = (float(tails.error[0]) + UNIT * (16 + 4 * at)) * (p + scaled)
    nearby = 2 * slack * float(tails.p[1]) * (1 + float(tails.error[1]))
    lower = max(p - scaled - noise, 0.0) * (1 - 4 * UNIT) + law.infinite * (1 - 8 * UNIT)
    upper = max(p - scaled, 0.0) + noise + nearby + law.infinite * (1 + 8 * UNIT)
    if epsilon > _MAX_EPSILON:
        lower = law.infinite * (1 - 8 * UNIT)
    if at >= law.highest + 2 * slack + 64 * UNIT * at:
        lower, upper = law.infinite * (1 - 8 * UNIT), law.infinite * (1 + 8 * UNIT)
    return Interval(min(lower, upper), upper * (1 + 8 * UNIT))


def _both(one: Interval, other: Interval) -> Interval:
    """Return the intersection of two intervals."""
    lower = max(one.lower, other.lower)
    upper = min(one.upper, other.upper)
    if lower > upper:
        raise ArithmeticError(f"the bounds {one} and {other} contradict each other: please report this as a bug")
    return Interval(lower, upper)


def _once(both: Sequence[LossLaw]) -> list[list[RepeatedPair]]:
    """Return the directions of a pair, each as one run."""
    return [[RepeatedPair(law, 1)] for law in (both[:1] if both[0] is both[1] else both)]

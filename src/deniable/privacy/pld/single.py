"""delta and epsilon of a single run of a pair of laws, read from its tails: no grid, no transform.

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
from deniable.privacy.pld.search import Part

_FARTHEST = 600.0
_SMALLEST = 1e-250
_FAINT = 1e-10  # a delta whose digits are sought only where they are promised


def single_delta(pairs: Pairs, epsilon: Fraction, tolerance: float, *, promised: bool = True) -> Interval:
    """delta at `epsilon`; where the tails do not tell it to `tolerance`, as a composition of one run.

    Args:
        promised: whether an answer that is wider than asked is an error; others are built upon as they are.
    """
    least_sought = _SMALLEST if promised else _FAINT
    found = read(pairs.upper, epsilon)
    if found.width > tolerance * found.upper and found.upper > least_sought:
        numeric = composed_delta(_once(pairs.upper), epsilon, tolerance, most=found.upper)
        found = _both(found, numeric)
        if promised:
            found = reached(found, tolerance, numeric.upper, "delta")
    if pairs.lower is pairs.upper:
        return found
    least = read(pairs.lower, epsilon)
    if least.width > tolerance * least.upper and least.upper > least_sought:
        least = _both(least, composed_delta(_once(pairs.lower), epsilon, tolerance))
    return replace(found, lower=min(least.lower, found.upper))


def single_epsilon(pairs: Pairs, delta: Fraction, tolerance: float, limit: Fraction | None) -> Interval:
    """The least epsilon for `delta`; `limit` is one that is known to do, if there is one."""
    found = _inverse(pairs.upper, delta, tolerance, limit)
    found = reached(found, tolerance, unit_of_epsilon(found), "epsilon")
    if pairs.lower is pairs.upper:
        return found
    return replace(found, lower=min(_inverse(pairs.lower, delta, tolerance, limit).lower, found.upper))


def _inverse(both: Sequence[LossLaw], delta: Fraction, tolerance: float, limit: Fraction | None) -> Interval:
    found = inverse(lambda epsilon: read(both, epsilon), delta, limit=limit)
    if delta == 0 or found.width <= tolerance * unit_of_epsilon(found):
        return found
    return _both(found, composed_epsilon(_once(both), delta, tolerance, most=found.upper))


def read(both: Sequence[LossLaw], epsilon: Fraction) -> Interval:
    """The larger delta of the directions of a pair."""
    ways = [_read(law, epsilon) for law in (both[:1] if both[0] is both[1] else both)]
    return Interval(*(min(max(ends), 1.0) for ends in zip(*((way.lower, way.upper) for way in ways), strict=True)))


def _read(law: LossLaw, epsilon: Fraction) -> Interval:
    at = min(float(epsilon), _FARTHEST)
    slack = float(law.slacks(np.array([at]))[0]) + 4 * UNIT * at
    found = law.above(np.array([at, at - 2 * slack]))
    p, scaled = float(found.p[0]), math.exp(at) * float(found.q[0])
    noise = (float(found.error[0]) + UNIT * (16 + 4 * at)) * (p + scaled)
    nearby = 2 * slack * float(found.p[1]) * (1 + float(found.error[1]))
    lower = max(p - scaled - noise, 0.0) * (1 - 4 * UNIT) + law.infinite * (1 - 8 * UNIT)
    upper = max(p - scaled, 0.0) + noise + nearby + law.infinite * (1 + 8 * UNIT)
    if epsilon > _FARTHEST:
        lower = law.infinite * (1 - 8 * UNIT)
    if at >= law.highest + 2 * slack + 64 * UNIT * at:
        lower, upper = law.infinite * (1 - 8 * UNIT), law.infinite * (1 + 8 * UNIT)
    return Interval(min(lower, upper), upper * (1 + 8 * UNIT))


def _both(one: Interval, other: Interval) -> Interval:
    lower, upper = max(one.lower, other.lower), min(one.upper, other.upper)
    if lower > upper:
        raise ArithmeticError(f"the bounds {one} and {other} contradict each other: please report this as a bug")
    return Interval(lower, upper)


def _once(both: Sequence[LossLaw]) -> list[list[Part]]:
    return [[Part(law, 1)] for law in (both[:1] if both[0] is both[1] else both)]

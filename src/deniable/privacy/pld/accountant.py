"""Certified delta and epsilon of a composition, from refined grids of losses.

Grid, tilt and window are chosen from the composed law and refined. `tolerance` is the width of the answer: relative for
delta and for epsilon, one below 0.01 counting as 0.01. Where it is not met, an error states the width reached to the
caller who gave one, and all others get what is known, marked as wide; the bounds themselves hold whatever is chosen
here.

`tolerance` is the width of the answer: relative for delta and for epsilon, one below 0.01 counting as 0.01. Where it
is not met, an error says what was reached to the caller who gave one, and all others get what is known, marked as wide;
the bounds themselves hold whatever is chosen here.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.numbers.interval import INFINITE, Interval, round_down, round_up
from deniable.privacy.pld.law import UNIT
from deniable.privacy.pld.search import SMALLEST_DELTA, Aim, CurveBounds, RepeatedPair, Search, consistent


class Wish(float):
    """Default tolerance: where it is not met, the answer is only marked as wide."""


DEFAULT_TOLERANCE = Wish(1e-3)
CURVE_TOLERANCE = Wish(0.01)  # of each point of a curve, where there are many

SMALL_EPSILON = 0.01  # the width of a smaller epsilon is relative to this one
SMALL_DELTA = 1e-40  # no width is promised for a delta below it

_HOPELESS = 0.5  # relative width above which the other direction may still improve an answer

_MAX_EXPONENT = 450.0  # losses that floats can exponentiate with room for sums of them
_NEGLIGIBLE_TAIL = 1e-260  # probability of larger losses, which then cannot matter


def checked_tolerance(tolerance: object) -> float:
    """Return a width between 1e-12 and 1; a wish stays a wish."""
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 1e-12 <= tolerance <= 1:
        raise InvalidParameterError(f"tolerance must be a number from 1e-12 to 1, got {tolerance!r}. Try 1e-3.")
    return tolerance if isinstance(tolerance, Wish) else float(tolerance)


def composed_delta(
    directions: Sequence[Sequence[RepeatedPair]], epsilon: Fraction, tolerance: float, *, upper_bound: float = 1.0
) -> Interval:
    """Return delta at `epsilon` in the worse direction, at most `upper_bound`.

    It is as near to a relative width `tolerance` as the engine comes.
    """

    def answer(search: Search, lower_bound: float) -> Interval:
        limit = composed_limit([search.parts], finite=True).upper
        if round_down(epsilon) >= limit:
            return search.certain
        at = float(epsilon)
        edge = limit * (1 - 1e-12)  # from there on delta is all rounding
        jump = search.one_jump(at)
        guess = max(jump, SMALLEST_DELTA)
        for _ in range(3):  # the fewer unlikely losses are kept, the better is the guess
            guess = max(math.exp(search.pilot(guess, tolerance).log_delta_at(at)), jump, SMALLEST_DELTA)
        if jump > 1e-4 * guess:
            guess = min(guess, 4 * jump)
        rough = guess < 0.01 * lower_bound
        guess = max(guess, lower_bound * 1e-3, SMALLEST_DELTA)

        def aim(known: Interval) -> Aim:
            if rough and math.isinf(known.upper):  # that it is far below the other direction is quickly seen
                return Aim(at, guess, 0.5, 4 * (5 - math.log(guess)) / max(at, search.spread))
            lost = math.isfinite(known.upper) and known.upper > 1e3 * max(known.lower, jump)
            rest = Interval(max(known.lower - search.infinite, 0.0), max(known.upper - search.infinite, 0.0))
            goal = _nearer(4 * jump if lost else guess, rest)
            return Aim(at, goal, min(0.9 * tolerance * (1 + search.infinite / goal), 0.5))

        return search.refined(
            lambda bounds: consistent(bounds.below(round_up(epsilon)), bounds.above(round_down(epsilon))),
            aim,
            lambda answered: (
                answered.width / (tolerance * max(answered.upper, lower_bound))
                if answered.upper > SMALL_DELTA and at < edge
                else 0.0
            ),
            Interval(lower_bound, max(lower_bound, upper_bound)),
        )

    return _worse(directions, answer, tolerance, lambda answered: answered.upper, upper_bound)


def composed_epsilon(
    directions: Sequence[Sequence[RepeatedPair]], delta: Fraction, tolerance: float, *, upper_bound: float = math.inf
) -> Interval:
    """Return the least epsilon for `delta` in the worse direction, within a bound.

    It is as near to `tolerance` as the engine comes.
    """
    goal = float(delta)

    def answer(search: Search, lower_bound: float) -> Interval:
        greatest = composed_limit([search.parts]).upper
        if goal < search.infinite * (1 - 64 * UNIT):
            return INFINITE
        if greatest <= lower_bound:
            return Interval(0.0, lower_bound)
        finite = max(goal - search.infinite, goal * 1e-6)
        pilot = search.pilot(finite, tolerance)
        guess = pilot.epsilon_at(finite)

        def aim(known: Interval) -> Aim:
            centre = min(known.upper, guess) if known.lower == 0 else known.upper
            centre = centre if math.isfinite(centre) else guess
            width = 0.9 * tolerance * max(SMALL_EPSILON, centre)
            if math.isinf(known.upper):  # that it is far below the other direction is quickly seen
                width = max(width, 0.3 * (lower_bound - centre))
            steepest = (20 - 2 * math.log(finite)) / width
            slope = max(min(pilot.chernoff(centre)[0], steepest), 0.2 / search.spread)
            return Aim(centre, finite, min(width * slope * finite / goal, 0.5), steepest)

        return search.refined(
            lambda bounds: _crossing(bounds, delta, guess, tolerance * max(SMALL_EPSILON, guess) / 50),
            aim,
            lambda answered: answered.width / (tolerance * unit_of_epsilon(answered)),
            Interval(lower_bound, max(lower_bound, upper_bound)),
        )

    return _worse(directions, answer, tolerance, unit_of_epsilon, upper_bound)


def unit_of_epsilon(epsilon: Interval) -> float:
    """Return the epsilon to which its tolerance is relative, at least 0.01."""
    return max(SMALL_EPSILON, epsilon.upper if math.isfinite(epsilon.upper) else epsilon.lower)


def reached(answered: Interval, tolerance: float, unit: float, name: str) -> Interval:
    """Return the answer if it is as narrow as asked, or raise with its bounds.

    A delta below 1e-40 may be wider. An answer that is only wider than wished for is marked as such.

    An answer that is only wider than wished for is marked as such.
    """
    if answered.width <= tolerance * unit or answered.upper <= SMALL_DELTA:
        return answered
    if isinstance(tolerance, Wish):
        return replace(answered, wide=True)
    raise InvalidParameterError(
        f"tolerance={tolerance:g} cannot be reached: {name} is known to lie in "
        f"[{answered.lower!r}, {answered.upper!r}]. Ask for a larger tolerance."
    )


def composed_limit(directions: Sequence[Sequence[RepeatedPair]], *, finite: bool = False) -> Interval:
    """Return the greatest loss of a composition: the epsilon for delta = 0.

    With `finite`, the greatest finite loss.
    """
    lower = upper = 0.0
    for parts in directions:
        greatest = room = 0.0
        for part in parts:
            highest = math.inf if part.law.infinite and not finite else part.law.highest
            greatest += part.count * highest
            if math.isfinite(highest):
                room += part.count * (part.law.slack(abs(highest)) + 64 * UNIT * (len(parts) + 1) * abs(highest))
        lower, upper = max(lower, greatest - room), max(upper, greatest + room)
    return Interval(lower, upper)


def within_reach(part: RepeatedPair) -> bool:
    """Return whether floats can exponentiate all losses that can matter."""
    far = np.array([_MAX_EXPONENT])
    return float(part.law.above(far).p[0]) < _NEGLIGIBLE_TAIL


@lru_cache(maxsize=8)
def _search(parts: tuple[RepeatedPair, ...]) -> Search:
    """Return the search for these parts, shared by all questions about them.

    It answers from earlier computations where they are enough.
    """
    return Search(parts)


def _worse(
    directions: Sequence[Sequence[RepeatedPair]],
    answer: Callable[[Search, float], Interval],
    tolerance: float,
    unit: Callable[[Interval], float],
    upper_bound: float,
) -> Interval:
    """Return the larger of the answers of both directions, at most `upper_bound`.

    A direction that cannot be the larger one is not refined; nor one that cannot make the answer narrower, where the
    other one is wider than asked.

    Nor one that cannot make the answer narrower, where the other one is wider than asked.
    """
    searches = [_search(tuple(parts)) for parts in directions]
    lower = upper = 0.0
    for search in searches:
        missed = tolerance * unit(Interval(lower, upper)) < upper - lower < _HOPELESS * upper
        answered = answer(search, upper if missed else lower)
        lower, upper = max(lower, answered.lower), max(upper, answered.upper)
    upper = min(upper, upper_bound)
    return Interval(min(lower, upper), upper)


def _nearer(guess: float, known: Interval) -> float:
    """Return a guess at delta, moved into the interval that is known."""
    return max(min(guess, known.upper), known.lower, SMALLEST_DELTA)


def _crossing(bounds: CurveBounds, delta: Fraction, centre: float, fine: float) -> Interval:
    """Return the epsilons where the two bounds cross `delta`, each end checked."""
    upper = _edge(bounds.above, delta, centre, fine)[1]
    lower = _edge(bounds.below, delta, min(centre, upper), fine)[0]
    return consistent(lower, upper)


def _edge(curve: Callable[[float], float], delta: Fraction, guess: float, fine: float) -> tuple[float, float]:
    """Return (e, e') about `fine` apart with curve(e) > delta >= curve(e').

    e may be 0 unchecked, e' may be inf.
    """
    goal = math.log(float(delta))

    def excess(epsilon: float) -> float:
        value = curve(epsilon)
        if Fraction(value) <= delta:
            return min(math.log(value) - goal, 0.0) if value > 0 else -50.0
        return max(math.log(value) - goal, 5e-324)

    below = above = max(guess, 0.0)
    high = low = excess(below)
    stride = 4 * fine
    while low > 0:
        if stride > 1e4:
            return above, math.inf
        below, high = above, low
        above += stride
        stride *= 8
        low = excess(above)
    while high <= 0:
        if below == 0.0:
            return 0.0, 0.0
        above, low = below, high
        below = max(below - stride, 0.0)
        stride *= 8
        high = excess(below)
    for step in range(80):
        if above - below <= fine:
            break
        share = min(max(high / (high - low), 0.05), 0.95) if step % 3 < 2 else 0.5
        trial = below + share * (above - below)
        value = excess(trial)
        if value > 0:
            below, high = trial, value
        else:
            above, low = trial, value
    return below, above

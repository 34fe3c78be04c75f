"""Bounds on how far below the best score a choice may lie, rounded up.

They hold for all scores.

All are divided by the rate. Proofs: docs/theory/mechanisms/selection.md.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.errors import InvalidParameterError
from deniable.numbers.balls import ball, certified
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import Real, positive_integer, positive_rational, shown

if TYPE_CHECKING:
    from flint import arb

_NONNEGATIVE = Interval(0.0, math.inf)
_MOST_BITS = 4096  # of a number of sequences that is written down


def checked_counts(candidates: object, best: object) -> tuple[int, int]:
    """Return the number of candidates, and of those with the best score at least."""
    number, tops = positive_integer("candidates", candidates), positive_integer("best", best)
    if tops > number:
        raise InvalidParameterError(f"best must be <= candidates, got best={tops}, candidates={number}")
    return number, tops


def checked_failure(failure: Real) -> Fraction:
    """A probability between 0 and 1."""
    chance = positive_rational("failure", failure)
    if chance >= 1:
        raise InvalidParameterError(f"failure must be below 1, got {shown(failure)}")
    return chance


def exponential_gap(rest: Fraction, rate: Fraction, failure: Fraction) -> float:
    """Return ln(rest (1 - failure) / failure) / rate.

    `rest` is the weight of the others over the weight of the best.

    The probability of a gap of at least t is at most x / (1 + x) with x = rest e^(-rate t), and attains it.
    """
    return _quotient(rest * (1 - failure) / failure, rate)


def exponential_expectation(rest: Fraction, rate: Fraction) -> float:
    """Return ln(1 + rest) / rate.

    By Gibbs' variational principle, without the "+ 1" of the usual statement.
    """
    return _quotient(1 + rest, rate)


def sequences_gap(candidates: int, count: int, rate: Fraction, failure: Fraction) -> float:
    """Return the bound of the exponential mechanism among all ordered sequences."""
    if _is_short(candidates, count):
        return exponential_gap(Fraction(math.perm(candidates, count) - 1), rate, failure)
    ratio = (1 - failure) / failure
    return _upper(lambda: ((_log_sequences(candidates, count) + ball(ratio).log()) / ball(rate)).max(0))


def sequences_expectation(candidates: int, count: int, rate: Fraction) -> float:
    """ln(number of sequences) / rate."""
    if _is_short(candidates, count):
        return exponential_expectation(Fraction(math.perm(candidates, count) - 1), rate)
    return _upper(lambda: _log_sequences(candidates, count) / ball(rate))


def permute_and_flip_gap(candidates: int, best: int, rate: Fraction, failure: Fraction) -> float:
    """Return the lesser of two bounds for permute-and-flip.

    That of the exponential mechanism, or ln((candidates - best) / ((best + 1) failure)) / rate.
    """
    union = _quotient(Fraction(candidates - best) / ((best + 1) * failure), rate)
    return min(exponential_gap(Fraction(candidates - best, best), rate, failure), union)


def permute_and_flip_expectation(candidates: int, best: int, rate: Fraction) -> float:
    """Return (1/(best + 1) + ... + 1/candidates) / rate.

    It is below ln(candidates / best) / rate.
    """
    if candidates == best:
        return 0.0

    def formula() -> "arb":
        return (ball(Fraction(candidates + 1)).digamma() - ball(Fraction(best + 1)).digamma()) / ball(rate)

    return certified(formula, within=_NONNEGATIVE).upper


def laplace_gap(candidates: int, best: int, rate: Fraction, failure: Fraction) -> float:
    """Return the t with (candidates - best) (1/2 + rate t / 4) e^(-rate t) = failure.

    From above.
    """
    others = candidates - best
    if not others:
        return 0.0

    def proved(steps: float) -> bool:
        s = Fraction(steps)
        return certified(lambda: others * (2 + ball(s)) / 4 * (-ball(s)).exp(), within=_NONNEGATIVE).upper <= failure

    low, high = 0.0, 1.0
    while not proved(high):
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if proved(middle) else (middle, high)
    return _upper(lambda: ball(Fraction(high)) / ball(rate))


def laplace_expectation(candidates: int, best: int, rate: Fraction) -> float:
    """(1 + ln(candidates / 2)) / rate, for at least two candidates."""
    if candidates == best:
        return 0.0
    return _upper(lambda: (1 + ball(Fraction(candidates, 2)).log()) / ball(rate))


def _is_short(candidates: int, count: int) -> bool:
    """Whether the number of sequences is short enough to be written down."""
    return count * candidates.bit_length() <= _MOST_BITS


def _log_sequences(candidates: int, count: int) -> "arb":
    """Return ln of the number of sequences, or of candidates^count.

    The number is Gamma(candidates + 1) / Gamma(candidates - count + 1).
    """
    if candidates.bit_length() > _MOST_BITS // 4:
        return count * ball(Fraction(candidates)).log()
    return ball(Fraction(candidates + 1)).lgamma() - ball(Fraction(candidates - count + 1)).lgamma()


def _quotient(ratio: Fraction, rate: Fraction) -> float:
    """ln(odds) / rate, at least 0."""
    return 0.0 if ratio <= 1 else _upper(lambda: ball(ratio).log() / ball(rate))


def _upper(formula: "Callable[[], arb]") -> float:
    return certified(formula, within=_NONNEGATIVE).upper

"""The best of a random number of runs. Proofs: docs/theory/privacy/tuning.md."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import NO_ANSWER, Released
from deniable.mechanisms.wrappers.base import Wrapper, room_for
from deniable.noise import bernoulli
from deniable.noise.bits import SECURE, Bits
from deniable.rows import attempted
from deniable.rows.attempts import Log

Trial = TypeVar("Trial")
Ordered = int | float | Fraction
Score = Callable[[Released[Any]], object]
_WORST_SCORE: Ordered = -math.inf


@dataclass(frozen=True, kw_only=True)
class Repeated(Wrapper):
    """Base of mechanisms that release the best of a random number of runs.

    The number of runs must stay secret: with it known, each run is charged in full. So must what reveals it, such as
    how long it took, and the runs that were not the best.
    """

    @abstractmethod
    def _runs(self, count: int, bits: Bits) -> NDArray[np.int64]:
        """Draw independent numbers of runs."""

    def best_of(
        self, trial: Callable[[], Trial], *, score: Callable[[Trial], object], log: Log | None = None,
        bits: Bits = SECURE,
    ) -> Trial | None:  # fmt: skip
        """Return the result of the trial with the greatest score.

        None if there is no trial, or the best of them failed.

        Whether a trial fails may depend on a row, and how many were run is secret, so no error of either function is
        raised here: a trial that fails gives None, and is the least of all. Try both on made-up rows first.

        Args:
            trial: one run of the mechanism, or of any program that has its loss; it may draw hyper-parameters.
            score: of what the trial released, and of nothing else. Anything but a number is the least of all: NaN,
                None, text; so is what it fails on.
            log: called with each error, for logs that are as private as the rows.
            bits: for the number of trials; leave it out, except in tests.
        """
        if not callable(trial) or not callable(score):
            raise InvalidParameterError("trial and score must be functions, of nothing and of what the trial gives")

        def scored(result: Trial | None) -> Ordered:
            return _WORST_SCORE if result is None else _tried(score, result, log)

        return self._best(lambda: attempted(trial, log=log), scored, bits)

    def _best(
        self, trial: Callable[[], Trial | None], score: Callable[[Trial | None], Ordered], bits: Bits
    ) -> Trial | None:
        best: Trial | None = None
        best_score = _WORST_SCORE
        for run in range(int(self._runs(1, bits)[0])):
            result = trial()
            value = score(result)
            if run == 0 or value > best_score:
                best, best_score = result, value
        return best

    @property
    def takes_sums(self) -> bool:
        return self.base.takes_sums

    def release(self, exact: Any, *, score: Score | None = None, bits: Bits = SECURE) -> Released[Any]:
        """Return the best release of the mechanism; no answer if it never ran.

        Args:
            exact: secret; what the mechanism takes.
            score: of a release; without one, the released number itself. A release without an answer is the least of
                all, and `score` is not asked; so is one on which it fails.
            bits: leave it out, except in tests.
        """
        if score is not None and not callable(score):
            raise InvalidParameterError(f"score must be a function of a release, got {type(score).__name__}")

        def scored(release: Released[Any] | None) -> Ordered:
            if release is None or release.value is None:
                return _WORST_SCORE
            return _ordered(_number(release)) if score is None else _tried(score, release)

        best = self._best(lambda: self.base.release(exact, bits=bits), scored, bits)
        return best or Released(None, bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """Return the greatest outcome of each set of runs.

        No answer is the least; NO_ANSWER for a set that is empty.
        """
        counts = self._runs(runs, bits)
        some = counts > 0
        best: NDArray[Any] = np.full(runs, NO_ANSWER, dtype=np.int64)
        if some.any():
            base_outcomes = self.base.outcomes(exact, int(counts.sum()), bits=bits)
            best = best.astype(room_for(base_outcomes))
            best[some] = np.fmax.reduceat(base_outcomes, (np.cumsum(counts) - counts)[some])  # NaN is the least
        return best


def chain(count: int, *, first: int, stop: Fraction, keep: Callable[[int], Fraction], bits: Bits) -> NDArray[np.int64]:
    """Draw independent numbers k >= first from a chain of coins.

    P(k) is proportional to (1 - stop)^(k - first) keep(first)...keep(k - 1).

    From `first` on, each number k stops with probability `stop`; else it becomes k + 1 with probability keep(k), and
    begins again otherwise. All coins are exact.
    """
    numbers = np.full(count, first, dtype=np.int64)
    waiting = np.arange(count)
    while waiting.size:
        rejected = []
        going = waiting
        k = first
        while going.size:
            stops = bernoulli.sample(p=stop, size=going.size, bits=bits)
            numbers[going[stops]] = k
            going = going[~stops]
            kept = bernoulli.sample(p=keep(k), size=going.size, bits=bits)
            rejected.append(going[~kept])
            going = going[kept]
            k += 1
        waiting = np.concatenate(rejected)
    return numbers


def _tried(score: Callable[[Any], object], result: object, log: Log | None = None) -> Ordered:
    """Return the score as a number, the least where it fails."""
    value = attempted(lambda: _ordered(score(result)), log=log)
    return _WORST_SCORE if value is None else value


def _ordered(score: object) -> Ordered:
    """Return a score as a number that compares with others, an integer as it is."""
    number = score.item() if isinstance(score, np.ndarray | np.generic) and score.size == 1 else score
    if isinstance(number, Decimal) and not number.is_nan():
        number = Fraction(number) if number.is_finite() else float(number)
    if not isinstance(number, int | float | Fraction):
        return _WORST_SCORE
    return _WORST_SCORE if number != number else number  # noqa: PLR0124 - NaN


def _number(release: Released[Any]) -> object:
    """Return the one number in a release."""
    answer = np.asarray(release.value)
    if answer.size != 1:
        raise InvalidParameterError("a release of several numbers has no order. Give score=..., a function of it.")
    return answer.item()

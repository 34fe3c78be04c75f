"""The best of a random number of runs. Proofs: docs/theory/tuning.md."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.wrappers.base import Wrapper, answer_of, release_of
from deniable.noise import bernoulli
from deniable.noise.bits import SECURE, Bits

NOTHING = -(2**63)
"""The outcome that stands for no run at all."""

Trial = TypeVar("Trial")
Score = Callable[[Any], float]


@dataclass(frozen=True, kw_only=True)
class Repeated(Wrapper):
    """Runs a mechanism a random number of times and releases the best of what it released.

    The number of runs must stay secret: with it known, each run is paid in full. So must what tells it, such as how
    long it took, and the runs that were not the best.
    """

    @abstractmethod
    def _runs(self, count: int, bits: Bits) -> NDArray[np.int64]:
        """Independent numbers of runs."""

    def best_of(
        self, trial: Callable[[], Trial], *, score: Callable[[Trial], float], bits: Bits = SECURE
    ) -> Trial | None:
        """The result of the trial with the greatest score; None if there is no trial.

        Args:
            trial: one run of the mechanism, or of any program that has its loss; it may draw hyper-parameters.
            score: of what the trial released, and of nothing else; NaN is the least of all.
            bits: for the number of trials; leave it out, except in tests.
        """
        best, most = None, -math.inf
        for place in range(int(self._runs(1, bits)[0])):
            found = trial()
            value = score(found)
            if place == 0 or value > most:
                undefined = not isinstance(value, int) and math.isnan(value)  # an int may be beyond floats
                best, most = found, -math.inf if undefined else value
        return best

    def release(self, exact: ArrayLike, *, score: Score | None = None, bits: Bits = SECURE) -> object:
        """The best release of the mechanism; None if it never ran.

        Args:
            score: of a release; without one, the released number itself.
        """
        if score is not None and not callable(score):
            raise InvalidParameterError(f"score must be a function of a release, got {type(score).__name__}")
        return self.best_of(lambda: release_of(self.base, exact, bits), score=score or _number, bits=bits)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """The greatest outcome of each set of runs; NOTHING for a set that is empty."""
        counts = self._runs(runs, bits)
        some = counts > 0
        best: NDArray[Any] = np.full(runs, NOTHING, dtype=np.int64)
        if some.any():
            found = self.base.outcomes(exact, int(counts.sum()), bits=bits)
            best[some] = np.maximum.reduceat(found, (np.cumsum(counts) - counts)[some])
        return best


def chain(count: int, *, first: int, stop: Fraction, keep: Callable[[int], Fraction], bits: Bits) -> NDArray[np.int64]:
    """Independent numbers k >= first, with P(k) proportional to (1 - stop)^(k - first) keep(first)...keep(k - 1).

    From `first` on, each number k stops with probability `stop`; else it becomes k + 1 with probability keep(k), and
    begins again otherwise. All coins are exact.
    """
    found = np.full(count, first, dtype=np.int64)
    waiting = np.arange(count)
    while waiting.size:
        rejected, going, k = [], waiting, first
        while going.size:
            stops = bernoulli.sample(p=stop, size=going.size, bits=bits)
            found[going[stops]] = k
            going = going[~stops]
            kept = bernoulli.sample(p=keep(k), size=going.size, bits=bits)
            rejected.append(going[~kept])
            going, k = going[kept], k + 1
        waiting = np.concatenate(rejected)
    return found


def _number(release: object) -> float:
    """The one number in a release; an integer as it is, whatever its size."""
    answer = np.asarray(answer_of(release))
    if answer.size != 1:
        raise InvalidParameterError("a release of several numbers has no order. Give score=..., a function of it.")
    return answer.item()  # type: ignore[no-any-return]

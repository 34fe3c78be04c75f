"""The best few as one choice of a sequence."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import ceil, prod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms.base import Released, WorstCase, shares
from deniable.mechanisms.selection import sequences, utility
from deniable.mechanisms.selection.base import Selection, behind, checked_array
from deniable.mechanisms.selection.top_k import require_enough, require_few, transcripts
from deniable.noise import bernoulli, race, races
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.balls import ball
from deniable.numbers.certified import log
from deniable.numbers.rationals import Real, positive_integer
from deniable.privacy import AddRemove, ExponentialMechanismLoss, PrivacyLoss, of_count

if TYPE_CHECKING:
    from flint import arb

_MAX_DISTANCE = np.uint64(2**62 - 1)  # twice it is an int64
_ENTRIES_PER_BLOCK = 1 << 16


@dataclass(frozen=True, kw_only=True)
class JointTopK(Selection):
    """Choose an ordered sequence of `count` candidates in one draw.

    The probability is proportional to exp(-rate gap). The gap of a sequence is the largest of (i-th best score) -
    (score of its i-th member), over i. One choice among all sequences, no composition: for more than a few it is far
    better than rounds at equal epsilon. Scores more than 2^62 - 1 below the best count as that far below it, in all
    that is said here.

    Args:
        rate: of the noise per unit of score, the larger the more exact.
        monotone: whether a unit that is added moves all scores in one direction.
        count: how many are chosen.

    Guarantee: epsilon-DP with epsilon = 4 rate linf, or 2 rate linf for monotone scores (the gap then moves by at most
        2 linf, or linf, in either direction), half of that for count = 1, which is the exponential mechanism itself; in
        either case an exponential mechanism, hence epsilon^2/8-zCDP.
    Source: Gillenwater, Joseph, Munoz Medina, Ribero (2022), arXiv:2201.12333; the draw in
        docs/theory/mechanisms/selection.md.

    >>> from deniable.privacy import AddRemove, of_count
    >>> visits = of_count(rows=1, groups=1, relation=AddRemove)
    >>> mechanism = JointTopK.calibrated(visits, epsilon=1, monotone=True, count=3)
    >>> round(mechanism.gap_bound(100, failure="0.05"), 1)
    33.5
    >>> indices = mechanism.release([50, 900, 420, 10, 600]).value
    """

    kind: ClassVar[str] = "joint_top_k"
    _of_sums: ClassVar[bool] = True

    count: Annotated[int, positive_integer]

    def _loss(self, limit: Fraction) -> PrivacyLoss:
        return ExponentialMechanismLoss(limit if self.count == 1 else 2 * limit, monotone=self.monotone)

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[tuple[int, ...]]:
        """Return the indices of the chosen candidates, the best first.

        Arguments and errors are as in `ExponentialMechanism.release`.
        """
        array = checked_array(exact)
        return Released(tuple(self._draw(array, 1, bits)[0].tolist()), bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """Return the indices as digits of one number, the first chosen first.

        Its base is the number of candidates.
        """
        return transcripts(self._draw(np.array(exact), runs, bits), len(exact))

    def gap_bound(self, candidates: int, *, failure: Real) -> float:
        """Bound how far a member is below the score of its position.

        With probability 1 - failure at least no member of the sequence is farther below it.
        """
        number, count = utility.checked_counts(candidates, self.count)
        return utility.sequences_gap(number, count, self.rate, utility.checked_failure(failure))

    def expected_gap(self, candidates: int) -> float:
        """Bound how far the farthest member is below its position's score, on average.

        It is ln(number of sequences) / rate.
        """
        number, count = utility.checked_counts(candidates, self.count)
        return utility.sequences_expectation(number, count, self.rate)

    def _masses(self, exact: ArrayLike) -> dict[Hashable, "arb"]:
        array = checked_array(exact)
        require_few(array.size, self.count)
        distances = [int(distance) for distance in _distances(array)]
        best = sorted(distances)[: self.count]
        return shares(
            {
                chosen: ball(
                    -self.rate
                    * max(distances[i] - best_distance for i, best_distance in zip(chosen, best, strict=True))
                ).exp()
                for chosen in permutations(range(array.size), self.count)
            }
        )

    def _draw(self, scores: NDArray[np.int64], runs: int, bits: Bits) -> NDArray[np.int64]:
        """Draw sequences of indices, shape (runs, count)."""
        require_enough(scores.size, self.count)
        distances = _distances(scores)
        largest_distance, worst_place = (
            int(distances.max()),
            int(np.partition(distances, self.count - 1)[self.count - 1]),
        )
        every = log(scores.size - np.arange(self.count, dtype=np.float64)).sum()  # ln of how many sequences there are
        stop = min(largest_distance, ceil(Fraction(every + sequences.FAINT) / self.rate))
        order = _best_first(distances, worst_place + stop)
        gaps = _Gaps(self, distances[order], scores.size, stop)
        sequences_drawn = np.empty((runs, self.count), dtype=np.int64)
        waiting = np.arange(runs)
        step = max(1, _ENTRIES_PER_BLOCK // scores.size)
        while waiting.size:
            some = waiting[:step]
            piece = gaps.drawn(some.size, bits)
            indices = sequences.shuffled(gaps.limits(piece), bits)
            if indices.max() >= order.size:
                order = _best_first(distances, largest_distance)
            attained = (distances[order[indices]] - distances[order[: self.count]]).max(axis=1)
            accepted = gaps.reached(piece, attained, bits)
            sequences_drawn[some[accepted]] = order[indices[accepted]]
            waiting = np.concatenate([some[~accepted], waiting[step:]])
        return sequences_drawn

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return two of three, whose scores move by 1 against each other.

        The curve of all pairs is not that of one.
        """
        sensitivity = of_count(rows=1, groups=3, relation=AddRemove)
        mechanism = cls(rate=Fraction(1), count=2)
        return WorstCase(
            mechanism=mechanism, sensitivity=sensitivity, exact=(3, 1, 0), neighbour=(2, 2, 1), attains=False
        )


class _Gaps:
    """Distribution of a number t >= 0 with weights N(t) exp(-rate t), in pieces of t.

    N grows little within a piece.

    Args:
        rising: how far candidates are behind the best; all of those that may be in sequences with a gap below `stop`.
        candidates: how many there are in all.
        stop: where the last piece begins, which has no end.
    """

    def __init__(self, mechanism: JointTopK, rising: NDArray[np.int64], candidates: int, stop: int) -> None:
        self.rate, self.count, self.rising, self.candidates = mechanism.rate, mechanism.count, rising, candidates
        start, self.end = sequences.pieces(rising, self.count, stop, float(self.rate))
        self.start = np.append(start, stop)
        everyone = log(candidates - np.arange(self.count, dtype=np.float64)).sum()
        logs = np.append(sequences.log_number(rising, self.count, self.end), everyone)
        self.base, self.error = sequences.log_weights(
            logs, self.start, self.end - start + 1, self.count, float(self.rate)
        )

    def drawn(self, runs: int, bits: Bits) -> NDArray[np.int64]:
        """Draw pieces by the largest N in them times their sum of exp(-rate t)."""
        shape = (runs, self.start.size)
        bases, errors = np.broadcast_to(self.base, shape), np.broadcast_to(self.error, shape)
        guard = race.guard_bits(self.rate) + 64
        return races.decide("gumbel", bases, errors, self._exact, count=1, bits=bits, guard=guard)[:, 0]

    def limits(self, piece: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many candidates may stand at each position of a sequence.

        Its gap is in this piece, or before it.
        """
        limits = np.full((piece.size, self.count), self.candidates)
        ended = piece < self.end.size
        limits[ended] = sequences.open_places(self.rising, self.count, self.end[piece[ended]])
        return limits

    def reached(self, piece: NDArray[np.int64], attained: NDArray[np.int64], bits: Bits) -> NDArray[np.bool_]:
        """Return whether a t of that piece is at least the gap that was attained.

        t is drawn with weights exp(-rate t).
        """
        accepted = np.ones(piece.size, dtype=np.bool_)
        inside = np.flatnonzero(attained > self.start[piece])
        pairs, which = np.unique(np.stack([piece[inside], attained[inside]]), axis=1, return_inverse=True)
        for number, (piece_index, gap) in enumerate(pairs.T.tolist()):
            chance = sequences.reaches(self.rate, gap - int(self.start[piece_index]), self._length(piece_index))
            alike = inside[which == number]
            accepted[alike] = bernoulli.sample_enclosed(p=chance, size=alike.size, bits=bits)
        return accepted

    def _length(self, piece_index: int) -> int | None:
        return int(self.end[piece_index] - self.start[piece_index]) + 1 if piece_index < self.end.size else None

    def _exact(self, _row: int, piece_index: int) -> "Callable[[], arb]":
        number = prod(int(n) - i for i, n in enumerate(self.limits(np.array([piece_index]))[0]))
        return sequences.weight(self.rate, int(self.start[piece_index]), number, self._length(piece_index))


def _distances(scores: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how far each score is below the best, up to the farthest that counts.

    The limit moves no two scores apart.
    """
    return np.minimum(behind(scores), _MAX_DISTANCE).astype(np.int64)


def _best_first(distances: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return the indices of all distances up to the limit, the least first.

    Equal ones stay in their order.
    """
    close_indices = np.flatnonzero(distances <= limit)
    keys = distances[close_indices]
    return np.asarray(close_indices[np.argsort(keys.astype(np.uint16) if limit < 1 << 16 else keys, kind="stable")])

"""The best few as one choice of a sequence."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import perm, prod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.selection import utility
from deniable.mechanisms.selection.base import Chosen, Selection, behind, checked_array
from deniable.mechanisms.selection.top_k import transcripts
from deniable.noise import contest, race, races, refine, uniform
from deniable.noise.bits import SECURE, Bits
from deniable.noise.certified import exp_of_minus, log
from deniable.privacy import AddRemove, ExponentialMechanismLoss, of_count
from deniable.privacy.exact import positive_integer

if TYPE_CHECKING:
    from flint import arb

_FARTHEST = np.uint64(2**62 - 1)  # twice it is an int64
_BLOCK = 1 << 16


@dataclass(frozen=True, kw_only=True)
class JointTopK(Selection):
    """Choose an ordered sequence of `count` candidates with probability proportional to exp(-rate gap).

    The gap of a sequence is the largest of (i-th best score) - (score of its i-th member), over i. One choice among all
    sequences, no composition: for more than a few it is far better than rounds at equal epsilon.

    Args:
        count: how many are chosen.

    Guarantee: epsilon-DP with epsilon = 4 rate linf, or 2 rate linf for monotone scores (the gap then moves by at most
        2 linf, or linf, in either direction); an exponential mechanism, hence epsilon^2/8-zCDP.
    Source: Gillenwater, Joseph, Munoz Medina, Ribero (2022), arXiv:2201.12333; the draw in docs/theory/selection.md.
    """

    kind: ClassVar[str] = "joint_top_k"
    guarantee: ClassVar[str] = "epsilon-DP, epsilon = 4 rate linf (monotone: 2 rate linf); epsilon^2/8-zCDP"
    source: ClassVar[str] = "Gillenwater, Joseph, Munoz Medina, Ribero (2022)"

    count: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "count", positive_integer("count", self.count))

    def _loss(self, limit: Fraction) -> ExponentialMechanismLoss:
        return ExponentialMechanismLoss(2 * limit, monotone=self.monotone)

    def release(self, scores: ArrayLike, *, bits: Bits = SECURE) -> Chosen:
        """The indices of the chosen, the first first; arguments and errors as in `ExponentialMechanism.release`."""
        array = checked_array(scores)
        return Chosen(tuple(self._draw(array, 1, bits)[0].tolist()), bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """The indices as digits of one number in the base of how many candidates there are, the first chosen first."""
        return transcripts(self._draw(np.array(exact), runs, bits), len(exact))

    def gap_bound(self, candidates: int, *, failure: object) -> float:
        """No member of the sequence is farther below the score of its place, with probability 1 - failure at least."""
        number, places = utility.checked_counts(candidates, self.count)
        return utility.exponential_gap(Fraction(perm(number, places) - 1), self.rate, utility.checked_failure(failure))

    def _draw(self, scores: NDArray[np.int64], runs: int, bits: Bits) -> NDArray[np.int64]:
        """Sequences of indices, shape (runs, count)."""
        if scores.size < self.count:
            raise InvalidParameterError(f"count must be <= the number of candidates, {scores.size}, got {self.count}")
        falling = -np.minimum(behind(scores), _FARTHEST).astype(np.int64)  # which moves no two scores apart
        order = np.argsort(-falling, kind="stable")
        falling = falling[order]
        thresholds = self._thresholds(falling, runs, bits)
        found = np.empty((runs, self.count), dtype=np.int64)
        step = max(1, _BLOCK // scores.size)
        for start in range(0, runs, step):
            rows = slice(start, start + step)
            found[rows] = order[_shuffled(_open_places(falling, self.count, thresholds[rows]), bits)]
        return found

    def _thresholds(self, falling: NDArray[np.int64], runs: int, bits: Bits) -> NDArray[np.int64]:
        """For each run a gap t, with probability proportional to the weight of the piece that begins with it."""
        gaps = _gaps(falling, self.count)
        base, error = _log_weights(falling, gaps, self.count, float(self.rate))

        def exact(_row: int, place: int) -> "Callable[[], arb]":
            open_places = _open_places(falling, self.count, gaps[place : place + 1])[0]
            sequences = prod(int(n) - i for i, n in enumerate(open_places))
            length = int(gaps[place + 1] - gaps[place]) if place + 1 < gaps.size else None
            return _enclosure(self.rate, int(gaps[place]), sequences, length)

        found = np.empty(runs, dtype=np.int64)
        step = max(1, _BLOCK // gaps.size)
        guard = race.guard_bits(self.rate) + 64
        for start in range(0, runs, step):
            rows = slice(start, start + step)
            shape = (found[rows].size, gaps.size)
            bases, errors = np.broadcast_to(base, shape), np.broadcast_to(error, shape)
            found[rows] = races.decide("gumbel", bases, errors, exact, count=1, bits=bits, guard=guard)[:, 0]
        return np.asarray(gaps[found], dtype=np.int64)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Two of three, whose scores move by 1 against each other; the curve of all pairs is not that of one."""
        reach = of_count(rows=1, groups=3, relation=AddRemove)
        mechanism = cls(rate=Fraction(1, 2), count=2)
        return WorstCase(mechanism=mechanism, sensitivity=reach, exact=(3, 1, 0), neighbour=(2, 2, 1), attains=False)


def _gaps(falling: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The gaps t >= 0 at which more sequences become possible, 0 among them."""
    values = _distinct(falling[::-1])
    tops = _distinct(falling[:count][::-1])
    differences = [top - values[: np.searchsorted(values, top, side="right")] for top in tops]
    return _distinct(np.sort(np.concatenate(differences)))


def _distinct(rising: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sorted numbers without repetitions."""
    return np.asarray(rising[np.concatenate([[True], rising[1:] != rising[:-1]])], dtype=np.int64)


def _open_places(falling: NDArray[np.int64], count: int, gaps: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many candidates have a score of at least (i-th best) - t; shape (gaps, count), never fewer than i."""
    found = np.searchsorted(-falling, gaps[:, None] - falling[:count], side="right")
    return np.asarray(found, dtype=np.int64)


def _log_weights(
    falling: NDArray[np.int64], gaps: NDArray[np.int64], count: int, rate: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ln of N(t) times the sum of exp(-rate s) over t <= s < next t, up to a constant, and a bound on its error."""
    total = np.zeros(gaps.size)
    for i in range(count):
        open_places = np.searchsorted(-falling, gaps - falling[i], side="right")
        total += log((open_places - i).astype(np.float64))
    fall = rate * gaps.astype(np.float64)
    share, share_error = _log_one_minus_exp(rate * np.diff(gaps).astype(np.float64))
    error = (total + fall + 1) * (contest.ROUNDING * count)
    base = total - fall
    base[:-1] += share
    error[:-1] += share_error
    return base, error


def _log_one_minus_exp(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ln(1 - e^-x) for x > 0 and a bound on its error: ln x - x/2 + x^2/24 - ..., alternating, where x is small."""
    small = x < 0.125
    little = np.where(small, x, 0.0625)
    series = log(little) - little / 2 + little**2 / 24
    direct = log(1 - exp_of_minus(np.where(small, 1.0, x)))
    found = np.where(small, series, direct)
    rounding = (np.abs(found) + 1) * 2.0**-40
    return found, rounding + np.where(small, little**4 / 2880, 0.0)


def _enclosure(rate: Fraction, gap: int, sequences: int, length: int | None) -> "Callable[[], arb]":
    """Enclosures of the logarithm of one weight, each at the precision of the moment."""

    def enclosure() -> "arb":
        from flint import arb, fmpz

        weight = arb(fmpz(sequences))
        if length is not None:
            weight *= -refine.ball(-rate * length).expm1()
        return weight.log() - refine.ball(rate * gap)

    return enclosure


def _shuffled(limits: NDArray[np.int64], bits: Bits) -> NDArray[np.int64]:
    """Uniform sequences of different numbers, the i-th below limits[:, i], which do not decrease along i."""
    runs, count = limits.shape
    offsets = uniform.sample(limits - np.arange(count), bits=bits)
    deck = np.tile(np.arange(int(limits.max(initial=1))), (runs, 1))
    rows = np.arange(runs)
    for i in range(count):  # Fisher and Yates: swap a later card of the open part to place i
        drawn = i + offsets[:, i]
        chosen = deck[rows, drawn]
        deck[rows, drawn] = deck[:, i]
        deck[:, i] = chosen
    return deck[:, :count]

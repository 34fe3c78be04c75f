"""Exact argmax of noisy scores, without computing any probability.

Each candidate gets a uniform number, known by 64 bits, and from it an interval that holds its noisy score: float
arithmetic with a proved error. Who cannot win is dropped. If more than one is left, words are appended to the uniform
numbers of those few, and their scores are enclosed in arbitrary precision until one is ahead of all others.

Guarantee: the winner has exactly the stated law, and so have the first few in order. Ties have probability 0.
Proof: docs/theory/noise/race.md.
Source: Gumbel noise: Yellott (1977); its first few: Durfee, Rogers (2019), arXiv:1905.04273; permute-and-flip: McKenna,
Sheldon (2020), arXiv:2010.12603, as exponential noise: Ding, Kifer, Saghaian, Steinke, Wang, Xiao, Zhang (2021),
arXiv:2105.07260.
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise import contest, refine
from deniable.noise.bits import SECURE, Bits
from deniable.noise.contest import Contender, Noise
from deniable.numbers import balls
from deniable.numbers.arrays import MachineIntegers
from deniable.numbers.certified import log
from deniable.numbers.rationals import strict_rational

if TYPE_CHECKING:
    from flint import arb

Chunks = MachineIntegers | Iterable[MachineIntegers]

_CANDIDATES_PER_BLOCK = 1 << 15  # candidates that pass together, while their words are in the cache
_SMALL_RACE = 64  # candidates up to which all are judged at once, without a coarse bound
_RATE_LIMIT = 2**100


def exponential_mechanism(
    scores: Chunks, *, rate: Fraction | int, weights: Chunks | None = None, bits: Bits = SECURE
) -> int:
    """Draw index i with probability proportional to weights[i] exp(rate scores[i]).

    That is noisy max with Gumbel noise.

    Args:
        scores: an integer array, or an iterable of such arrays, which is read once and not kept.
        rate: exact; epsilon / (2 sensitivity), or epsilon / sensitivity where all scores move the same way.
        weights: integers >= 0, a base measure, as one array or in the same pieces as scores; None for all equal. Those
            of weight 0 are never chosen.
        bits: leave it out, except in tests.

    Raises: InvalidParameterError if nobody can be chosen, an array does not hold integers, or rate is a float.
    """
    return _Race("gumbel", rate, bits).run(scores, weights)[0]


def permute_and_flip(scores: Chunks, *, rate: Fraction | int, bits: Bits = SECURE) -> int:
    """Return the index of the largest of rate scores[i] + Exponential(1).

    Never worse than the exponential mechanism.

    Args and raises: as in `exponential_mechanism`.
    """
    return _Race("exponential", rate, bits).run(scores, None)[0]


def noisy_max(scores: Chunks, *, rate: Fraction | int, bits: Bits = SECURE) -> int:
    """Return the index of the largest of rate scores[i] + Laplace(1).

    Args and raises: as in `exponential_mechanism`.
    """
    return _Race("laplace", rate, bits).run(scores, None)[0]


def top(
    scores: Chunks,
    *,
    count: int,
    rate: Fraction | int,
    noise: Noise = "gumbel",
    weights: Chunks | None = None,
    bits: Bits = SECURE,
) -> NDArray[np.int64]:
    """Return the indices of the `count` largest noisy scores, the largest first.

    One draw of noise for each candidate.

    With Gumbel noise these are the results of `count` rounds of the exponential mechanism, each without the winners
    before it. With other noise they are not: use rounds.

    Args and raises: as in `exponential_mechanism`; also if fewer than `count` can be chosen.
    """
    return np.array(_Race(noise, rate, bits, count=count).run(scores, weights), dtype=np.int64)


def checked_rate(rate: Fraction | int) -> Fraction:
    """Return the rate as a Fraction of [2^-100, 2^100].

    Raises: InvalidParameterError otherwise.
    """
    return strict_rational("rate", rate, lower=Fraction(1, _RATE_LIMIT), upper=Fraction(_RATE_LIMIT))


def check_integers(name: str, array: object, dimensions: int = 1) -> None:
    """Refuse anything but an integer array of that many dimensions.

    Messages name no value.
    """
    if not isinstance(array, np.ndarray) or array.ndim != dimensions or array.dtype.kind not in "iu":
        kind = f"{array.ndim}-d {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
        shape = {1: "one", 2: "two"}[dimensions]
        raise InvalidParameterError(
            f"{name} must be {shape}-dimensional integer arrays, got {kind}. "
            "Round scores to a public grid first (Lattice)."
        )


def exact_base(rate: Fraction, score: int, reference: int, weight: int) -> Callable[[], "arb"]:
    """Yield enclosures of rate (score - reference) + ln weight.

    Each is at the precision of the moment.
    """

    def enclosure() -> "arb":
        from flint import arb, fmpz

        return balls.ball(rate * (score - reference)) + arb(fmpz(weight)).log()

    return enclosure


def guard_bits(rate: Fraction) -> int:
    """Return how many bits scores of 64 bits times the rate may have before the point."""
    return 64 + max(0, rate.numerator.bit_length() - rate.denominator.bit_length())


class _Race:
    """Race that candidates pass once; only possible winners are kept."""

    def __init__(self, noise: Noise, rate: Fraction | int, bits: Bits, *, count: int = 1, width: int = 64) -> None:
        self.noise = noise
        self.rate = checked_rate(rate)
        self.bits = bits
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InvalidParameterError(f"count must be an int >= 1, got {count!r}")
        self.count = count
        self.width = width
        self.reference = 0  # scores are taken relative to it, so that floats stay small
        self.ahead = -np.inf  # so many lower ends are at least this
        self.contenders: list[Contender] = []
        self._words = np.empty(0, dtype=np.uint64)  # one block's, used again: fresh memory costs more than fresh words

    def run(self, scores: Chunks, weights: Chunks | None) -> list[int]:
        """Return the indices of the first `count`, in order."""
        start = 0
        for chunk, weight in _pieces(scores, weights):
            if not start:
                self.reference = int(chunk.max())
            self._pass(start, chunk, weight)
            start += chunk.size
        if len(self.contenders) < self.count:
            needed = "one candidate" if self.count == 1 else f"{self.count} candidates"
            raise InvalidParameterError(f"scores must hold at least {needed} of positive weight")
        return contest.settle(
            self.noise, self.contenders, self.count, self.bits, width=self.width, guard=guard_bits(self.rate)
        )

    def _pass(self, start: int, scores: MachineIntegers, weights: MachineIntegers | None) -> None:
        """Let one block of candidates pass.

        Whose upper bound is behind has lost, the others are judged.
        """
        if scores.size > self._words.size:
            self._words = np.empty(scores.size, dtype=np.uint64)
        words = self._words[: scores.size]
        self.bits.fill(words)
        if self.ahead == -np.inf:  # the most promising first, so that somebody is ahead early
            positions = np.arange(scores.size)
            if scores.size <= max(_SMALL_RACE, self.count):
                self._judge(start, positions, scores, weights, words)
                return
            coarse = self._coarse_bounds(scores, weights, words)
            first = np.argpartition(-coarse, self.count - 1)[: self.count]
            self._judge(start, first, scores, weights, words)
            coarse[first] = -np.inf
        else:
            best, largest_score = self._best(scores, weights)
            needed = self.ahead - best - contest.margin(float(self.rate), largest_score)
            possible = contest.who_may_reach(self.noise, words, needed, self.width)
            positions = np.arange(scores.size) if possible is None else possible
            if not positions.size:
                return
            coarse = self._coarse_bounds(
                scores[positions], None if weights is None else weights[positions], words[positions]
            )
        self._judge(start, positions[(coarse >= self.ahead) & (coarse > -np.inf)], scores, weights, words)

    def _best(self, scores: MachineIntegers, weights: MachineIntegers | None) -> tuple[float, float]:
        """Bound the largest base of a block, and the size of its scores.

        As if the heaviest candidate were also the best, up to rounding.
        """
        highest, lowest = int(scores.max()), int(scores.min())
        best = float(self.rate) * (highest - self.reference)
        if weights is not None:
            best += float(log(np.array([max(1.0, float(weights.max()))]))[0])
        return best, float(max(abs(highest), abs(lowest), abs(self.reference)))

    def _coarse_bounds(
        self, scores: MachineIntegers, weights: MachineIntegers | None, words: NDArray[np.uint64]
    ) -> NDArray[np.float64]:
        """Return an upper bound of each noisy score, a little above it."""
        rate = float(self.rate)
        bound = contest.coarse_above(self.noise, words, self.width)
        score = scores.astype(np.float64)
        largest_score = max(float(np.abs(score).max()), abs(self.reference))
        score -= float(self.reference)
        score *= rate
        bound += score
        if weights is not None:
            bound += (contest.binary_exponents(weights) + 1.0) * contest.LN2
        bound += contest.margin(rate, largest_score)
        return bound

    def _judge(
        self,
        start: int,
        positions: NDArray[np.intp],
        scores: MachineIntegers,
        weights: MachineIntegers | None,
        words: NDArray[np.uint64],
    ) -> None:
        """Enclose the noisy scores at these positions, and keep who may still win."""
        if weights is not None:
            positions = positions[weights[positions] > 0]
        if not positions.size:
            return
        weight = None if weights is None else weights[positions]
        base, error = contest.base_of(scores[positions], float(self.reference), float(self.rate), weight)
        lowest, highest = contest.ends(self.noise, words[positions], base, error, self.width)
        lows = np.concatenate([[c.lowest for c in self.contenders], lowest])
        if lows.size >= self.count:
            self.ahead = max(self.ahead, float(np.partition(lows, lows.size - self.count)[lows.size - self.count]))
        self.contenders = [c for c in self.contenders if c.highest >= self.ahead]
        for j in np.flatnonzero(highest >= self.ahead):
            i = int(positions[j])
            exact = exact_base(self.rate, int(scores[i]), self.reference, 1 if weight is None else int(weight[j]))
            uniform = refine.Prefix(int(words[i]), self.width)
            self.contenders.append(Contender(start + i, exact, uniform, float(lowest[j]), float(highest[j])))


def _pieces(scores: Chunks, weights: Chunks | None) -> Iterator[tuple[MachineIntegers, MachineIntegers | None]]:
    """Yield blocks of scores with their weights, checked."""
    chunks = [scores] if isinstance(scores, np.ndarray) else scores
    others = weights if isinstance(weights, np.ndarray) or weights is None else iter(weights)
    passed = 0
    for chunk in chunks:
        check_integers("scores", chunk)
        weight = next(others, None) if isinstance(others, Iterator) else others
        if weight is not None:
            check_integers("weights", weight)
            if isinstance(others, np.ndarray):
                weight = weight[passed : passed + chunk.size]
        if weights is not None and (weight is None or weight.shape != chunk.shape):
            raise InvalidParameterError("weights must be as many as scores, one array or in the same pieces")
        if weight is not None and weight.size and weight.min() < 0:
            raise InvalidParameterError("weights must be >= 0")
        for start in range(0, chunk.size, _CANDIDATES_PER_BLOCK):
            part = slice(start, start + _CANDIDATES_PER_BLOCK)
            yield chunk[part], None if weight is None else weight[part]
        passed += chunk.size
    if isinstance(others, np.ndarray) and others.size != passed:
        raise InvalidParameterError("weights must be as many as scores, one array or in the same pieces")

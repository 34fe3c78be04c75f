"""Exact argmax of noisy scores: the exponential mechanism and permute-and-flip, without computing any probability.

Each candidate gets a uniform number, known by 64 bits, and from it an interval that holds its noisy score: float
arithmetic with a proved error. Who cannot win is dropped. If more than one is left, words are appended to the uniform
numbers of those few, and their scores are enclosed in arbitrary precision until one is ahead of all others.

Guarantee: the winner has exactly the stated law. Ties have probability 0.
Proof: docs/theory/race.md.
Source: Gumbel noise: Yellott (1977); permute-and-flip: McKenna, Sheldon (2020), arXiv:2010.12603, as exponential noise:
Ding, Kifer, Saghaian, Steinke, Wang, Xiao, Zhang (2021), arXiv:2105.07260.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise import parameters, refine
from deniable.noise.bits import SECURE, Bits
from deniable.noise.certified import log

if TYPE_CHECKING:
    from flint import arb

Integers = NDArray[np.integer]
Chunks = Integers | Iterable[Integers]
Noise = Literal["gumbel", "exponential"]

_BLOCK = 1 << 14  # candidates that are worked on together, while their arrays are in the cache
_LN2 = 0.6931471805599454  # above ln 2
_ROUNDING = 2.0**-46  # relative, above the error of the few float operations of a score
_RATE_LIMIT = 2**100


def exponential_mechanism(
    scores: Chunks, *, rate: Fraction | int, weights: Chunks | None = None, bits: Bits = SECURE
) -> int:
    """The index i with probability proportional to weights[i] exp(rate scores[i]).

    Args:
        scores: an integer array, or an iterable of such arrays, which is read once and not kept.
        rate: exact; epsilon / (2 sensitivity), or epsilon / sensitivity where all scores move the same way.
        weights: integers >= 1 in the same pieces as scores, a public base measure; None for all equal.
        bits: leave it out, except in tests.

    Raises: InvalidParameterError if there is no candidate, an array does not hold integers, or rate is a float.
    """
    return _Race("gumbel", rate, bits).run(scores, weights)


def permute_and_flip(scores: Chunks, *, rate: Fraction | int, bits: Bits = SECURE) -> int:
    """The index of the largest of rate scores[i] + Exponential(1): never worse than the exponential mechanism.

    Args and raises: as in `exponential_mechanism`.
    """
    return _Race("exponential", rate, bits).run(scores, None)


@dataclass(frozen=True)
class _Contender:
    """A candidate that may still win."""

    index: int
    score: int
    weight: int
    uniform: refine.Prefix
    highest: float


class _Race:
    """Candidates pass by once; only those that may still win are kept."""

    def __init__(self, noise: Noise, rate: Fraction | int, bits: Bits, *, width: int = 64) -> None:
        limit = Fraction(_RATE_LIMIT)
        self.noise = noise
        self.rate = parameters.rational("rate", rate, lower=1 / limit, upper=limit)
        self.bits = bits
        self.width = width
        self.reference = 0  # scores are taken relative to it, so that floats stay small
        self.ahead = -np.inf  # the best lower end so far
        self.contenders: list[_Contender] = []

    def run(self, scores: Chunks, weights: Chunks | None) -> int:
        """The index of the winner."""
        start = 0
        for chunk, weight in _pieces(scores, weights):
            if not start:
                self.reference = int(chunk.max())
            self._pass(start, chunk, weight)
            start += chunk.size
        if not start:
            raise InvalidParameterError("scores must hold at least one candidate, got none")
        if len(self.contenders) > 1:
            self._photo_finish()
        return self.contenders[0].index

    def _pass(self, start: int, scores: Integers, weights: Integers | None) -> None:
        """Let one block of candidates pass: whose coarse upper bound is behind has lost, the others are judged."""
        words = self.bits.words(scores.size)
        coarse = self._coarse_bounds(scores, weights, words)
        first = np.array([np.argmax(coarse)])
        self._judge(start, first, scores, weights, words)
        others = np.flatnonzero(coarse >= self.ahead)
        self._judge(start, others[others != first[0]], scores, weights, words)

    def _coarse_bounds(
        self, scores: Integers, weights: Integers | None, words: NDArray[np.uint64]
    ) -> NDArray[np.float64]:
        """An upper bound of each noisy score, at most 1.4 above it: logarithms are replaced by binary exponents.

        The noise is at most -ln y, for y the uniform number (exponential) or its distance from 1 (Gumbel).
        """
        floor = (
            words if self.noise == "exponential" else words ^ np.uint64((1 << self.width) - 1)
        )  # y >= floor 2^-width
        bound: NDArray[np.float64] = (self.width - _binary_exponents(floor)) * np.float64(_LN2)
        bound[floor == 0] = np.inf
        rate = float(self.rate)
        score = scores.astype(np.float64)
        reach = float(np.abs(score).max()) + abs(self.reference)
        score -= float(self.reference)
        score *= rate
        bound += score
        if weights is not None:
            bound += (_binary_exponents(weights) + 1.0) * _LN2
        bound += (rate * reach + 200.0) * 4 * _ROUNDING  # 200 is above all the logarithms
        return bound

    def _judge(
        self,
        start: int,
        places: NDArray[np.intp],
        scores: Integers,
        weights: Integers | None,
        words: NDArray[np.uint64],
    ) -> None:
        """Enclose the noisy scores at these places; keep who may still win."""
        if not places.size:
            return
        centre, below, above = self._noise_bounds(words[places])
        rate = float(self.rate)
        score = scores[places].astype(np.float64)
        error = (np.abs(score) + abs(self.reference)) * (rate * _ROUNDING)
        centre += (score - float(self.reference)) * rate
        if weights is not None:
            base = log(weights[places].astype(np.float64))
            centre += base
            error += (base + 1) * _ROUNDING
        error += np.abs(centre) * _ROUNDING
        lowest, highest = centre - below - error, centre + above + error
        self.ahead = max(self.ahead, float(lowest.max()))
        self.contenders = [c for c in self.contenders if c.highest >= self.ahead]
        for j in np.flatnonzero(highest >= self.ahead):
            i = int(places[j])
            weight = 1 if weights is None else int(weights[i])
            uniform = refine.Prefix(int(words[i]), self.width)
            self.contenders.append(_Contender(start + i, int(scores[i]), weight, uniform, float(highest[j])))

    def _noise_bounds(
        self, words: NDArray[np.uint64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The noise at the middle of each cell of uniform numbers, and how far it may lie below and above."""
        unit = 2.0**-self.width
        with np.errstate(divide="ignore", invalid="ignore"):
            uniform = (words + 0.5) * unit
            spread = 0.5 * unit / uniform + 2.0**-52  # relative half-width of the cell, and rounding
            arrival = np.abs(log(np.minimum(uniform, 1.0)))  # the exponential variable, never -0
            error = np.where(spread < 1, spread / (1 - spread), np.inf) + arrival * _ROUNDING
            if self.noise == "exponential":
                return arrival, np.minimum(error, arrival), error
            ratio = error / arrival  # inf where the number is so near 1 that the float knows nothing of it
            gumbel = -log(np.maximum(arrival, 2.0**-1000))
            slack = np.abs(gumbel) * _ROUNDING
            above = np.where(ratio < 1, ratio / (1 - ratio), np.inf)
        return gumbel, ratio + slack, above + slack

    def _photo_finish(self) -> None:
        """Append words to the contenders' uniform numbers until one is certainly ahead."""
        from flint import ctx

        self.contenders.sort(key=lambda contender: contender.index)
        while len(self.contenders) > 1:
            self.contenders = [replace(c, uniform=c.uniform.extended(self.bits, self.width)) for c in self.contenders]
            with ctx.workprec(self.contenders[0].uniform.length + refine.GUARD_BITS + _magnitude(self.rate)):
                keys = [self._key(c) for c in self.contenders]
                self.contenders = [
                    c for c, key in zip(self.contenders, keys, strict=True) if not any(other > key for other in keys)
                ]

    def _key(self, contender: _Contender) -> "arb":
        """Enclosure of the noisy score; without bounds where the uniform number may still be 0 or 1."""
        from flint import arb, fmpz

        value, length = contender.uniform.value, contender.uniform.length
        if value in {0, (1 << length) - 1}:
            return arb(0, "inf")
        uniform = arb(fmpz(2 * value + 1), 1) / arb(2) ** (length + 1)
        noise = -uniform.log()
        if self.noise == "gumbel":
            noise = -noise.log()
        score = refine.ball(self.rate * (contender.score - self.reference))
        return score + arb(fmpz(contender.weight)).log() + noise


def _pieces(scores: Chunks, weights: Chunks | None) -> Iterator[tuple[Integers, Integers | None]]:
    """Blocks of scores with their weights, checked."""
    chunks = [scores] if isinstance(scores, np.ndarray) else scores
    others: Iterator[Integers | None] = _repeat_none()
    if weights is not None:
        others = iter([weights] if isinstance(weights, np.ndarray) else weights)
    for chunk in chunks:
        weight = next(others, None)
        _check_integers("scores", chunk)
        if weights is not None:
            if weight is None or weight.shape != chunk.shape:
                raise InvalidParameterError(
                    "weights must come in the same pieces as scores. Give one weight a candidate."
                )
            _check_integers("weights", weight)
            if (weight < 1).any():
                raise InvalidParameterError("weights must be >= 1. Leave out the candidates that may not win.")
        for start in range(0, chunk.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            yield chunk[part], None if weight is None else weight[part]


def _binary_exponents(values: Integers) -> NDArray[np.int64]:
    """floor(log2(value)), or one more where float64 rounds up to a power of two; for values >= 1."""
    return (values.astype(np.float64).view(np.int64) >> 52) - 1023


def _repeat_none() -> Iterator[None]:
    while True:
        yield None


def _check_integers(name: str, array: object) -> None:
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "iu":
        kind = f"{array.ndim}-d {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
        raise InvalidParameterError(
            f"{name} must be one-dimensional integer arrays, got {kind}. Round scores to a public grid first (Lattice)."
        )


def _magnitude(rate: Fraction) -> int:
    """Bits that scores of 64 bits times the rate may have before the binary point."""
    return 64 + max(0, rate.numerator.bit_length() - rate.denominator.bit_length())

"""Means of vectors in the unit ball: a report names a random direction, more often one near the own vector."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln, ndtri, xlog1py, xlogy

from deniable.errors import InvalidParameterError
from deniable.local.codes import of_bytes, to_bytes
from deniable.local.means import rows_of
from deniable.local.protocol import PureProtocol, odds_below
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats, Integers, Words
from deniable.numbers.rationals import whole_number
from deniable.release import Bounds, Estimate, Key, Release

_UNIT = 2**30  # of a tally
_MOST_DIRECTIONS, _MOST_NUMBERS, _BLOCK = 2**10, 2**24, 2**20
_MANY = 1000  # reports whose mean is taken to be normal
_SEED, _PART = 8, 10  # bytes of a seed, and with a code
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIXERS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


@dataclass(frozen=True, kw_only=True)
class PrivUnit(PureProtocol):
    """The mean of a vector a person of length at most 1: PrivUnit over directions that each report draws anew.

    A client draws a seed, which gives random directions on the sphere, each with its opposite. Exactly `near` of these
    2 `directions` vectors count as near: the best aligned with the own one. The report is the seed and one of them,
    each near one `odds` times as likely as each other one. A vector of length r < 1 is first replaced by its direction
    with probability (1 + r) / 2, else by the opposite, which keeps its mean; a longer one is scaled to length 1, and
    one with anything that is no finite number counts as zero: an error would tell of it.

    Args:
        columns: coordinates, from 2 on.
        directions: by default as many as come close to the caps of PrivUnit.
        near: by default the best number, which settles how epsilon is shared by the coin and the cap, p and gamma.
        repeats: reports a person with as many seeds, each with its part of epsilon; by default the best number.

    Guarantee: given the seed, which does not depend on the vector, exactly `near` codes are near, whatever floats say
        of angles: probabilities are rational and in ratios of at most `odds`, as `channel` shows.
    Error: variances are exact for independent uniform directions, which a 64-bit hash of the seed stands for.
    Source: Bhowmick et al. (2018), arXiv:1812.00984 (PrivUnit); Asi, Feldman, Talwar (2022), arXiv:2205.02466 (best
        parameters, and PrivUnitG, whose variance this has with many columns); Isik et al. (2023), arXiv:2306.04924
        (the nearest codes of a random codebook).

    >>> from deniable.local import PrivUnit
    >>> protocol = PrivUnit(columns=3, epsilon=4)
    >>> len(protocol.estimate(protocol.encode([[0.6, 0.8, 0], [0, 0, 0.5]] * 500)))
    3
    """

    kind: ClassVar[str] = "privunit"

    columns: int
    directions: int = 0
    near: int = 0
    repeats: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        columns, tried = whole_number("columns", self.columns, lower=2, upper=2**16), []
        given = whole_number("directions", self.directions, lower=0, upper=_MOST_DIRECTIONS)
        most = whole_number("repeats", self.repeats, lower=0, upper=40)
        for repeats in range(most or 1, (most or math.ceil(self.epsilon / 3)) + 1):
            odds = float(odds_below(self.epsilon / repeats))
            count = given or min(2**9, 2 ** max(6, math.ceil(math.log2(odds / 8))), _MOST_NUMBERS // columns)
            every = np.arange(1, count + 1)  # numbers of near ones
            squares = ((odds * every + 2 * count - every) / ((odds - 1) * tops(columns, count)[0])) ** 2
            chosen = whole_number("near", self.near or int(squares.argmin()) + 1, lower=1, upper=count)
            tried.append(((squares[chosen - 1] - 1) / repeats, repeats, count, chosen))
        _, repeats, count, chosen = min(tried)
        if columns * count > _MOST_NUMBERS:
            raise InvalidParameterError("columns times directions must be at most 2^24")
        self.__dict__.update(columns=columns, directions=count, near=chosen, repeats=repeats)
        self.__dict__.update(lowest=-repeats * _UNIT, highest=repeats * _UNIT)

    @cached_property
    def odds(self) -> Fraction:
        """A rational just below e^(epsilon / repeats): the greatest ratio of two probabilities of one code."""
        return odds_below(self.epsilon / self.repeats)

    @property
    def size(self) -> int:
        """Sums of the coordinates, and of their squares."""
        return 2 * self.columns

    @property
    def width(self) -> int:
        return self.repeats * _PART

    def _encode(self, values: Any, bits: Bits) -> NDArray[np.uint8]:
        units, lengths = self._units(values)
        asked = (len(units), self.repeats)
        toward = uniform.below(_UNIT, size=asked, bits=bits) < (1 + lengths[:, np.newaxis]) / 2 * _UNIT
        seeds, others = bits.words(toward.size), 2 * self.directions - self.near
        chance = self.odds * self.near / (self.odds * self.near + others)
        inside = bernoulli.sample(p=chance, size=seeds.size, bits=bits)
        near, far = (uniform.below(limit, size=seeds.size, bits=bits) for limit in (self.near, others))
        places, signs = np.where(inside, near, self.near + far), np.where(toward, 1.0, -1.0).ravel()
        codes = np.empty_like(places)
        step = max(1, _BLOCK // (self.directions * self.columns))
        for start in range(0, len(seeds), step):
            part = np.arange(start, min(start + step, len(seeds)))
            told = self.listed(signs[part, np.newaxis] * units[part // self.repeats], seeds[part])
            codes[part] = np.take_along_axis(told, places[part, np.newaxis], axis=1)[:, 0]
        whole = np.concatenate([to_bytes(seeds.view(np.int64), _SEED), to_bytes(codes, _PART - _SEED)], axis=1)
        return whole.reshape(len(units), self.width)

    def _units(self, values: Any) -> tuple[Floats, Floats]:
        """A direction for every row, and its length, at most 1."""
        rows = rows_of(values, self.columns)
        rows = np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, 0.0)
        largest = np.abs(rows).max(axis=1, initial=0.0)
        rows[largest == 0, 0] = 1.0
        rows = rows / np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
        norms = np.sqrt((rows**2).sum(axis=1))
        return rows / norms[:, np.newaxis], np.minimum(largest * norms, 1.0)

    def listed(self, units: Floats, seeds: Words) -> Integers:
        """All codes of each seed, the near ones first: a permutation of them, whatever the vector is."""
        codes = np.tile(2 * np.arange(self.directions), len(seeds))
        drawn = directions(np.repeat(seeds, self.directions), codes, self.columns)
        along = np.einsum("pdc,pc->pd", drawn.reshape(len(seeds), self.directions, self.columns), units)
        order = np.argsort(-np.abs(along), axis=1)
        own = 2 * order + (np.take_along_axis(along, order, axis=1) < 0)
        near, rest = own[:, : self.near], own[:, self.near :]
        return np.concatenate([near, near ^ 1, rest, rest ^ 1], axis=1)

    def channel(self, values: Any, *, seed: int) -> list[list[Fraction]]:
        """The exact probability of every code of a seed for these vectors: their ratios are the privacy loss."""
        units, whole = self._units(values)[0], self.odds * self.near + 2 * self.directions - self.near
        lists = self.listed(units, np.full(len(units), seed, dtype=np.uint64)).argsort(axis=1)  # places by code
        return [[(self.odds if place < self.near else 1) / whole for place in row] for row in lists.tolist()]

    def _parts(self, reports: NDArray[np.uint8]) -> tuple[Words, Integers]:
        parts = np.ascontiguousarray(reports).reshape(-1, _PART)
        return of_bytes(parts[:, :_SEED]).view(np.uint64), of_bytes(parts[:, _SEED:])

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        codes = self._parts(reports)[1].reshape(-1, self.repeats)
        return np.asarray((codes < 2 * self.directions).all(axis=1))

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        seeds, codes = self._parts(reports)
        found = np.zeros((2, self.columns), dtype=np.int64)
        for start in range(0, len(seeds), step := max(1, _BLOCK // self.columns)):
            part = codes[start : start + step]
            told = directions(seeds[start : start + step], part, self.columns)
            found[0] += np.rint(told * _UNIT).astype(np.int64).sum(axis=0)
            found[1] += np.rint(told**2 * _UNIT).astype(np.int64).sum(axis=0)
        return found.ravel()

    def estimate(self, reports: NDArray[np.uint8] | Integers, *, people: int | None = None) -> Release:
        """The mean of every coordinate, without bias, and an interval for it that holds whatever people hold.

        From 1000 reports on the error is taken as normal, with the variance that reports show, which counts how people
        differ as well; below, the interval is Bernstein's, which holds for any number of reports.
        """
        tally, count = self.tallied(reports, people)
        parts, pull = count * self.repeats, self.moments[0]
        means, second = (tally / (_UNIT * parts)).reshape(2, self.columns)
        found = means / pull

        def ends(level: float) -> Bounds:
            far = math.log(2 / (1 - level))
            half = ndtri((1 + level) / 2) * np.sqrt((second - means**2) / parts) / pull
            if count < _MANY:
                half = np.sqrt(2 * self.variance(people=count) * far) + 2 / pull * far / (3 * parts)
            return Bounds(np.clip(found - half, -1, 1), np.clip(found + half, -1, 1))

        key = Key(name="coordinate", values=tuple(range(self.columns)))
        return self.published(count, key, Estimate(name="mean", estimates=found, ends=ends))

    @cached_property
    def moments(self) -> tuple[float, float]:
        """E z and E z^2 for the coordinate z of a reported vector along the own direction."""
        odds, others = float(self.odds), 2 * self.directions - self.near
        first, second = (top[self.near - 1] for top in tops(self.columns, self.directions))
        whole = odds * self.near + others
        return (odds - 1) * first / whole, ((odds - 1) * second + 2 * self.directions / self.columns) / whole

    def variance(self, values: object = None, *, people: int) -> Floats:
        """The exact variance of each estimated mean, for equally many people with each row, or for the worst one.

        For vectors of length r it adds up to (1 / m^2 - r^2) / (repeats people) with m the first of `moments`.
        """
        pull, along = self.moments
        across = (1 - along) / (self.columns - 1)
        if values is None:
            return np.full(self.columns, max(along, across) / (pull**2 * self.repeats * people))
        units, lengths = self._units(values)
        each = (across + (along - across) * units**2) / pull**2 - (units * lengths[:, np.newaxis]) ** 2
        return np.asarray(each.mean(axis=0) / (self.repeats * people))


def directions(seeds: Words, codes: Integers, columns: int) -> Floats:
    """The direction of each seed and code, of shape (seeds, columns): normal numbers, scaled to length 1."""
    first = mixed(mixed(seeds) + (codes >> 1).view(np.uint64))[:, np.newaxis]
    words = mixed(first + _GOLDEN * np.arange(columns, dtype=np.uint64)) >> np.uint64(12)
    found = ndtri((words.astype(np.float64) + 0.5) * 2.0**-52)  # with one more bit 1 would occur, and infinity
    return np.asarray(found / np.sqrt((found**2).sum(axis=1, keepdims=True)) * (1 - 2 * (codes[:, np.newaxis] & 1)))


def mixed(words: Words) -> Words:
    """The finisher of SplitMix64: a permutation of words that looks random (Steele, Lea, Flood 2014)."""
    words = words + _GOLDEN
    for shift, factor in _MIXERS:
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words


@lru_cache(maxsize=64)
def tops(columns: int, count: int) -> tuple[Floats, Floats]:
    """E of the sum of the w greatest |c|, and of their squares, w = 1, 2, ..., for the cosines c of random directions.

    The density of the angle of a direction is proportional to sin^(columns - 2), and the j-th greatest of `count` has
    a Beta(j, count + 1 - j) probability of being exceeded. Relative error below 1e-9.
    """
    nodes, weights = np.polynomial.legendre.leggauss(400)
    least = math.acos(min(1.0, 10 / math.sqrt(columns)))
    angle, half = (math.pi / 2 + least) / 2 + nodes * (math.pi / 2 - least) / 2, (math.pi / 2 - least) / 2
    above = betainc((columns - 1) / 2, 0.5, np.sin(angle) ** 2)
    density = (columns - 2) * np.log(np.sin(angle)) + math.log(2) - betaln((columns - 1) / 2, 0.5)
    rank = np.arange(count)[:, np.newaxis]
    chances = xlogy(rank, above) + xlog1py(count - 1 - rank, -above) - betaln(rank + 1, count - rank)
    law = half * weights * np.exp(density + chances)
    return np.cumsum(law @ np.cos(angle)), np.cumsum(law @ np.cos(angle) ** 2)

"""Means of vectors in the unit ball, from reports of random directions."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln, ndtri, xlog1py, xlogy

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.local.codes import of_bytes, to_bytes
from deniable.local.means import rows_of
from deniable.local.protocol import PureProtocol, likelihood_ratio_below
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats, Integers, Words
from deniable.numbers.rationals import whole_number
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate, Key

_TALLY_UNIT = 2**30  # a coordinate of 1 in a tally
_MAX_DIRECTIONS = 2**10  # codes then take two bytes
_MAX_NUMBERS = 2**24  # columns times directions: memory for one client
_NUMBERS_AT_ONCE = 2**20
_NORMAL_REPORTS = 1000  # from which the mean of reports is taken to be normal
_SEED_BYTES = 8
_PART_BYTES = 10  # a seed and a code
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIXERS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


@dataclass(frozen=True, kw_only=True)
class PrivUnit(PureProtocol):
    """The mean of one vector a person, by PrivUnit over random directions.

    Vectors have a length of at most 1.

    A client draws a seed, which gives random directions on the sphere, each with its opposite. Exactly `cap_size` of
    these 2 `directions` vectors are the cap: the best aligned with the own one. The report is the seed and one of them,
    each in the cap `likelihood_ratio` times as likely as each other one. A vector of length r < 1 is first replaced by
    its direction with probability (1 + r) / 2, else by the opposite, which keeps its mean; a longer one is scaled to
    length 1, and one with an entry that is not a finite number counts as zero: an error would reveal it.

    Args:
        epsilon: of one report, in (0, 40].
        columns: coordinates, at least 2.
        directions: by default as many as come close to the caps of PrivUnit.
        cap_size: by default the best, which settles how epsilon is shared by the coin and the cap, p and gamma.
        repeats: seeds in a report, each with its part of epsilon; by default the best number.

    Guarantee: given the seed, which does not depend on the vector, exactly `cap_size` codes are in the cap, whatever
        the rounding of angles: probabilities are rational and in ratios of at most `likelihood_ratio`, as `channel`
        shows.
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
    json_names: ClassVar[dict[str, str]] = {"cap_size": "near"}

    columns: int
    directions: int = 0
    cap_size: int = 0
    repeats: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        columns = whole_number("columns", self.columns, lower=2, upper=2**16)
        given_directions = whole_number("directions", self.directions, lower=0, upper=_MAX_DIRECTIONS)
        given_repeats = whole_number("repeats", self.repeats, lower=0, upper=40)
        tried = []
        for repeats in range(given_repeats or 1, (given_repeats or math.ceil(self.epsilon / 3)) + 1):
            ratio = float(likelihood_ratio_below(self.epsilon / repeats))
            best_count = min(2**9, 2 ** max(6, math.ceil(math.log2(ratio / 8))), _MAX_NUMBERS // columns)
            count = given_directions or best_count
            sizes = np.arange(1, count + 1)  # of caps
            squares = ((ratio * sizes + 2 * count - sizes) / ((ratio - 1) * tops(columns, count)[0])) ** 2
            cap_size = whole_number("cap_size", self.cap_size or int(squares.argmin()) + 1, lower=1, upper=count)
            tried.append(((squares[cap_size - 1] - 1) / repeats, repeats, count, cap_size))
        _, repeats, count, cap_size = min(tried)
        if columns * count > _MAX_NUMBERS:
            raise InvalidParameterError("columns times directions must be at most 2^24")
        read_fields(self, columns=columns, directions=count, cap_size=cap_size, repeats=repeats)
        read_fields(self, lowest=-repeats * _TALLY_UNIT, highest=repeats * _TALLY_UNIT)

    @cached_property
    def likelihood_ratio(self) -> Fraction:
        """Greatest ratio of two probabilities of one code.

        A rational just below e^(epsilon / repeats).
        """
        return likelihood_ratio_below(self.epsilon / self.repeats)

    @property
    def size(self) -> int:
        """Number of entries of a tally: sums of the coordinates, and of their squares."""
        return 2 * self.columns

    @property
    def width(self) -> int:
        """Number of bytes of a report: a seed and a code for each repeat."""
        return self.repeats * _PART_BYTES

    def _encode(self, values: Any, bits: Bits) -> NDArray[np.uint8]:
        """Draw seeds, and a code of each seed by its rank."""
        unit_vectors, lengths = self._unit_vectors(values)
        shape = (len(unit_vectors), self.repeats)
        toward = uniform.below(_TALLY_UNIT, size=shape, bits=bits) < (1 + lengths[:, np.newaxis]) / 2 * _TALLY_UNIT
        signs = np.where(toward, 1.0, -1.0).ravel()
        seeds = bits.words(toward.size)
        ranks = self._ranks(seeds.size, bits)
        codes = np.empty_like(ranks)
        step = max(1, _NUMBERS_AT_ONCE // (self.directions * self.columns))
        for start in range(0, len(seeds), step):
            part = np.arange(start, min(start + step, len(seeds)))
            ranked = self.ranked_codes(signs[part, np.newaxis] * unit_vectors[part // self.repeats], seeds[part])
            codes[part] = np.take_along_axis(ranked, ranks[part, np.newaxis], axis=1)[:, 0]
        seed_bytes = to_bytes(seeds.view(np.int64), _SEED_BYTES)
        code_bytes = to_bytes(codes, _PART_BYTES - _SEED_BYTES)
        return np.concatenate([seed_bytes, code_bytes], axis=1).reshape(len(unit_vectors), self.width)

    def _ranks(self, count: int, bits: Bits) -> Integers:
        """Draw the rank of each reported code: in the cap with the greater probability."""
        others = 2 * self.directions - self.cap_size
        chance = self.likelihood_ratio * self.cap_size / (self.likelihood_ratio * self.cap_size + others)
        inside = bernoulli.sample(p=chance, size=count, bits=bits)
        in_cap = uniform.below(self.cap_size, size=count, bits=bits)
        outside = uniform.below(others, size=count, bits=bits)
        return np.where(inside, in_cap, self.cap_size + outside)

    def _unit_vectors(self, values: Any) -> tuple[Floats, Floats]:
        """Return the direction of every row, and its length, at most 1."""
        rows = rows_of(values, self.columns)
        rows = np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, 0.0)
        largest = np.abs(rows).max(axis=1, initial=0.0)
        rows[largest == 0, 0] = 1.0
        rows = rows / np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
        norms = np.sqrt((rows**2).sum(axis=1))
        return rows / norms[:, np.newaxis], np.minimum(largest * norms, 1.0)

    def ranked_codes(self, unit_vectors: Floats, seeds: Words) -> Integers:
        """Return all codes of each seed, those of the cap first.

        They are a permutation, whatever the vector is.

        Args:
            unit_vectors: shape (seeds, columns).
            seeds: shape (seeds,).
        """
        codes = np.tile(2 * np.arange(self.directions), len(seeds))
        drawn = directions(np.repeat(seeds, self.directions), codes, self.columns)
        along = np.einsum("pdc,pc->pd", drawn.reshape(len(seeds), self.directions, self.columns), unit_vectors)
        order = np.argsort(-np.abs(along), axis=1)
        own = 2 * order + (np.take_along_axis(along, order, axis=1) < 0)
        cap = own[:, : self.cap_size]
        rest = own[:, self.cap_size :]
        return np.concatenate([cap, cap ^ 1, rest, rest ^ 1], axis=1)

    def channel(self, values: Any, *, seed: int) -> list[list[Fraction]]:
        """Return the exact probability of every code of a seed.

        Their ratios are the privacy loss.

        Args:
            values: vectors, shape (vectors, columns).
            seed: of the directions.
        """
        unit_vectors, _ = self._unit_vectors(values)
        whole = self.likelihood_ratio * self.cap_size + 2 * self.directions - self.cap_size
        seeds = np.full(len(unit_vectors), seed, dtype=np.uint64)
        ranks_by_code = self.ranked_codes(unit_vectors, seeds).argsort(axis=1).tolist()
        in_cap = self.likelihood_ratio / whole
        outside = 1 / whole
        return [[in_cap if rank < self.cap_size else outside for rank in ranks] for ranks in ranks_by_code]

    def _parts(self, reports: NDArray[np.uint8]) -> tuple[Words, Integers]:
        """Return the seeds and codes of reports."""
        parts = np.ascontiguousarray(reports).reshape(-1, _PART_BYTES)
        return of_bytes(parts[:, :_SEED_BYTES]).view(np.uint64), of_bytes(parts[:, _SEED_BYTES:])

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return whether the codes of each report exist."""
        codes = self._parts(reports)[1].reshape(-1, self.repeats)
        return np.asarray((codes < 2 * self.directions).all(axis=1))

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        """Return the sums of reported directions and of their squares, in units of 2^-30."""
        seeds, codes = self._parts(reports)
        sums = np.zeros((2, self.columns), dtype=np.int64)
        step = max(1, _NUMBERS_AT_ONCE // self.columns)
        for start in range(0, len(seeds), step):
            reported = directions(seeds[start : start + step], codes[start : start + step], self.columns)
            sums[0] += np.rint(reported * _TALLY_UNIT).astype(np.int64).sum(axis=0)
            sums[1] += np.rint(reported**2 * _TALLY_UNIT).astype(np.int64).sum(axis=0)
        return sums.ravel()

    def estimate(self, reports: NDArray[np.uint8] | Integers, *, people: int | None = None) -> Release:
        """Estimate the mean of every coordinate.

        Without bias, and with intervals that hold whatever people hold. From 1000 reports on the error is taken as
        normal, with the variance of the reports, which includes differences between people; below, the interval is
        Bernstein's, which holds for any number of reports.

        Args:
            reports, people: as in `Protocol.estimate`.
        """
        tally, count = self.tallied(reports, people)
        parts = count * self.repeats
        alignment, _ = self.moments
        reported_means, second = (tally / (_TALLY_UNIT * parts)).reshape(2, self.columns)
        means = reported_means / alignment

        def ends(level: float) -> Bounds:
            half = ndtri((1 + level) / 2) * np.sqrt((second - reported_means**2) / parts) / alignment
            if count < _NORMAL_REPORTS:
                log_failure = math.log(2 / (1 - level))
                spread = np.sqrt(2 * self.variance(people=count) * log_failure)
                half = spread + 2 / alignment * log_failure / (3 * parts)
            return Bounds(np.clip(means - half, -1, 1), np.clip(means + half, -1, 1))

        key = Key(name="coordinate", values=tuple(range(self.columns)))
        return self.published(count, key, Estimate(name="mean", estimates=means, ends=ends))

    @cached_property
    def moments(self) -> tuple[float, float]:
        """E z and E z^2 for the coordinate z of a reported vector along the own direction."""
        ratio = float(self.likelihood_ratio)
        others = 2 * self.directions - self.cap_size
        first, second = (top[self.cap_size - 1] for top in tops(self.columns, self.directions))
        whole = ratio * self.cap_size + others
        return (ratio - 1) * first / whole, ((ratio - 1) * second + 2 * self.directions / self.columns) / whole

    def variance(self, values: object = None, *, people: int) -> Floats:
        """Return the exact variance of each estimated mean.

        For vectors of length r it adds up to (1 / m^2 - r^2) / (repeats people) with m the first of `moments`.

        Args:
            values: held by equally many people each, shape (values, columns); by default the worst one.
            people: who report.
        """
        alignment, along = self.moments
        across = (1 - along) / (self.columns - 1)
        if values is None:
            return np.full(self.columns, max(along, across) / (alignment**2 * self.repeats * people))
        unit_vectors, lengths = self._unit_vectors(values)
        squares = (across + (along - across) * unit_vectors**2) / alignment**2
        variances = squares - (unit_vectors * lengths[:, np.newaxis]) ** 2
        return np.asarray(variances.mean(axis=0) / (self.repeats * people))


def directions(seeds: Words, codes: Integers, columns: int) -> Floats:
    """Return the direction of each seed and code, shape (seeds, columns).

    Normal numbers, scaled to length 1.
    """
    first = mixed(mixed(seeds) + (codes >> 1).view(np.uint64))[:, np.newaxis]
    words = mixed(first + _GOLDEN * np.arange(columns, dtype=np.uint64)) >> np.uint64(12)
    normals = ndtri((words.astype(np.float64) + 0.5) * 2.0**-52)  # with one more bit 1 would occur, and infinity
    lengths = np.sqrt((normals**2).sum(axis=1, keepdims=True))
    return np.asarray(normals / lengths * (1 - 2 * (codes[:, np.newaxis] & 1)))


def mixed(words: Words) -> Words:
    """Apply the finisher of SplitMix64, a pseudo-random permutation.

    Steele, Lea, Flood (2014).
    """
    words = words + _GOLDEN
    for shift, factor in _MIXERS:
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words


@lru_cache(maxsize=64)
def tops(columns: int, count: int) -> tuple[Floats, Floats]:
    """Return expected sums of the w greatest |c|, and of their squares.

    For w = 1, 2, ...

    The c are cosines of random directions. The density of the angle of a direction is proportional to sin^(columns -
    2), and the j-th greatest of `count` has a Beta(j, count + 1 - j) probability of being exceeded. Relative error
    below 1e-9.
    """
    nodes, weights = np.polynomial.legendre.leggauss(400)
    lowest = math.acos(min(1.0, 10 / math.sqrt(columns)))  # smaller angles have a negligible probability
    half = (math.pi / 2 - lowest) / 2
    angle = (math.pi / 2 + lowest) / 2 + nodes * (math.pi / 2 - lowest) / 2
    above = betainc((columns - 1) / 2, 0.5, np.sin(angle) ** 2)
    density = (columns - 2) * np.log(np.sin(angle)) + math.log(2) - betaln((columns - 1) / 2, 0.5)
    rank = np.arange(count)[:, np.newaxis]
    chances = xlogy(rank, above) + xlog1py(count - 1 - rank, -above) - betaln(rank + 1, count - rank)
    law = half * weights * np.exp(density + chances)
    return np.cumsum(law @ np.cos(angle)), np.cumsum(law @ np.cos(angle) ** 2)

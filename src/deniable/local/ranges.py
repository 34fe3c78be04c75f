"""Ranges and quantiles of ordered values, from reports about a tree of ranges."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.local.frequencies import LocalHashing, UnaryEncoding
from deniable.local.protocol import FrequencyProtocol, PureProtocol
from deniable.noise import uniform
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats, Integers
from deniable.numbers.rationals import Real, probability, whole_number
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate, Key
from deniable.rows import Container, replaced

_MAX_VALUES = 2**20  # memory of the tree on the server
_MAX_UNARY_BITS = 2**13  # of a report by unary encoding; larger levels use local hashing


@dataclass(frozen=True, kw_only=True)
class RangeProtocol(PureProtocol):
    """The numbers of people in ranges of 0, 1, ..., values - 1, and quantiles.

    A client draws a level of a tree over the values, and reports its node there by unary encoding (large levels by
    local hashing). The server makes the levels agree: least squares, in which the number of people is known.

    Args:
        epsilon: of one report, in (0, 40].
        values: the number of ordered values; a number outside is moved to the nearest.
        branching: children of a node, from 2 to 64; by default those with the least variance of ranges from 0.

    Guarantee: the level is independent of the value, and the report of each level has the likelihood ratio e^epsilon.
    Source: Cormode, Kulkarni, Srivastava (2019), arXiv:1812.10942; least squares: Hay et al. (2010).

    >>> from deniable.local import RangeProtocol
    >>> protocol = RangeProtocol(values=64, epsilon=2)
    >>> reports = protocol.encode(list(range(64)) * 100)
    >>> len(protocol.estimate(reports)), len(protocol.ranges(reports, [(0, 32), (16, 20)]))
    (64, 2)
    """

    kind: ClassVar[str] = "ranges"

    values: int
    branching: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        read_fields(self, values=whole_number("values", self.values, lower=2, upper=_MAX_VALUES))
        if not self.branching:
            tried = [replace(self, branching=branching) for branching in (*range(2, 17), 32, 64)]
            ends = np.linspace(1, self.values, 40).astype(np.int64)
            best = min(tried, key=lambda each: float(each.variance(0 * ends, ends, people=1).mean()))
            read_fields(self, branching=best.branching)
        read_fields(self, branching=whole_number("branching", self.branching, lower=2, upper=64))

    @cached_property
    def levels(self) -> tuple[FrequencyProtocol, ...]:
        """Protocols of the levels below the root."""
        nodes = 1
        levels = []
        while nodes < self.values:
            nodes *= self.branching
            kind = UnaryEncoding if nodes <= _MAX_UNARY_BITS else LocalHashing
            levels.append(kind(values=nodes, epsilon=self.epsilon))
        return tuple(levels)

    @cached_property
    def size(self) -> int:
        """Number of nodes and levels.

        A tally ends with the numbers of reports about each level.
        """
        return sum(level.size for level in self.levels) + len(self.levels)

    @cached_property
    def width(self) -> int:
        """Number of bytes of a report: the level, and the longest report of one."""
        return 1 + max(level.width for level in self.levels)

    def _encode(self, values: Container, bits: Bits) -> NDArray[np.uint8]:
        """Draw a level for each value, and randomise its node there."""
        leaves = replaced("values", values, by=0, lower=0, upper=self.values - 1)
        drawn = uniform.below(len(self.levels), size=leaves.shape, bits=bits)
        reports = np.zeros((len(leaves), self.width), dtype=np.uint8)
        reports[:, 0] = drawn
        for index, level in enumerate(self.levels):
            rows = np.flatnonzero(drawn == index)
            nodes = leaves[rows] // (self.levels[-1].size // level.size)
            reports[rows, 1 : 1 + level.width] = level._draw(nodes, bits)
        return reports

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return whether each report is valid for its level, and zero behind it."""
        sound = np.zeros(len(reports), dtype=np.bool_)
        for index, level in enumerate(self.levels):
            rows = np.flatnonzero(reports[:, 0] == index)
            about_node = reports[rows, 1 : 1 + level.width]
            rest = reports[rows, 1 + level.width :]
            sound[rows] = level._sound(about_node) & ~rest.any(axis=1)
        return sound

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        """Return the tallies of all levels, and the number of reports about each."""
        rows = [reports[reports[:, 0] == index, 1 : 1 + level.width] for index, level in enumerate(self.levels)]
        tallies = [level._supports(part) for level, part in zip(self.levels, rows, strict=True)]
        return np.concatenate([*tallies, [len(part) for part in rows]])

    # --- on the server -------------------------------------------------------------------------------------------

    def _consistent(self, tally: Integers, count: int) -> tuple[Floats, Floats, Floats]:
        """Return shares of the leaves by least squares, and variances by level.

        The first variances are for weighting levels, of a rare node; the second bound those of any node.
        """
        shares, rare_variances, variances = self._level_shares(tally, count)
        upward = [shares[-1]]
        for share, weight in list(zip(shares, self._weights(rare_variances), strict=True))[-2::-1]:
            of_children = upward[-1].reshape(-1, self.branching).sum(axis=1)
            upward.append(weight * share + (1 - weight) * of_children)
        consistent = np.ones(1)
        for nodes in reversed(upward):
            families = nodes.reshape(-1, self.branching)
            excess = consistent - families.sum(axis=1)
            consistent = (families + excess[:, np.newaxis] / self.branching).ravel()
        return consistent[: self.values], rare_variances, variances

    def _level_shares(self, tally: Integers, count: int) -> tuple[list[Floats], Floats, Floats]:
        """Return estimated shares of the nodes of each level, and variances."""
        people = tally[-len(self.levels) :]
        if people.sum() != count or not people.all():
            raise InvalidParameterError(f"ranges need reports about each of the {len(self.levels)} levels")
        cuts = np.cumsum([level.size for level in self.levels])
        shares, rare_variances, variances = [], [], []
        for level, part, number in zip(self.levels, np.split(tally[: cuts[-1]], cuts[:-1]), people, strict=True):
            share = (part / number - float(level.q)) / float(level.p - level.q)
            largest = float(np.clip(share.max(), 0, 1))
            shares.append(share)
            rare_variances.append(float(level.variance(people=int(number))))
            variances.append(float(level.variance(largest, people=int(number))) + largest / number)
        return shares, np.array(rare_variances), np.array(variances)

    def _weights(self, noise: Floats) -> Floats:
        """Return weights of nodes' own estimates beside sums of their children."""
        weights = np.ones(len(noise))
        below = noise[-1]
        for level in range(len(noise) - 2, -1, -1):
            weights[level] = self.branching * below / (noise[level] + self.branching * below)
            below = weights[level] * noise[level]
        return weights

    def _range_variance(self, rare_variances: Floats, variances: Floats, lower: Integers, upper: Integers) -> Floats:
        """Return the variance of the consistent share of [lower, upper).

        Let a node be covered to the part a. After the way up it has variance v, alike on a level, and what its children
        differ by does not correlate with their sum: siblings add v sum (a - a of the parent)^2, and the root is known.
        """
        weights = self._weights(rare_variances)
        upward = variances.copy()  # of a node after the way up
        for level in range(len(upward) - 2, -1, -1):
            of_children = self.branching * upward[level + 1]
            upward[level] = weights[level] ** 2 * upward[level] + (1 - weights[level]) ** 2 * of_children
        width = self.levels[-1].size
        covered_above = ((upper - lower) / width) ** 2
        total = np.zeros(len(lower))
        for variance in upward:
            width //= self.branching
            first, last = lower // width, upper // width
            ends = ((first + 1) * width - lower) ** 2 + (upper - last * width) ** 2
            covered = np.where(first == last, (upper - lower) ** 2 / width**2, ends / width**2 + last - first - 1)
            total += variance * (covered - self.branching * covered_above)
            covered_above = covered
        return total

    def _count(self, tally: Integers, count: int, lower: Integers, upper: Integers) -> Estimate:
        """Return the estimated number of people in each range [lower, upper)."""
        leaves, rare_variances, variances = self._consistent(tally, count)
        below = np.concatenate([[0.0], np.cumsum(leaves)])
        counts = count * (below[upper] - below[lower])
        error = count * np.sqrt(np.maximum(self._range_variance(rare_variances, variances, lower, upper), 0))

        def ends(level: float) -> Bounds:
            half = ndtri((1 + level) / 2) * error
            return Bounds(np.clip(counts - half, 0, count), np.clip(counts + half, 0, count))

        return Estimate(name="count", estimates=counts, ends=ends)

    def variance(self, lower: Integers, upper: Integers, *, people: int) -> Floats:
        """Return variances of the estimated shares of [lower, upper).

        For many people and rare values.

        Args:
            lower, upper: ends of ranges, shape (ranges,).
            people: who report.
        """
        noise = np.array([float(level.variance(people=people)) for level in self.levels]) * len(self.levels)
        return self._range_variance(noise, noise, np.asarray(lower), np.asarray(upper))

    def estimate(self, reports: NDArray[np.uint8] | Integers, *, people: int | None = None) -> Release:
        """Estimate the number of people with each value.

        Without bias, with normal intervals: see `ranges`.

        Args:
            reports, people: as in `Protocol.estimate`.
        """
        tally, count = self.tallied(reports, people)
        lower = np.arange(self.values)
        keys = Key(name="value", values=tuple(lower.tolist()))
        return self.published(count, keys, self._count(tally, count, lower, lower + 1), normal=True)

    def ranges(
        self, reports: NDArray[np.uint8] | Integers, ranges: Iterable[tuple[int, int]], *, people: int | None = None
    ) -> Release:
        """Estimate the number of people in each range, without bias.

        (0, t) is a value of the distribution function.

        Intervals are normal, with the variance of each level at its largest share.

        Args:
            reports, people: as in `Protocol.estimate`.
            ranges: pairs (lower, upper) of whole numbers; upper does not belong to the range.
        """
        given = np.array(list(ranges), dtype=np.int64).reshape(-1, 2)
        if not len(given) or given.min() < 0 or given.max() > self.values or (given[:, 0] >= given[:, 1]).any():
            raise InvalidParameterError(f"ranges must be pairs (lower, upper) with 0 <= lower < upper <= {self.values}")
        tally, count = self.tallied(reports, people)
        keys = (Key(name="lower", values=tuple(given[:, 0])), Key(name="upper", values=tuple(given[:, 1])))
        return self.published(count, *keys, self._count(tally, count, given[:, 0], given[:, 1]), normal=True)

    def quantiles(
        self, reports: NDArray[np.uint8] | Integers, chances: Iterable[Real], *, people: int | None = None
    ) -> Release:
        """Estimate quantiles, with intervals.

        A quantile is the least value with at least this share of the people at or below it.

        Args:
            reports, people: as in `Protocol.estimate`.
            chances: shares of people, such as 0.5.
        """
        wanted = np.array([float(probability("a chance", chance)) for chance in chances])
        tally, count = self.tallied(reports, people)
        upper = np.arange(1, self.values + 1)
        below = self._count(tally, count, np.zeros_like(upper), upper)

        def first(shares: Floats) -> Floats:
            grown = np.maximum.accumulate(shares[:-1] / count)
            return np.searchsorted(grown, wanted, side="left").astype(np.float64)

        def ends(level: float) -> Bounds:
            low, high = below.bounds(level)
            last = np.minimum.accumulate(low[::-1])[::-1][:-1] / count  # beyond its last index below a share
            return Bounds(first(high), np.searchsorted(last, wanted, side="left").astype(np.float64))

        part = Estimate(name="value", estimates=first(np.asarray(below.estimates)), ends=ends, digits=0)
        return self.published(count, Key(name="share", values=tuple(wanted.tolist())), part, normal=True)

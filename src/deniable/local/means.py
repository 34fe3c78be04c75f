"""Means of bounded numbers and vectors, from reports on a public grid."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.local.codes import of_bytes, to_bytes
from deniable.local.protocol import PureProtocol, exact_bounds, likelihood_ratio_below
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats, Integers
from deniable.numbers.rationals import exact_rational, whole_number
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate, Key
from deniable.rows import numbers, table

_MAX_STEPS = 2**14  # a report then takes at most two bytes a coordinate
_MAX_TALLY_SIZE = 2**24  # coordinates times steps: memory of a tally
_NORMAL_REPORTS = 1000  # from which the mean of reports is taken to be normal


class WindowRandomizer(NamedTuple):
    """Randomizer of a cell, more likely to report one of the following numbers.

    The `length` numbers of the window are `likelihood_ratio` times as likely as the others. A value is rounded to one
    of the cells 0, ..., cells, up or down at random, so that its mean stays.
    """

    cells: int
    length: Any  # an integer, or an array of lengths to compare

    def moments(self, likelihood_ratio: float) -> tuple[Any, Any]:
        """Return the excess probability of the window, and a second moment.

        The moment is E (z - 1/2)^2 of the unbiased estimate z of a share in the middle.

        Args:
            likelihood_ratio: of a number in the window and one outside.
        """
        outside = 1 / (likelihood_ratio * self.length + self.cells)
        outputs = self.cells + self.length
        tilt = (likelihood_ratio - 1) * self.length * outside
        flat = outside * outputs * (outputs**2 - 1) / 12 + tilt * (self.length**2 - 1) / 12
        return tilt, flat / (tilt * self.cells) ** 2

    def second_moment(self, share: Floats, likelihood_ratio: float) -> Floats:
        """Return E (z - 1/2)^2 of the unbiased estimate z for any share of the bounds."""
        tilt, flat = self.moments(likelihood_ratio)
        up = share * self.cells % 1
        return np.asarray(flat + ((share - 0.5) ** 2 + up * (1 - up) / self.cells**2) / tilt)


@dataclass(frozen=True, kw_only=True)
class MeanProtocol(PureProtocol):
    """The mean of one bounded number or vector a person.

    Numbers move to the nearest of `steps` + 1 points of their bounds. A client reports a number close to its own point
    more often than one far off (Piecewise), or, as a coin says, one bit: its number rounded to a bound at random and
    reported truly with probability r / (r + 1), for the likelihood ratio r (Duchi). Of a vector it reports `sampled`
    coordinates in a row, cyclically, from a random one on, each with its part of epsilon.

    Args:
        epsilon: of one report, in (0, 40].
        bounds: (lower, upper), to which numbers are clamped; non-numeric entries become the lower bound.
        steps: of the public grid, at most 2^14. The mean is that of grid points: at most half a step from the truth.
        share: the probability of Piecewise: 0 is Duchi's protocol, 1 Piecewise, anything between is Hybrid. By
            default the multiple of 1/64 with the least exact variance for the worst number.
        window: the number of likely reports; by default the best, which is more than the paper's
            steps / e^(epsilon / 2).
        columns: coordinates of a vector.
        sampled: coordinates in a report; by default epsilon / 2.5, and at least one.

    Guarantee: all probabilities of a report are in ratios of at most r, as `channel` shows for a coordinate; no coin
        but Duchi's and that of the window depends on the number, and coordinates compose.
    Source: Duchi, Jordan, Wainwright (2018), "Minimax optimal procedures for locally private estimation"; Wang et al.
        (2019), arXiv:1907.00782, here on a grid.

    >>> from deniable.local import MeanProtocol
    >>> protocol = MeanProtocol(bounds=(0, 100), epsilon=1, columns=2)
    >>> len(protocol.estimate(protocol.encode([[20, 30.5]] * 1000)))
    2
    """

    kind: ClassVar[str] = "mean"

    bounds: tuple[Fraction, Fraction]
    steps: int = 1000
    share: Fraction | None = None
    window: int = 0
    columns: int = 1
    sampled: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        columns = whole_number("columns", self.columns, lower=1, upper=2**16)
        best_sampled = max(1, min(columns, int(self.epsilon / 2.5)))
        sampled = whole_number("sampled", self.sampled or best_sampled, lower=1, upper=columns)
        steps = whole_number("steps", self.steps, lower=1, upper=_MAX_STEPS)
        read_fields(self, bounds=exact_bounds(self.bounds), sampled=sampled, steps=steps)
        given = None if self.share is None else exact_rational("share", self.share)
        if not 0 <= (given or 0) <= 1 or columns * steps > _MAX_TALLY_SIZE:
            raise InvalidParameterError("share must be in [0, 1], and columns times steps at most 2^24")
        best_window, best_share = self._best(np.arange(65) / 64 if given is None else np.array([float(given)]))
        window = whole_number("window", self.window or best_window, lower=1, upper=steps)
        read_fields(self, window=window, share=Fraction(best_share) if given is None else given)

    @cached_property
    def likelihood_ratio(self) -> Fraction:
        """Greatest ratio of two probabilities of one coordinate.

        A rational just below e^(epsilon / sampled).
        """
        return likelihood_ratio_below(self.epsilon / self.sampled)

    @property
    def parts(self) -> tuple[tuple[Fraction, WindowRandomizer], ...]:
        """The windows, one of which a client takes, and the probability of each."""
        share = self.share or Fraction(0)
        both = ((1 - share, WindowRandomizer(1, 1)), (share, WindowRandomizer(self.steps, self.window)))
        return tuple(part for part in both if part[0])

    @cached_property
    def outputs(self) -> int:
        """Number of different reports of a coordinate."""
        return sum(window.cells + window.length for _, window in self.parts)

    @property
    def size(self) -> int:
        """Number of pairs of a coordinate and a report of it."""
        return self.columns * self.outputs

    @property
    def width(self) -> int:
        """Number of bytes of a report: the first coordinate, and a code for each."""
        return self._start_width + self.sampled * self._code_width

    @property
    def _start_width(self) -> int:
        """Number of bytes of the first coordinate of a report."""
        return -(-(self.columns - 1).bit_length() // 8)

    @property
    def _code_width(self) -> int:
        """Number of bytes of the code of a coordinate."""
        return -(-(self.outputs - 1).bit_length() // 8)

    def _encode(self, values: Any, bits: Bits) -> NDArray[np.uint8]:
        """Randomise the sampled coordinates of each row."""
        rows = numbers(values)[:, np.newaxis] if self.columns == 1 else rows_of(values, self.columns)
        start = uniform.below(self.columns, size=len(rows), bits=bits)
        points = self.grid_points(np.take_along_axis(rows, self._chosen(start), axis=1)).ravel()
        codes = self.draw(points, bits).reshape(len(rows), self.sampled * self._code_width)
        return np.concatenate([to_bytes(start, self._start_width), codes], axis=1)

    def _chosen(self, start: Integers) -> Integers:
        """Return the coordinates that reports are about, shape (people, sampled)."""
        return np.asarray((start[:, np.newaxis] + np.arange(self.sampled)) % self.columns)

    def grid_points(self, values: Floats) -> Integers:
        """Return the nearest of the grid points 0, ..., steps; 0 for NaN.

        Args:
            values: in any shape.
        """
        lower, upper = self.bounds
        share = (values - float(lower)) / float(upper - lower)
        inside = np.clip(np.where(np.isnan(share), 0.0, share), 0, 1)
        return np.asarray(np.rint(inside * self.steps), dtype=np.int64)

    def draw(self, points: Integers, bits: Bits) -> NDArray[np.uint8]:
        """Randomise grid points to codes of a coordinate.

        Bytes of shape (points, code width).

        Args:
            points: shape (points,).
            bits: where randomness comes from.
        """
        codes = np.empty_like(points)
        part = np.zeros(points.shape, dtype=np.int64)
        if len(self.parts) > 1:
            part[bernoulli.sample(p=self.parts[1][0], size=points.shape, bits=bits)] = 1
        start = 0
        for index, (_, window) in enumerate(self.parts):
            rows = np.flatnonzero(part == index)
            rounding = uniform.below(self.steps, size=rows.size, bits=bits)
            cell = (points[rows] * window.cells + rounding) // self.steps
            chance = self.likelihood_ratio * window.length / (self.likelihood_ratio * window.length + window.cells)
            inside = bernoulli.sample(p=chance, size=rows.size, bits=bits)
            in_window = cell + uniform.below(window.length, size=rows.size, bits=bits)
            outside = uniform.below(window.cells, size=rows.size, bits=bits)
            codes[rows] = start + np.where(inside, in_window, outside + window.length * (outside >= cell))
            start += window.cells + window.length
        return to_bytes(codes, self._code_width)

    def _split(self, reports: NDArray[np.uint8]) -> tuple[Integers, Integers]:
        """Return the first coordinate of each report, and its codes."""
        codes = np.ascontiguousarray(reports[:, self._start_width :]).reshape(-1, self._code_width)
        return of_bytes(reports[:, : self._start_width]), of_bytes(codes).reshape(-1, self.sampled)

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return whether the coordinate and the codes of each report exist."""
        start, codes = self._split(reports)
        return np.asarray((start < self.columns) & (codes < self.outputs).all(axis=1))

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        """Return the number of reports of each code of each coordinate."""
        start, codes = self._split(reports)
        return np.bincount((self._chosen(start) * self.outputs + codes).ravel(), minlength=self.size)

    def channel(self, points: Integers | range) -> list[list[Fraction]]:
        """Return the exact probability of every code from these grid points.

        Their ratios are the privacy loss.

        Args:
            points: grid points of a coordinate.
        """
        rows = []
        for point in points:
            row: list[Fraction] = []
            for chance, (cells, length) in self.parts:
                low, up = divmod(point * cells, self.steps)
                whole = self.likelihood_ratio * length + cells
                for code in range(cells + length):
                    rounded_down = (low <= code < low + length) * (self.steps - up)
                    rounded_up = (low < code <= low + length) * up
                    in_window = rounded_down + rounded_up  # of `steps` roundings
                    row.append(chance / whole * (1 + in_window * (self.likelihood_ratio - 1) / self.steps))
            rows.append(row)
        return rows

    @cached_property
    def scores(self) -> Floats:
        """Unbiased estimate of a number from each code.

        Relative to the middle of its bounds.
        """
        lower, upper = self.bounds
        shares = []
        for _, window in self.parts:
            outputs = window.cells + window.length
            tilt, _ = window.moments(float(self.likelihood_ratio))
            shares.append((np.arange(outputs) - (outputs - 1) / 2) / (tilt * window.cells))
        return float(upper - lower) * np.concatenate(shares)

    def variance(self, values: object = None, *, people: int) -> Floats:
        """Return the exact variance of each estimated mean.

        Args:
            values: held by equally many people each, shape (values, columns); by default the worst one.
            people: who report.
        """
        worst = values is None
        if worst:
            points = np.arange(self.steps + 1)[:, np.newaxis]
        else:
            points = self.grid_points(np.asarray(values, dtype=np.float64)).reshape(-1, self.columns)
        share = points / self.steps
        ratio = float(self.likelihood_ratio)
        second_moment = sum(float(chance) * window.second_moment(share, ratio) for chance, window in self.parts)
        variances = self.columns / self.sampled * second_moment - (share - 0.5) ** 2
        if worst:
            variances = np.full((1, self.columns), variances.max())
        lower, upper = self.bounds
        return np.asarray(float(upper - lower) ** 2 * variances.mean(axis=0) / people)

    def estimate(self, reports: NDArray[np.uint8] | Integers, *, people: int | None = None) -> Release:
        """Estimate the mean of every coordinate.

        Without bias, and with intervals that hold whatever people hold. From 1000 reports on the error is taken as
        normal, with the greatest variance that numbers in the bounds can have; below, the interval is Bernstein's,
        which holds for any number of reports.

        Args:
            reports, people: as in `Protocol.estimate`.
        """
        tally, count = self.tallied(reports, people)
        if tally.sum() != count * self.sampled:
            raise InvalidParameterError("a tally must add up to the number of people times the sampled coordinates")
        lower, upper = map(float, self.bounds)
        scale = self.columns / self.sampled
        means = (lower + upper) / 2 + scale * (tally.reshape(self.columns, -1) @ self.scores) / count
        variance = self.variance(people=count)
        largest_score = scale * float(np.ptp(self.scores))

        def ends(level: float) -> Bounds:
            half = ndtri((1 + level) / 2) * np.sqrt(variance)
            if count < _NORMAL_REPORTS:
                log_failure = math.log(2 / (1 - level))
                half = np.sqrt(2 * variance * log_failure) + largest_score * log_failure / (3 * count)
            return Bounds(np.clip(means - half, lower, upper), np.clip(means + half, lower, upper))

        keys = (Key(name="coordinate", values=tuple(range(self.columns))),) if self.columns > 1 else ()
        return self.published(count, *keys, Estimate(name="mean", estimates=means, ends=ends))

    def _best(self, shares: Floats) -> tuple[int, float]:
        """Return the best window, and the best probability of Piecewise.

        They have the least variance for the worst number.

        Variances are quadratic in the number's distance from the middle: the worst is the middle or an end.
        """
        ratio = float(self.likelihood_ratio)
        share = shares[:, np.newaxis]
        tilt, flat = WindowRandomizer(self.steps, np.arange(1.0, self.steps + 1)).moments(ratio)
        bend = (1 / tilt - 1) / 4
        one_bit = ((ratio + 1) / (ratio - 1)) ** 2 / 4
        middle = share * flat + (1 - share) * one_bit
        end = share * (flat + bend) + (1 - share) * (one_bit - 1 / 4)
        row, column = divmod(int(np.maximum(middle, end).argmin()), self.steps)
        return column + 1, float(shares[row])


def rows_of(values: Any, columns: int) -> Floats:
    """Read rows of numbers, one a person.

    An array or a frame with other columns is refused.
    """
    rows = table(values, columns=columns)[0]
    if rows.shape[1] != columns:
        raise InvalidParameterError(f"rows must have {columns} columns, got {rows.shape[1]}")
    return rows

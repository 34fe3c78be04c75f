"""Means of numbers and vectors in declared bounds: reports are integers on a public grid."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from deniable.errors import InvalidParameterError
from deniable.local.codes import of_bytes, to_bytes
from deniable.local.protocol import PureProtocol, odds_below
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats, Integers
from deniable.numbers.rationals import exact_rational, whole_number
from deniable.release import Bounds, Estimate, Key, Release
from deniable.rows import numbers, table

_MOST_STEPS, _MOST_CELLS = 2**14, 2**24
_MANY = 1000  # reports whose mean is taken to be normal


class Window(NamedTuple):
    """Report one of cells + length numbers: of the `length` from the own cell on each `odds` times as likely.

    A value is rounded to one of the cells 0, ..., cells, up or down at random, so that its mean stays.
    """

    cells: int
    length: Any  # an integer, or many to compare

    def moments(self, odds: float) -> tuple[Any, Any]:
        """How much likelier the window is, and E (z - 1/2)^2 of the unbiased estimate z of a share in the middle."""
        outside, outputs = 1 / (odds * self.length + self.cells), self.cells + self.length
        tilt = (odds - 1) * self.length * outside
        flat = outside * outputs * (outputs**2 - 1) / 12 + tilt * (self.length**2 - 1) / 12
        return tilt, flat / (tilt * self.cells) ** 2

    def second_moment(self, share: Floats, odds: float) -> Floats:
        """E (z - 1/2)^2 for any share of the bounds."""
        tilt, flat = self.moments(odds)
        up = share * self.cells % 1
        return np.asarray(flat + ((share - 0.5) ** 2 + up * (1 - up) / self.cells**2) / tilt)


@dataclass(frozen=True, kw_only=True)
class MeanProtocol(PureProtocol):
    """The mean of a number or vector a person, which is moved to the nearest of `steps` + 1 points of its bounds.

    A client reports a number near its own point more often than one far off (Piecewise), or, as a coin says, one bit:
    its number rounded to a bound at random and told truly with probability odds / (odds + 1) (Duchi). Of a vector it
    reports `sampled` coordinates from a random place on (cyclically), each with its part of epsilon.

    Args:
        lower: every number is at least this, or is taken as this; so is what is no number.
        upper: likewise.
        steps: of the public grid, at most 2^14. The mean is that of grid points: at most half a step from the truth.
        share: how often Piecewise is taken: 0 is Duchi's protocol, 1 Piecewise, what lies between is Hybrid. By
            default the multiple of 1/64 with the least exact variance for the worst number.
        window: how many numbers are near; by default the best, which is more than the paper's steps / e^(epsilon / 2).
        columns: coordinates of a vector.
        sampled: by default epsilon / 2.5, and at least one.

    Guarantee: all probabilities of a report are in ratios of at most odds, as `channel` shows for a coordinate; no coin
        but Duchi's and that of the window looks at the number, and coordinates compose.
    Source: Duchi, Jordan, Wainwright (2018), "Minimax optimal procedures for locally private estimation"; Wang et al.
        (2019), arXiv:1907.00782, here on a grid.

    >>> from deniable.local import MeanProtocol
    >>> protocol = MeanProtocol(lower=0, upper=100, epsilon=1, columns=2)
    >>> len(protocol.estimate(protocol.encode([[20, 30.5]] * 1000)))
    2
    """

    kind: ClassVar[str] = "mean"

    lower: Annotated[Fraction, exact_rational]
    upper: Annotated[Fraction, exact_rational]
    steps: int = 1000
    share: Fraction | None = None
    window: int = 0
    columns: int = 1
    sampled: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        usual = max(1, min(whole_number("columns", self.columns, lower=1, upper=2**16), int(self.epsilon / 2.5)))
        sampled = whole_number("sampled", self.sampled or usual, lower=1, upper=self.columns)
        object.__setattr__(self, "sampled", sampled)
        object.__setattr__(self, "steps", whole_number("steps", self.steps, lower=1, upper=_MOST_STEPS))
        given = None if self.share is None else exact_rational("share", self.share)
        if self.lower >= self.upper or not 0 <= (given or 0) <= 1 or self.columns * self.steps > _MOST_CELLS:
            raise InvalidParameterError("lower must be below upper, share in [0, 1], columns times steps at most 2^24")
        window, share = self._least(np.arange(65) / 64 if given is None else np.array([float(given)]))
        found = whole_number("window", self.window or window, lower=1, upper=self.steps)
        object.__setattr__(self, "window", found)
        object.__setattr__(self, "share", Fraction(share) if given is None else given)

    @cached_property
    def odds(self) -> Fraction:
        """A rational just below e^(epsilon / sampled): the greatest ratio of two probabilities of one coordinate."""
        return odds_below(self.epsilon / self.sampled)

    @property
    def parts(self) -> tuple[tuple[Fraction, Window], ...]:
        """The windows, one of which a client takes, and how often."""
        share = self.share or Fraction(0)
        both = ((1 - share, Window(1, 1)), (share, Window(self.steps, self.window)))
        return tuple(part for part in both if part[0])

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper as floats."""
        return float(self.lower), float(self.upper)

    @cached_property
    def outputs(self) -> int:
        """How many different reports of a coordinate there are."""
        return sum(window.cells + window.length for _, window in self.parts)

    @property
    def size(self) -> int:
        """How many pairs of a coordinate and a report of it there are."""
        return self.columns * self.outputs

    @property
    def width(self) -> int:
        return self._place_width + self.sampled * self._code_width

    @property
    def _place_width(self) -> int:
        return -(-(self.columns - 1).bit_length() // 8)

    @property
    def _code_width(self) -> int:
        return -(-(self.outputs - 1).bit_length() // 8)

    def _encode(self, values: Any, bits: Bits) -> NDArray[np.uint8]:
        rows = numbers(values)[:, np.newaxis] if self.columns == 1 else rows_of(values, self.columns)
        start = uniform.below(self.columns, size=len(rows), bits=bits)
        own = self.places(np.take_along_axis(rows, self._chosen(start), axis=1)).ravel()
        told = self.draw(own, bits).reshape(len(rows), self.sampled * self._code_width)
        return np.concatenate([to_bytes(start, self._place_width), told], axis=1)

    def _chosen(self, start: Integers) -> Integers:
        return np.asarray((start[:, np.newaxis] + np.arange(self.sampled)) % self.columns)

    def places(self, values: Floats) -> Integers:
        """The nearest grid points."""
        share = (values - float(self.lower)) / float(self.upper - self.lower)
        inside = np.clip(np.where(np.isnan(share), 0.0, share), 0, 1)
        return np.asarray(np.rint(inside * self.steps), dtype=np.int64)

    def draw(self, places: Integers, bits: Bits) -> NDArray[np.uint8]:
        """One report of a coordinate for each grid point."""
        found, part = np.empty_like(places), np.zeros(places.shape, dtype=np.int64)
        if len(self.parts) > 1:
            part[bernoulli.sample(p=self.parts[1][0], size=places.shape, bits=bits)] = 1
        start = 0
        for at, (_, window) in enumerate(self.parts):
            rows = np.flatnonzero(part == at)
            rounding = uniform.below(self.steps, size=rows.size, bits=bits)
            cell = (places[rows] * window.cells + rounding) // self.steps
            chance = self.odds * window.length / (self.odds * window.length + window.cells)
            inside = bernoulli.sample(p=chance, size=rows.size, bits=bits)
            near = cell + uniform.below(window.length, size=rows.size, bits=bits)
            far = uniform.below(window.cells, size=rows.size, bits=bits)
            found[rows] = start + np.where(inside, near, far + window.length * (far >= cell))
            start += window.cells + window.length
        return to_bytes(found, self._code_width)

    def _split(self, reports: NDArray[np.uint8]) -> tuple[Integers, Integers]:
        """Where each report starts, and its codes of shape (people, sampled)."""
        told = np.ascontiguousarray(reports[:, self._place_width :]).reshape(-1, self._code_width)
        return of_bytes(reports[:, : self._place_width]), of_bytes(told).reshape(-1, self.sampled)

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        start, codes = self._split(reports)
        return np.asarray((start < self.columns) & (codes < self.outputs).all(axis=1))

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        start, codes = self._split(reports)
        return np.bincount((self._chosen(start) * self.outputs + codes).ravel(), minlength=self.size)

    def channel(self, places: Integers | range) -> list[list[Fraction]]:
        """The exact probability of every report from these grid points; their ratios are the privacy loss."""
        rows = []
        for place in places:
            row: list[Fraction] = []
            for chance, (cells, length) in self.parts:
                (low, up), whole = divmod(place * cells, self.steps), self.odds * length + cells
                for code in range(cells + length):
                    held = (low <= code < low + length) * (self.steps - up) + (low < code <= low + length) * up
                    row.append(chance / whole * (1 + held * (self.odds - 1) / self.steps))
            rows.append(row)
        return rows

    @cached_property
    def scores(self) -> Floats:
        """What each report of a coordinate says of the number above the middle of its bounds, without bias."""
        found = []
        for _, window in self.parts:
            outputs, tilt = window.cells + window.length, window.moments(float(self.odds))[0]
            found.append((np.arange(outputs) - (outputs - 1) / 2) / (tilt * window.cells))
        return float(self.upper - self.lower) * np.concatenate(found)

    def variance(self, values: object = None, *, people: int) -> Floats:
        """The exact variance of each estimated mean, for equally many people with each value, or for the worst one."""
        worst, given = values is None, np.asarray(0 if values is None else values, dtype=np.float64)
        places = np.arange(self.steps + 1)[:, np.newaxis] if worst else self.places(given).reshape(-1, self.columns)
        share, odds = places / self.steps, float(self.odds)
        found = sum(float(chance) * window.second_moment(share, odds) for chance, window in self.parts)
        each = self.columns / self.sampled * found - (share - 0.5) ** 2
        each = np.full((1, self.columns), each.max()) if worst else each
        return np.asarray(float(self.upper - self.lower) ** 2 * each.mean(axis=0) / people)

    def estimate(self, reports: NDArray[np.uint8] | Integers, *, people: int | None = None) -> Release:
        """The mean of every coordinate, without bias, and an interval for it that holds whatever people hold.

        From 1000 reports on the error is taken as normal, with the greatest variance that numbers in the bounds can
        have; below, the interval is Bernstein's, which holds for any number of reports.
        """
        tally, count = self.tallied(reports, people)
        if tally.sum() != count * self.sampled:
            raise InvalidParameterError("a tally must add up to the number of people times the sampled coordinates")
        (lower, upper), scale = self.bounds, self.columns / self.sampled
        found = (lower + upper) / 2 + scale * (tally.reshape(self.columns, -1) @ self.scores) / count
        variance, farthest = self.variance(people=count), scale * float(np.ptp(self.scores))

        def ends(level: float) -> Bounds:
            far = math.log(2 / (1 - level))
            half = ndtri((1 + level) / 2) * np.sqrt(variance)
            if count < _MANY:
                half = np.sqrt(2 * variance * far) + farthest * far / (3 * count)
            return Bounds(np.clip(found - half, lower, upper), np.clip(found + half, lower, upper))

        keys = (Key(name="coordinate", values=tuple(range(self.columns))),) if self.columns > 1 else ()
        return self.published(count, *keys, Estimate(name="mean", estimates=found, ends=ends))

    def _least(self, shares: Floats) -> tuple[int, float]:
        """The window, and the share of Piecewise reports among these, with the least variance for the worst number.

        Variances are quadratic in the number's distance from the middle: the worst is the middle or an end.
        """
        odds, share = float(self.odds), shares[:, np.newaxis]
        tilt, flat = Window(self.steps, np.arange(1.0, self.steps + 1)).moments(odds)
        bend, bit = (1 / tilt - 1) / 4, ((odds + 1) / (odds - 1)) ** 2 / 4
        middle, end = share * flat + (1 - share) * bit, share * (flat + bend) + (1 - share) * (bit - 1 / 4)
        row, column = divmod(int(np.maximum(middle, end).argmin()), self.steps)
        return column + 1, float(shares[row])


def rows_of(values: Any, columns: int) -> Floats:
    """Rows of numbers, one row a person; an array or a frame with other columns is refused."""
    rows = table(values, columns=columns)[0]
    if rows.shape[1] != columns:
        raise InvalidParameterError(f"rows must have {columns} columns, got {rows.shape[1]}")
    return rows

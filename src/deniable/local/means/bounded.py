"""Means of numbers in declared bounds: reports are integers on a public grid."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from deniable.errors import InvalidParameterError
from deniable.local.codes import of_bytes, to_bytes
from deniable.local.protocol import Floats, Integers, PureProtocol
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import exact_rational, whole_number
from deniable.release import Bounds, Estimate, Release
from deniable.rows import Container, numbers, silence

_MOST_STEPS = 2**14
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
    """The mean of one number a person, which is moved to the nearest of `steps` + 1 points from lower to upper.

    A client reports a number near its own point more often than one far off (Piecewise), or, as a coin says, one bit:
    its number rounded to a bound at random and told truly with probability odds / (odds + 1) (Duchi).

    Args:
        lower: every number is at least this, or is taken as this; so is what is no number.
        upper: likewise.
        steps: of the public grid, at most 2^14. The mean is that of grid points: at most half a step from the truth.
        share: how often Piecewise is taken: 0 is Duchi's protocol, 1 Piecewise, what lies between is Hybrid. By
            default the multiple of 1/64 with the least exact variance for the worst number.
        window: how many numbers are near; by default the best, which is more than the paper's steps / e^(epsilon / 2).

    Guarantee: all probabilities of a report are in ratios of at most odds, as `channel` shows; no coin but Duchi's and
        that of the window looks at the number.
    Source: Duchi, Jordan, Wainwright (2018), "Minimax optimal procedures for locally private estimation"; Wang et al.
        (2019), arXiv:1907.00782, here on a grid.

    >>> from deniable.local import MeanProtocol
    >>> protocol = MeanProtocol(lower=0, upper=100, epsilon=1)
    >>> answer = protocol.estimate(protocol.encode([20, 30.5] * 1000))
    """

    kind: ClassVar[str] = "mean"

    lower: Annotated[Fraction, exact_rational]
    upper: Annotated[Fraction, exact_rational]
    steps: int = 1000
    share: Fraction | None = None
    window: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "steps", whole_number("steps", self.steps, lower=1, upper=_MOST_STEPS))
        given = None if self.share is None else exact_rational("share", self.share)
        if self.lower >= self.upper or (given is not None and not 0 <= given <= 1):
            raise InvalidParameterError("lower must be below upper, and share in [0, 1]")
        window, share = self._least(np.arange(65) / 64 if given is None else np.array([float(given)]))
        found = whole_number("window", self.window or window, lower=1, upper=self.steps)
        object.__setattr__(self, "window", found)
        object.__setattr__(self, "share", Fraction(share) if given is None else given)

    @property
    def parts(self) -> tuple[tuple[Fraction, Window], ...]:
        """The windows, one of which a client takes, and how often."""
        share = self.share or Fraction(0)
        both = ((1 - share, Window(1, 1)), (share, Window(self.steps, self.window)))
        return tuple(part for part in both if part[0])

    @cached_property
    def size(self) -> int:
        """How many different reports there are."""
        return sum(window.cells + window.length for _, window in self.parts)

    @property
    def width(self) -> int:
        return -(-(self.size - 1).bit_length() // 8)

    @silence()
    def encode(self, values: Container, *, bits: Bits = SECURE) -> NDArray[np.uint8]:
        """One report for each number, as bytes of shape (people, width); each call is paid anew."""
        return self.draw(self.places(numbers(values)), bits)

    def places(self, values: Floats) -> Integers:
        """The nearest grid points."""
        share = (values - float(self.lower)) / float(self.upper - self.lower)
        inside = np.clip(np.where(np.isnan(share), 0.0, share), 0, 1)
        return np.asarray(np.rint(inside * self.steps), dtype=np.int64)

    def draw(self, places: Integers, bits: Bits) -> NDArray[np.uint8]:
        """One report for each grid point."""
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
        return to_bytes(found, self.width)

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return np.asarray(of_bytes(reports) < self.size)

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        return np.bincount(of_bytes(reports), minlength=self.size)

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

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper as floats."""
        return float(self.lower), float(self.upper)

    @cached_property
    def scores(self) -> Floats:
        """What each report says of its sender's number, without bias."""
        centred = [
            (np.arange(cells + length) - (cells + length - 1) / 2)
            / Window(cells, length).moments(float(self.odds))[0]
            / cells
            for _, (cells, length) in self.parts
        ]
        return sum(self.bounds) / 2 + (self.bounds[1] - self.bounds[0]) * np.concatenate(centred)

    def variance(self, values: object = None, *, people: int) -> float:
        """The exact variance of the estimated mean, for equally many people with each number, or for the worst one."""
        places = np.arange(self.steps + 1) if values is None else self.places(np.asarray(values, dtype=np.float64))
        each = self.spread(places, 1)
        return float((each.max() if values is None else each.mean()) / people)

    def spread(self, places: Integers, scale: float) -> Floats:
        """The variance of a score of each grid point that is sent with probability 1 / scale, and scaled by that."""
        share = places / self.steps
        found = sum(float(chance) * window.second_moment(share, float(self.odds)) for chance, window in self.parts)
        return np.asarray(float(self.upper - self.lower) ** 2 * (scale * found - (share - 0.5) ** 2))

    def estimate(self, reports: NDArray[np.uint8] | Integers, *, people: int | None = None) -> Release:
        """The mean, without bias, and an interval that holds for every column of numbers.

        From 1000 reports on the error is taken as normal, with the greatest variance that numbers in the bounds can
        have; below, the interval is Bernstein's, which holds for any number of reports.
        """
        tally, count = self.tallied(reports, people)
        if tally.sum() != count:
            raise InvalidParameterError("a tally must add up to the number of people")
        found = np.array([tally @ self.scores / count])
        ends = mean_ends(found, self.variance(people=count), float(np.ptp(self.scores)), count, self.bounds)
        return self.published(count, Estimate(name="mean", estimates=found, ends=ends))

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


def mean_ends(
    found: Floats, variance: Floats | float, spread: float, count: int, bounds: tuple[float, float]
) -> Callable[[float], Bounds]:
    """Intervals around means of `count` independent scores that differ by `spread` at most."""

    def ends(level: float) -> Bounds:
        if count >= _MANY:
            half = ndtri((1 + level) / 2) * np.sqrt(variance)
        else:
            far = math.log(2 / (1 - level))
            half = np.sqrt(2 * np.asarray(variance) * far) + spread * far / (3 * count)
        return Bounds(np.clip(found - half, *bounds), np.clip(found + half, *bounds))

    return ends

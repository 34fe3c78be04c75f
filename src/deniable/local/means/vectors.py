"""Means of vectors: each client reports a few of its coordinates."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.local.codes import of_bytes, to_bytes
from deniable.local.means.bounded import MeanProtocol, mean_ends
from deniable.local.protocol import Floats, Integers, PureProtocol
from deniable.noise import uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import exact_rational, whole_number
from deniable.release import Estimate, Key, Release
from deniable.rows import silence, table

_MOST_CELLS = 2**26
_PLACE = 3  # bytes of a place


@dataclass(frozen=True, kw_only=True)
class VectorMean(PureProtocol):
    """The mean of a vector a person, each coordinate in the same bounds.

    A client draws a place, and reports the coordinates from there on (cyclically), each by `MeanProtocol` with its part
    of epsilon. Every coordinate is reported with probability sampled / columns, whatever it holds.

    Args:
        columns: coordinates of a vector.
        lower: bound of every coordinate.
        upper: likewise.
        sampled: coordinates that a client reports; by default epsilon / 2.5, and at least one.
        steps: of the public grid of a coordinate.

    Guarantee: the place is independent of the vector, and `sampled` reports of epsilon / sampled each compose.
    Source: Wang et al. (2019), arXiv:1907.00782, section 4.

    >>> from deniable.local import VectorMean
    >>> protocol = VectorMean(columns=3, lower=-1, upper=1, epsilon=2)
    >>> len(protocol.estimate(protocol.encode([[0.5, 0, -0.5]] * 2000)))
    3
    """

    kind: ClassVar[str] = "vector"

    columns: int
    lower: Annotated[Fraction, exact_rational]
    upper: Annotated[Fraction, exact_rational]
    sampled: int = 0
    steps: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "columns", whole_number("columns", self.columns, lower=1, upper=2**20))
        usual = max(1, min(self.columns, int(self.epsilon / Fraction(5, 2))))
        sampled = whole_number("sampled", self.sampled or usual, lower=1, upper=self.columns)
        object.__setattr__(self, "sampled", sampled)
        if self.size > _MOST_CELLS:
            raise InvalidParameterError(f"a tally of {self.size} numbers is too large; take fewer steps or columns")

    @cached_property
    def coordinate(self) -> MeanProtocol:
        """The protocol of one coordinate."""
        return MeanProtocol(lower=self.lower, upper=self.upper, epsilon=self.epsilon / self.sampled, steps=self.steps)

    @cached_property
    def size(self) -> int:
        """How many pairs of a coordinate and a report of it there are."""
        return self.columns * self.coordinate.size

    @property
    def width(self) -> int:
        return _PLACE + self.sampled * self.coordinate.width

    @silence()
    def encode(self, values: object, *, bits: Bits = SECURE) -> NDArray[np.uint8]:
        """One report for each row of a table, as bytes of shape (people, width); each call is paid anew."""
        rows = table(values, columns=self.columns)[0]
        start = uniform.below(self.columns, size=len(rows), bits=bits)
        chosen = (start[:, np.newaxis] + np.arange(self.sampled)) % self.columns
        places = self.coordinate.places(np.take_along_axis(rows, chosen, axis=1)).ravel()
        told = self.coordinate.draw(places, bits).reshape(len(rows), -1)
        return np.concatenate([to_bytes(start, _PLACE), told], axis=1)

    def _split(self, reports: NDArray[np.uint8]) -> tuple[Integers, Integers]:
        """Where each report starts, and its codes of shape (people, sampled)."""
        told = np.ascontiguousarray(reports[:, _PLACE:]).reshape(-1, self.coordinate.width)
        return of_bytes(reports[:, :_PLACE]), of_bytes(told).reshape(-1, self.sampled)

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        start, codes = self._split(reports)
        return np.asarray((start < self.columns) & (codes < self.coordinate.size).all(axis=1))

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        start, codes = self._split(reports)
        chosen = (start[:, np.newaxis] + np.arange(self.sampled)) % self.columns
        return np.bincount((chosen * self.coordinate.size + codes).ravel(), minlength=self.size)

    def variance(self, values: object = None, *, people: int) -> Floats:
        """The exact variance of each coordinate, for equally many people with each vector, or for the worst one."""
        scale = self.columns / self.sampled
        if values is None:
            return np.full(self.columns, self.coordinate.spread(np.arange(self.steps + 1), scale).max() / people)
        places = self.coordinate.places(np.asarray(values, dtype=np.float64))
        return np.asarray(self.coordinate.spread(places, scale).mean(axis=0) / people)

    def estimate(self, reports: NDArray[np.uint8] | Integers, *, people: int | None = None) -> Release:
        """The mean of every coordinate, without bias, and intervals: see `MeanProtocol.estimate`."""
        tally, count = self.tallied(reports, people)
        if tally.sum() != count * self.sampled:
            raise InvalidParameterError("a tally must add up to the number of people times the sampled coordinates")
        own, middle, scale = self.coordinate, sum(self.coordinate.bounds) / 2, self.columns / self.sampled
        found = middle + scale * (tally.reshape(self.columns, -1) @ (own.scores - middle)) / count
        ends = mean_ends(found, self.variance(people=count), scale * float(np.ptp(own.scores)), count, own.bounds)
        keys = Key(name="coordinate", values=tuple(range(self.columns)))
        return self.published(count, keys, Estimate(name="mean", estimates=found, ends=ends))

"""Shorter vectors: signs, or the largest entries, of values that have their noise already.

Without noise, which entries are largest tells of the rows; after it, to compress is post-processing.
Source: Bernstein et al. (2018), arXiv:1802.04434; Alistarh et al. (2018), arXiv:1809.10505.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.learning.clips import Part
from deniable.numbers.arrays import Integers
from deniable.numbers.rationals import whole_number

_Whole = Annotated[int, partial(whole_number, lower=1, upper=2**30)]


@dataclass(frozen=True, kw_only=True)
class Codec(Part):
    """From noisy integers to bytes and back; what `pack` cannot have made is an InvalidParameterError."""

    def left(self, exact: Integers, sent: Integers) -> Integers:
        """What a client keeps of its update, to add it to the next one: as private as its rows, and nothing here."""
        return np.zeros_like(exact)

    @abstractmethod
    def pack(self, noisy: Integers) -> bytes: ...

    @abstractmethod
    def unpack(self, sent: bytes, dimensions: int) -> Integers: ...


@dataclass(frozen=True, kw_only=True)
class Sign(Codec):
    """Send the sign of every entry, one bit each, to be read as `steps` lattice steps up or down.

    With `feedback` a client keeps the difference between its update, without noise, and what its signs say.

    >>> Sign(steps=5).unpack(Sign(steps=5).pack(np.array([7, -1, 0])), 3).tolist()
    [5, -5, 5]
    """

    steps: _Whole
    feedback: bool = False

    def left(self, exact: Integers, sent: Integers) -> Integers:
        return (exact - sent) * self.feedback

    def pack(self, noisy: Integers) -> bytes:
        return np.packbits(np.asarray(noisy) >= 0).tobytes()

    def unpack(self, sent: bytes, dimensions: int) -> Integers:
        _check(len(sent) == -(-dimensions // 8))
        up = np.unpackbits(np.frombuffer(sent, dtype=np.uint8), count=dimensions).astype(bool)
        return np.where(up, self.steps, -self.steps)


@dataclass(frozen=True, kw_only=True)
class Top(Codec):
    """Send the `count` entries that are largest in size, with their places; ties go to the earlier place.

    A client keeps the other entries of its update, without noise.

    >>> Top(count=1).unpack(Top(count=1).pack(np.array([3, -8, 8])), 3).tolist()
    [0, -8, 0]
    """

    count: _Whole

    def left(self, exact: Integers, sent: Integers) -> Integers:
        return np.where(sent == 0, exact, 0)

    def pack(self, noisy: Integers) -> bytes:
        places = np.sort(np.argsort(-np.abs(noisy), kind="stable")[: self.count])
        return places.astype("<u4").tobytes() + np.asarray(noisy)[places].astype("<i8").tobytes()

    def unpack(self, sent: bytes, dimensions: int) -> Integers:
        count = min(self.count, dimensions)
        _check(len(sent) == 12 * count)
        places = np.frombuffer(sent[: 4 * count], dtype="<u4").astype(np.int64)
        _check((np.diff(places) > 0).all() and places[-1] < dimensions)
        found = np.zeros(dimensions, dtype=np.int64)
        found[places] = np.frombuffer(sent[4 * count :], dtype="<i8")
        return found


def _check(fits: object) -> None:
    if not fits:
        raise InvalidParameterError("these bytes are no vector of this codec")

"""Codecs that shorten vectors which already have their noise.

Without noise, the choice of the largest entries depends on the rows; after it, compression is post-processing.
Source: Bernstein et al. (2018), arXiv:1802.04434; Alistarh et al. (2018), arXiv:1809.10505.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.mechanisms.parts import Part
from deniable.numbers.arrays import Integers
from deniable.numbers.rationals import whole_number

_Whole = Annotated[int, partial(whole_number, lower=1, upper=2**30)]


@dataclass(frozen=True, kw_only=True)
class Codec(Part):
    """Base class of codecs, from noisy integers to bytes and back."""

    def left(self, exact: Integers, sent: Integers) -> Integers:
        """Return what a client adds to its next update; zeros by default.

        As private as the client's rows.

        Args:
            exact: the update without noise, in lattice steps.
            sent: what the server decodes.
        """
        return np.zeros_like(exact)

    @abstractmethod
    def pack(self, noisy: Integers) -> bytes:
        """Encode noisy integers, shape (dimensions,)."""

    @abstractmethod
    def unpack(self, sent: bytes, dimensions: int) -> Integers:
        """Decode bytes to integers, shape (dimensions,).

        Raises: InvalidParameterError for bytes that `pack` cannot have made.
        """


@dataclass(frozen=True, kw_only=True)
class Sign(Codec):
    """Send the sign of every entry, one bit each.

    Args:
        steps: lattice steps for which a sign stands, up or down.
        feedback: whether a client adds the difference between its update, without noise, and what its signs stand for
            to its next update.

    >>> Sign(steps=5).unpack(Sign(steps=5).pack(np.array([7, -1, 0])), 3).tolist()
    [5, -5, 5]
    """

    steps: _Whole
    feedback: bool = False

    def left(self, exact: Integers, sent: Integers) -> Integers:
        """Return the error of the signs with `feedback`, else zeros."""
        return (exact - sent) * self.feedback

    def pack(self, noisy: Integers) -> bytes:
        """Encode the signs, eight in a byte."""
        return np.packbits(np.asarray(noisy) >= 0).tobytes()

    def unpack(self, sent: bytes, dimensions: int) -> Integers:
        """Decode every sign as `steps` up or down."""
        _check(len(sent) == -(-dimensions // 8))
        positive = np.unpackbits(np.frombuffer(sent, dtype=np.uint8), count=dimensions).astype(bool)
        return np.where(positive, self.steps, -self.steps)


@dataclass(frozen=True, kw_only=True)
class Top(Codec):
    """Send the `count` entries of largest size, with their indices.

    Of entries of equal size the first are sent. A client adds the other entries of its update, without noise, to its
    next update.

    Args:
        count: of the entries that are sent, 12 bytes each.

    >>> Top(count=1).unpack(Top(count=1).pack(np.array([3, -8, 8])), 3).tolist()
    [0, -8, 0]
    """

    count: _Whole

    def left(self, exact: Integers, sent: Integers) -> Integers:
        """Return the entries that were not sent."""
        return np.where(sent == 0, exact, 0)

    def pack(self, noisy: Integers) -> bytes:
        """Encode the indices of the largest entries, and the entries."""
        indices = np.sort(np.argsort(-np.abs(noisy), kind="stable")[: self.count])
        return indices.astype("<u4").tobytes() + np.asarray(noisy)[indices].astype("<i8").tobytes()

    def unpack(self, sent: bytes, dimensions: int) -> Integers:
        """Decode to a vector that is zero at all other indices."""
        count = min(self.count, dimensions)
        _check(len(sent) == 12 * count)
        indices = np.frombuffer(sent[: 4 * count], dtype="<u4").astype(np.int64)
        _check((np.diff(indices) > 0).all() and indices[-1] < dimensions)
        vector = np.zeros(dimensions, dtype=np.int64)
        vector[indices] = np.frombuffer(sent[4 * count :], dtype="<i8")
        return vector


def _check(valid: object) -> None:
    if not valid:
        raise InvalidParameterError("these bytes are not a valid vector of this codec")

"""Base of mechanisms that are made of one mechanism."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import Mechanism, Released
from deniable.mechanisms.interactive import INTERACTIVE
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import ExactIntegers, Integers
from deniable.numbers.rationals import whole_number
from deniable.rows import replaced, width

_MOST_COLUMNS = 2**24


def checked_part(name: str, mechanism: object) -> Mechanism:
    """Return a mechanism that gives its answer in one release."""
    if not isinstance(mechanism, Mechanism) or isinstance(mechanism, INTERACTIVE):
        raise InvalidParameterError(
            f"{name} must be a mechanism that releases its answer at once, got {type(mechanism).__name__}"
        )
    return mechanism


@dataclass(frozen=True, kw_only=True)
class Wrapper(Mechanism):
    """Base of mechanisms made of another one; a session cannot be wrapped."""

    base: Annotated[Mechanism, checked_part]


@dataclass(frozen=True, kw_only=True)
class SampledWrapper(Wrapper):
    """Base of mechanisms on the sum of the rows of a secret random sample.

    Each row is what one unit adds to the aggregate.

    So `base` takes sums: additive noise, a choice by scores, or a mixture, function or best of these. What takes
    records (medians, another sample) would see the sum as records, and its loss is not about that; a group is wrapped
    around the sample, since its members are not drawn together.

    Args:
        columns: how many numbers each row has; None where rows come as an array, whose shape says it.
    """

    columns: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.columns is not None:
            read_fields(self, columns=whole_number("columns", self.columns, lower=1, upper=_MOST_COLUMNS))
        if not self.base.takes_sums:
            raise InvalidParameterError(
                f"base must take sums, as a sample is summed, and {type(self.base).__name__} does not take sums. Take "
                "additive noise or a choice by scores, and put Grouped around the sample."
            )

    @abstractmethod
    def _samples(self, units: int, runs: int, bits: Bits) -> NDArray[np.bool_]:
        """Draw `runs` independent samples: a mask of shape (runs, units)."""

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[Any]:
        """Return a release of the mechanism about the sum over a secret sample.

        Args:
            exact: secret; one whole number, or one row of them, for each unit. A row that is something else counts as
                zeros, which have to be a row that the sensitivity admits.
            bits: leave it out, except in tests.

        Raises: InvalidParameterError for a list where `columns` is not declared: no row may tell the shape.
        """
        rows = self._rows(exact)
        return self.base.release(column_sums(rows[self._samples(len(rows), 1, bits)[0]]), bits=bits)

    def _rows(self, exact: ArrayLike) -> Integers:
        """Return the rows, of shape (units, columns)."""
        columns = self.columns or width(exact)
        if columns is None:
            raise InvalidParameterError(
                "exact is a list, and only its rows tell how many numbers each has, which must be public. Declare "
                f"{type(self).__name__}(columns=...), or give an array."
            )
        return replaced("exact", exact, by=0, columns=columns)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """Return outcomes of the mechanism on sums of fresh samples.

        Each unit has one number.
        """
        sums = self._samples(len(exact), runs, bits) @ np.array(exact, dtype=np.int64)
        kinds, counts = np.unique(sums, return_counts=True)
        parts = [
            self.base.outcomes((int(kind),), int(count), bits=bits) for kind, count in zip(kinds, counts, strict=True)
        ]
        return scattered(parts, sums)


def scattered(parts: list[NDArray[Any]], kinds: NDArray[Any]) -> NDArray[Any]:
    """Return the outcomes of all parts at the positions of their kinds.

    Parts come in the order of the kinds.
    """
    in_order: NDArray[Any] = np.concatenate(parts)
    result = np.empty_like(in_order)
    result[np.argsort(kinds, kind="stable")] = in_order
    return result


def room_for(outcomes: NDArray[Any]) -> np.dtype[Any]:
    """Return the type that holds these outcomes and NO_ANSWER, all unchanged."""
    return np.dtype(object) if outcomes.dtype == np.uint64 else np.result_type(outcomes.dtype, np.int64)


def column_sums(rows: ExactIntegers) -> ExactIntegers:
    """Return exact sums of columns, whatever their size.

    Of int64 the halves of 32 bits are summed apart.
    """
    if rows.dtype == object:
        return np.asarray(rows.sum(axis=0), dtype=object)
    high, low = (rows >> 32).sum(axis=0, dtype=np.int64), (rows & 0xFFFFFFFF).sum(axis=0, dtype=np.int64)
    exact = high.astype(object) * 2**32 + low.astype(object)
    limits = np.iinfo(np.int64)
    fits = all(limits.min <= value <= limits.max for value in exact)
    return exact.astype(np.int64) if fits else np.asarray(exact, dtype=object)

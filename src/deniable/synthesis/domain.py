"""Declared domains: the levels of each column of a table, from public facts alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats, Integers, MachineIntegers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

MAX_LEVELS = 100_000  # of one column: a table of that many counts is measured and published
MICROSECONDS_PER_DAY = 86_400_000_000
DAYS_TO_1970 = 719_163  # of the ordinal number of 1970-01-01, from which Arrow counts


@dataclass(frozen=True)
class Attribute(ABC):
    """Base class of columns with finitely many levels.

    The last level is a missing or undeclared value.

    Args:
        name: of the column.
        kind: Arrow's name of its type: bool, int64, float64, string, date32 or timestamp[us].
    """

    name: str
    kind: str

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of levels, that of missing values included."""

    @property
    @abstractmethod
    def ordered(self) -> bool:
        """Whether neighbouring levels, missing values aside, hold neighbouring values."""

    @abstractmethod
    def encode(self, column: pa.ChunkedArray) -> Integers:
        """Return the level of every row; each follows from the value of that row alone."""

    @abstractmethod
    def decode(self, levels: MachineIntegers, uniform: Floats) -> pa.Array:
        """Return a value of each level, drawn within bins by uniform numbers of (0, 1)."""

    @abstractmethod
    def shown(self, level: int) -> str:
        """Return the level for people."""

    @property
    def edge(self) -> Literal["lower"] | None:
        """Which end of a bin stands for it; None where levels are single values."""
        return None

    @cached_property
    def values(self) -> list[Any]:
        """The value of each level, or the lower end of its bin; None for the last."""
        levels = np.arange(self.size, dtype=np.int32)
        return list(self.decode(levels, np.zeros(self.size)).to_pylist())

    def to_json(self) -> list[Any]:
        """Return the attribute as data, which tells it from all others."""
        return [type(self).__name__, *(str(getattr(self, field.name)) for field in fields(self))]


@dataclass(frozen=True)
class Listed(Attribute):
    """A column with a declared list of values. Any other value is missing.

    Args:
        keys: the declared values, without None.
    """

    keys: tuple[Any, ...]

    @property
    def size(self) -> int:
        return len(self.keys) + 1

    @property
    def ordered(self) -> bool:
        return False  # keys are names, also where they are numbers

    def encode(self, column: pa.ChunkedArray) -> Integers:
        import pyarrow as pa
        import pyarrow.compute as pc

        index = pc.index_in(column, value_set=pa.array(self.keys, type=column.type))
        return np.asarray(pc.fill_null(index, len(self.keys)), dtype=np.int64)

    def decode(self, levels: MachineIntegers, uniform: Floats) -> pa.Array:
        import pyarrow as pa

        return pa.array([*self.keys, None], type=pa.type_for_alias(self.kind)).take(pa.array(levels))

    def shown(self, level: int) -> str:
        return "missing" if level == len(self.keys) else str(self.keys[level])


@dataclass(frozen=True)
class Binned(Attribute):
    """A column of numbers, days or moments in bins of equal width.

    Values beyond the bounds count at the nearest one.

    Args:
        lower, upper: public bounds; of days and moments, as ordinal numbers of days.
        bins: how many there are; whole numbers and days have at most one bin each.
    """

    lower: Fraction
    upper: Fraction
    bins: int

    @property
    def size(self) -> int:
        return self.bins + 1

    @property
    def ordered(self) -> bool:
        return True

    @property
    def edge(self) -> Literal["lower"] | None:
        return None if self._whole and self._span == self.bins else "lower"

    @property
    def _whole(self) -> bool:
        return self.kind in ("int64", "date32")

    @property
    def _span(self) -> float:
        """Width of all bins; whole numbers fill one unit each."""
        return float(self.upper - self.lower) + self._whole

    def encode(self, column: pa.ChunkedArray) -> Integers:
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.kind == "date32":
            column = pc.add(column.cast(pa.int32()).cast(pa.int64()), DAYS_TO_1970)
        elif self.kind == "timestamp[us]":
            microseconds = column.cast(pa.int64()).cast(pa.float64(), safe=False)  # any moment is a float, roughly
            column = pc.add(pc.divide(microseconds, MICROSECONDS_PER_DAY), DAYS_TO_1970)
        values = pc.fill_null(column.cast(pa.float64(), safe=False), np.nan).to_numpy()
        values = np.clip(values, float(self.lower), float(self.upper))
        share = (values - float(self.lower)) * self.bins / self._span  # in this order whole numbers stay whole
        levels = np.where(np.isnan(share), self.bins, np.minimum(np.floor(share), self.bins - 1))
        return levels.astype(np.int64)

    def decode(self, levels: MachineIntegers, uniform: Floats) -> pa.Array:
        import pyarrow as pa

        values = float(self.lower) + (np.minimum(levels, self.bins - 1) + uniform) * self._span / self.bins
        missing = levels == self.bins
        if self._whole:
            values = np.floor(values)
        values = np.clip(values, float(self.lower), float(self.upper))
        if self.kind == "date32":
            days = pa.array((values - DAYS_TO_1970).astype(np.int32), mask=missing)
            return days.cast(pa.date32())
        if self.kind == "timestamp[us]":
            moments = ((values - DAYS_TO_1970) * MICROSECONDS_PER_DAY).astype(np.int64)
            return pa.array(moments, mask=missing).cast(pa.timestamp("us"))
        return pa.array(values.astype(np.int64) if self.kind == "int64" else values, mask=missing)

    def shown(self, level: int) -> str:
        if level == self.bins:
            return "missing"
        width = self._span / self.bins
        start, end = (float(self.lower) + each * width for each in (level, level + 1))
        if self.kind in ("date32", "timestamp[us]"):
            return str(np.datetime64(int(start) - DAYS_TO_1970, "D"))
        return f"{start:g}" if self._whole and width == 1 else f"{start:g} to {end:g}"


@dataclass(frozen=True)
class DeclaredDomain:
    """The attributes of a table, in the order of its columns.

    Supported operations: `len`, iteration, `sizes`, `encode`.

    Raises: InvalidParameterError without attributes, with equal names, or with too many levels.
    """

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        names = self.names
        if not names or len(set(names)) < len(names):
            raise InvalidParameterError(f"a domain needs columns with different names, got {list(names)}.")
        for attribute in self.attributes:
            if attribute.size > MAX_LEVELS:
                raise InvalidParameterError(
                    f"{attribute.name} has {attribute.size:,} levels, more than {MAX_LEVELS:,}. Leave the column out, "
                    "or declare coarser keys."
                )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each column."""
        return tuple(attribute.size for attribute in self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def encode(self, columns: Sequence[pa.ChunkedArray]) -> MachineIntegers:
        """Return the levels of all rows, of shape (attributes, rows). SECRET."""
        pairs = zip(self.attributes, columns, strict=True)
        return np.stack([attribute.encode(column).astype(np.int32) for attribute, column in pairs])

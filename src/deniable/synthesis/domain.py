"""Declared domains: the levels of each column of a table, from public facts alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

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
        return None if self._counts and bool((np.diff(self.edges) == 1).all()) else "lower"

    @property
    def _counts(self) -> bool:
        """Whether values are whole numbers or days, of which each fills one unit."""
        return self.kind in ("int64", "date32")

    @cached_property
    def edges(self) -> NDArray[Any]:
        """Lower ends of the bins, and the end of the last, in the column's unit.

        Days and microseconds since 1970, for dates and moments. Those of whole numbers are whole, so a bin holds the
        numbers from its end to the next one, without that.
        """
        if self.kind == "float64":
            width = (self.upper - self.lower) / self.bins
            return np.array([float(self.lower + index * width) for index in range(self.bins + 1)])
        lower, upper = self.lower, self.upper
        if self.kind != "int64":
            lower, upper = (bound - DAYS_TO_1970 for bound in (lower, upper))
        if self.kind == "timestamp[us]":
            lower, upper = (bound * MICROSECONDS_PER_DAY for bound in (lower, upper))
        width = (upper - lower + self._counts) / self.bins
        ends = [ceil(lower + index * width) for index in range(self.bins + 1)]
        return np.array([min(max(end, -(2**63)), 2**63 - 1) for end in ends], dtype=np.int64)

    def encode(self, column: pa.ChunkedArray) -> Integers:
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.kind == "date32":
            column = column.cast(pa.int32())
        if self.kind != "float64" and (self.kind != "int64" or pa.types.is_signed_integer(column.type)):
            values = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
            missing = np.asarray(column.is_null())
        else:
            values = pc.fill_null(column.cast(pa.float64(), safe=False), np.nan).to_numpy()
            missing = np.isnan(values)
        levels = np.searchsorted(self.edges, values, side="right") - 1
        return np.where(missing, self.bins, np.clip(levels, 0, self.bins - 1)).astype(np.int64)

    def decode(self, levels: MachineIntegers, uniform: Floats) -> pa.Array:
        import pyarrow as pa

        inside = np.minimum(levels, self.bins - 1)
        starts, missing = self.edges[inside], levels == self.bins
        if self.kind == "float64":
            values = starts + (self.edges[inside + 1] - starts) * uniform
            return pa.array(np.clip(values, float(self.lower), float(self.upper)), mask=missing)
        widths = self.edges[inside + 1] - starts
        whole = starts + np.minimum(np.floor(widths * uniform).astype(np.int64), np.maximum(widths - 1, 0))
        if self.kind == "date32":
            return pa.array(whole.astype(np.int32), mask=missing).cast(pa.date32())
        drawn = pa.array(whole, mask=missing)
        return drawn if self.kind == "int64" else drawn.cast(pa.timestamp("us"))

    def shown(self, level: int) -> str:
        if level == self.bins:
            return "missing"
        start, end = self.edges[level], self.edges[level + 1]
        if self.kind == "timestamp[us]":
            return str(np.datetime64(int(start), "us").astype("datetime64[s]"))
        if self.kind == "float64":
            return f"{start:g} to {end:g}"
        ends = [start] if end - start == 1 else [start, end - 1]
        return " to ".join(str(np.datetime64(int(each), "D") if self.kind == "date32" else each) for each in ends)


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

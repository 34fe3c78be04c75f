"""Reading of the original, the synthetic table and the control with common codes."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.attacks.chunks import stretches
from deniable.attacks.frames import Kind, Names, as_frame, read_columns, read_names
from deniable.attacks.numbers import Floats
from deniable.errors import InvalidParameterError

_MAX_CELLS = 4_000_000  # of a distance matrix held at once


@dataclass(frozen=True, kw_only=True)
class CodedTable:
    """Table whose rows are numbers.

    Args:
        names: of the columns.
        kinds: of the columns.
        rows: shape (rows, columns): numbers, microseconds since 1970, or codes of labels that all tables share. A
            missing number or time is NaN, a missing label has a code of its own.
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    rows: Floats

    def __len__(self) -> int:
        return len(self.rows)

    def indices(self, names: Names) -> list[int]:
        """Return the indices of columns."""
        names = read_names(names, role="the attack")
        if unknown := [name for name in names if name not in self.names]:
            raise InvalidParameterError(f"there is no column {unknown[0]!r}. The columns are {', '.join(self.names)}")
        return [self.names.index(name) for name in names]

    def draw(self, count: int, dice: np.random.Generator) -> "CodedTable":
        """Draw some rows, each at most once."""
        return replace(self, rows=self.rows[dice.permutation(len(self))[:count]])


def read_tables(original: Any, synthetic: Any, control: Any) -> tuple[CodedTable, CodedTable, CodedTable]:
    """Read three frames of pandas, Polars or Arrow by the columns of the second.

    Raises: InvalidParameterError for another object than a frame, an empty one, a missing column, a column of numbers
        that is one of labels elsewhere, or infinity.
    """
    frames = [as_frame(one) for one in (original, synthetic, control)]
    columns = read_columns(frames[1].columns, *frames, role="the synthetic table")
    rows = np.column_stack([column.numbers for column in columns])
    if np.isinf(rows).any():
        raise InvalidParameterError("columns must not hold infinity. Replace it, or leave the column out")
    names = tuple(column.name for column in columns)
    kinds = tuple(column.kind for column in columns)
    parts = np.split(rows, np.cumsum([len(frame) for frame in frames])[:-1])
    first, second, third = (CodedTable(names=names, kinds=kinds, rows=part) for part in parts)
    return first, second, third


def nearest(targets: CodedTable, pool: CodedTable, columns: list[int]) -> NDArray[np.intp]:
    """Return the row of the pool nearest to each target, by Gower's distance.

    It is the mean over columns; ties take the first row. A number or time adds its difference over the pool's range, at
    most 1; a label adds 1 where it differs; a missing value is 0 from another and 1 from all else. Source: Gower
    (1971).

    Args:
        targets: rows whose neighbours are searched.
        pool: rows to search in.
        columns: indices of the columns that are compared.

    Returns: shape (targets,).
    """
    rows = np.empty(len(targets), dtype=np.intp)
    for start, stop in stretches(np.full(len(targets), len(pool)), _MAX_CELLS):
        far = np.zeros((stop - start, len(pool)))
        for column in columns:
            far += _apart(targets.rows[start:stop, column], pool.rows[:, column], targets.kinds[column])
        rows[start:stop] = np.round(far, 12).argmin(axis=1)  # equal sums stay equal in another order of columns
    return rows


def _apart(targets: Floats, pool: Floats, kind: Kind) -> NDArray[Any]:
    """Return the distances of one column, shape (targets, pool)."""
    if kind == "label":
        return np.not_equal.outer(targets, pool)
    known = pool[~np.isnan(pool)]
    span = np.ptp(known) if len(known) else 0.0
    apart = np.abs(np.subtract.outer(targets, pool))
    apart = np.minimum(apart / span, 1) if span > 0 else np.where(np.isnan(apart), np.nan, apart > 0)
    return np.where(np.isnan(apart), ~np.logical_and.outer(np.isnan(targets), np.isnan(pool)), apart)

"""Singling out: predicates that hold for exactly one row of the original."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.attacks.chunks import stretches
from deniable.attacks.numbers import Floats, start_dice, whole
from deniable.attacks.result import AttackResult
from deniable.attacks.synthetic.risk import judge
from deniable.attacks.synthetic.tables import CodedTable, read_tables
from deniable.errors import InvalidParameterError

_MAX_CELLS = 4_000_000  # of a table of matches held at once
_MAX_ROUNDS = 40  # of draws of conjunctions, until there are enough


@dataclass(frozen=True, kw_only=True)
class Predicates:
    """Conjunctions of comparisons.

    Args:
        columns: shape (predicates, comparisons): indices of columns.
        signs: likewise: -1 for "at most", 0 for "equals", 1 for "at least".
        values: likewise; NaN equals a missing value.
    """

    columns: NDArray[np.intp]
    signs: NDArray[np.intp]
    values: Floats

    def __len__(self) -> int:
        return len(self.columns)

    def take(self, kept: NDArray[Any]) -> "Predicates":
        """Return some of the predicates."""
        return Predicates(columns=self.columns[kept], signs=self.signs[kept], values=self.values[kept])

    def count(self, table: CodedTable) -> NDArray[np.intp]:
        """Count the rows that each predicate holds for, shape (predicates,)."""
        counts = np.zeros(len(self), dtype=np.intp)
        for start, stop in stretches(np.full(len(self), len(table)), _MAX_CELLS):
            part = self.take(np.arange(start, stop))
            held = np.ones((len(part), len(table)), dtype=bool)
            for turn in range(self.columns.shape[1]):
                for column in np.unique(part.columns[:, turn]):
                    chosen = np.flatnonzero(part.columns[:, turn] == column)
                    held[chosen] &= _holds(part.signs[chosen, turn], part.values[chosen, turn], table.rows[:, column])
            counts[start:stop] = held.sum(axis=1)
        return counts


def _holds(signs: NDArray[np.intp], values: Floats, column: Floats) -> NDArray[np.bool_]:
    """Return whether each comparison holds for each row, shape (comparisons, rows)."""
    sign = signs[:, None]
    value = values[:, None]
    held = np.where(sign < 0, column <= value, np.where(sign > 0, column >= value, column == value))
    return np.asarray(held | (np.isnan(value) & np.isnan(column)))


def single_out(
    original: Any,
    synthetic: Any,
    control: Any,
    *,
    columns: int = 1,
    attacks: int = 500,
    seed: int = 0,
) -> AttackResult:
    """Single out people by predicates that hold for exactly one synthetic row.

    With one column: values that occur once, the smallest and the largest number or time, a single missing value. With
    more: a random synthetic row's values in random columns, numbers and times "at least" from the median up and "at
    most" below. As whether a predicate singles out depends on the number of rows, original and control are cut at
    random to equal length. There are fewer attempts if there are fewer predicates.

    Args:
        original, synthetic, control, seed: as for `link_halves`.
        columns: number of comparisons in one predicate.
        attacks: largest number of predicates.

    Raises: InvalidParameterError for tables that do not fit, or if no predicate singles out a synthetic row.
    Source: Giomi, Boenisch, Wehmeyer, Tasnadi (2023), arXiv:2211.10459.

    >>> import polars as pl
    >>> people, others = pl.DataFrame({"age": range(50)}), pl.DataFrame({"age": [50] * 50})
    >>> single_out(people, people, others).success.value
    1.0
    """
    tables = read_tables(original, synthetic, control)
    width = len(tables[1].names)
    whole("columns", columns, upper=width)
    whole("attacks", attacks)
    dice = start_dice(seed)
    predicates = _alone(tables[1]) if columns == 1 else _conjunctions(tables[1], columns, attacks, dice)
    if not len(predicates):
        raise InvalidParameterError("no predicate singles out one synthetic row. Try more columns")
    predicates = predicates.take(dice.permutation(len(predicates))[:attacks])
    rows = min(len(tables[0]), len(tables[2]))
    inside, outside = (predicates.count(table.draw(rows, dice)) == 1 for table in (tables[0], tables[2]))
    return judge(
        f"Singling out by {columns} column{'s' if columns > 1 else ''}",
        "predicate that holds for one person alone",
        right=inside,
        control=outside,
        # The best that a blind predicate can do has weight 1/rows: (1 - 1/rows)^(rows - 1), 37% for many rows. The
        # control measures what these predicates do.
        chance=0.0,
    )


def _alone(table: CodedTable) -> Predicates:
    """Return predicates of values that occur once.

    The smallest and the largest number or time are "at most" and "at least".
    """
    parts = []
    for column, kind in enumerate(table.kinds):
        every, counts = np.unique(table.rows[:, column], return_counts=True)  # NaN once, at the end
        alone = every[counts == 1]
        known = every[~np.isnan(every)]
        ends = np.isin(alone, known[-1:]) * 1.0 - np.isin(alone, known[:1])
        parts.append(np.stack([np.full(len(alone), column), ends * (kind != "label"), alone]))
    columns, signs, values = np.concatenate(parts, axis=1)[:, :, None]
    predicates = Predicates(columns=columns.astype(np.intp), signs=signs.astype(np.intp), values=values)
    return predicates.take(predicates.count(table) == 1)


def _conjunctions(table: CodedTable, columns: int, attacks: int, dice: np.random.Generator) -> Predicates:
    """Draw different conjunctions that single out one row, until there are enough."""
    ordered = np.array([kind != "label" for kind in table.kinds])
    middle = np.array([np.nanmedian(column) if not np.isnan(column).all() else 0.0 for column in table.rows.T])
    kept = np.empty((0, 3 * columns))
    for _ in range(_MAX_ROUNDS):
        rows = dice.integers(len(table), size=attacks)
        drawn_columns = np.sort(dice.random((attacks, len(table.names))).argsort(axis=1)[:, :columns], axis=1)
        values = table.rows[rows[:, None], drawn_columns]
        signs = np.where(
            ordered[drawn_columns] & ~np.isnan(values), np.where(values >= middle[drawn_columns], 1, -1), 0
        )
        alone = Predicates(columns=drawn_columns, signs=signs, values=values).count(table) == 1
        # infinity stands for a missing value, since NaN differs from itself
        drawn = np.concatenate([drawn_columns, signs, np.nan_to_num(values, nan=np.inf)], axis=1)[alone]
        kept = np.unique(np.concatenate([kept, drawn]), axis=0)
        if len(kept) >= attacks:
            break
    kept_columns, kept_signs = (part.astype(np.intp) for part in np.split(kept[:, : 2 * columns], 2, axis=1))
    kept_values = np.where(np.isinf(kept[:, -columns:]), np.nan, kept[:, -columns:])
    return Predicates(columns=kept_columns, signs=kept_signs, values=kept_values)

"""Singling out: a predicate learned from the synthetic table that holds for exactly one row of the original."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.attacks.chunks import stretches
from deniable.attacks.numbers import Floats, start_dice, whole
from deniable.attacks.result import AttackResult
from deniable.attacks.synthetic.risk import judge
from deniable.attacks.synthetic.tables import Table, read_tables
from deniable.errors import InvalidParameterError

_CELLS = 4_000_000  # of a table of matches held at once
_ROUNDS = 40  # conjunctions drawn for each that is wanted


@dataclass(frozen=True, kw_only=True)
class Predicates:
    """Conjunctions of comparisons.

    Args:
        places: shape (predicates, comparisons), columns.
        signs: likewise: -1 for "at most", 0 for "equals", 1 for "at least".
        values: likewise; NaN equals a missing value.
    """

    places: NDArray[np.intp]
    signs: NDArray[np.intp]
    values: Floats

    def __len__(self) -> int:
        return len(self.places)

    def take(self, kept: NDArray[Any]) -> "Predicates":
        """Some of the predicates."""
        return Predicates(places=self.places[kept], signs=self.signs[kept], values=self.values[kept])

    def count(self, table: Table) -> NDArray[np.intp]:
        """Rows of the table that each predicate holds for, shape (predicates,)."""
        counts = np.zeros(len(self), dtype=np.intp)
        for start, stop in stretches(np.full(len(self), len(table)), _CELLS):
            part = self.take(np.arange(start, stop))
            held = np.ones((len(part), len(table)), dtype=bool)
            for turn in range(self.places.shape[1]):
                for place in np.unique(part.places[:, turn]):
                    chosen = np.flatnonzero(part.places[:, turn] == place)
                    held[chosen] &= _holds(part.signs[chosen, turn], part.values[chosen, turn], table.rows[:, place])
            counts[start:stop] = held.sum(axis=1)
        return counts


def _holds(signs: NDArray[np.intp], values: Floats, column: Floats) -> NDArray[np.bool_]:
    sign, value = signs[:, None], values[:, None]
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
    """Single out people of the original by predicates that hold for exactly one synthetic row.

    With one column: values that occur once, the smallest and the largest number or time, a single missing value. With
    more: a random synthetic row's values in random columns, numbers and times "at least" from the median up and "at
    most" below. As whether a predicate singles out depends on the number of rows, original and control are cut at
    random to equal length. Attempts are the predicates that were found, if fewer than asked.

    Args:
        original, synthetic, control, seed: as for `link_halves`.
        columns: comparisons in one predicate.
        attacks: predicates at most.

    Raises: InvalidParameterError for tables that do not fit, or if no predicate singles out a synthetic row.
    Source: Giomi, Boenisch, Wehmeyer, Tasnadi (2023), arXiv:2211.10459.

    >>> import polars as pl
    >>> people, others = pl.DataFrame({"age": range(50)}), pl.DataFrame({"age": [50] * 50})
    >>> single_out(people, people, others).success.value
    1.0
    """
    tables = read_tables(original, synthetic, control)
    width = len(tables[1].names)
    whole("columns", columns, upper=width), whole("attacks", attacks)
    dice = start_dice(seed)
    found = _alone(tables[1]) if columns == 1 else _conjunctions(tables[1], columns, attacks, dice)
    if not len(found):
        raise InvalidParameterError("no predicate singles out one synthetic row. Try more columns")
    found = found.take(dice.permutation(len(found))[:attacks])
    rows = min(len(tables[0]), len(tables[2]))
    inside, outside = (found.count(table.draw(rows, dice)) == 1 for table in (tables[0], tables[2]))
    return judge(
        f"Singling out by {columns} column{'s' if columns > 1 else ''}",
        "predicate that holds for one person alone",
        right=inside,
        control=outside,
        # The best that a blind predicate can do has weight 1/rows: (1 - 1/rows)^(rows - 1), 37% for many rows. The
        # control measures what these predicates do.
        chance=0.0,
    )


def _alone(table: Table) -> Predicates:
    """Values that occur once; the smallest and the largest number or time as "at most" and "at least"."""
    parts = []
    for place, kind in enumerate(table.kinds):
        every, counts = np.unique(table.rows[:, place], return_counts=True)  # NaN once, at the end
        alone, known = every[counts == 1], every[~np.isnan(every)]
        ends = np.isin(alone, known[-1:]) * 1.0 - np.isin(alone, known[:1])
        parts.append(np.stack([np.full(len(alone), place), ends * (kind != "label"), alone]))
    places, signs, values = np.concatenate(parts, axis=1)[:, :, None]
    found = Predicates(places=places.astype(np.intp), signs=signs.astype(np.intp), values=values)
    return found.take(found.count(table) == 1)


def _conjunctions(table: Table, columns: int, attacks: int, dice: np.random.Generator) -> Predicates:
    """Different conjunctions that single out one row, drawn in rounds until there are enough."""
    ordered = np.array([kind != "label" for kind in table.kinds])
    middle = np.array([np.nanmedian(column) if not np.isnan(column).all() else 0.0 for column in table.rows.T])
    kept = np.empty((0, 3 * columns))
    for _ in range(_ROUNDS):
        rows = dice.integers(len(table), size=attacks)
        places = np.sort(dice.random((attacks, len(table.names))).argsort(axis=1)[:, :columns], axis=1)
        values = table.rows[rows[:, None], places]
        signs = np.where(ordered[places] & ~np.isnan(values), np.where(values >= middle[places], 1, -1), 0)
        alone = Predicates(places=places, signs=signs, values=values).count(table) == 1
        # infinity stands for a missing value, since NaN differs from itself
        drawn = np.concatenate([places, signs, np.nan_to_num(values, nan=np.inf)], axis=1)[alone]
        kept = np.unique(np.concatenate([kept, drawn]), axis=0)
        if len(kept) >= attacks:
            break
    places, signs = (part.astype(np.intp) for part in np.split(kept[:, : 2 * columns], 2, axis=1))
    return Predicates(
        places=places, signs=signs, values=np.where(np.isinf(kept[:, -columns:]), np.nan, kept[:, -columns:])
    )

"""Public numbers as people state them: tables of counts, read into constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Integers
from deniable.numbers.rationals import shown, whole_number
from deniable.synthesis.hierarchy.cells import CountedCells
from deniable.synthesis.hierarchy.constraints import MAX_COUNT, Constraints
from deniable.synthesis.hierarchy.geography import Geography

COUNT = "count"


def read_constraints(
    geography: Geography, cells: CountedCells, *, invariants: object = None, at_least: object = None
) -> Constraints:
    """Return the constraints that tables of public numbers state.

    Args:
        geography: the tree of units.
        cells: the columns that are counted.
        invariants: a table, or a list of them: the columns of some levels, from the first on, and `count`, the total of
            each unit that is held. Without a level it is the total of all.
        at_least: likewise, with the least total of each unit; or, with all counted columns, of each of its cells.

    Raises: InvalidParameterError for other columns, unknown units or keys, and constraints that contradict each other.
    """
    totals: dict[int, Integers] = {}
    minima: dict[int, Integers] = {}
    minimum_totals: dict[int, Integers] = {}
    for stated in _tables("invariants", invariants):
        level, units, by_cell, counts = _read("invariants", stated, geography, cells)
        if by_cell is not None:
            raise InvalidParameterError("invariants hold totals of units: leave the counted columns out.")
        held = totals.setdefault(level, np.full(geography.sizes[level], -1, dtype=np.int64))
        held[units] = counts
    for stated in _tables("at_least", at_least):
        level, units, by_cell, counts = _read("at_least", stated, geography, cells)
        if by_cell is None:
            lower = minimum_totals.setdefault(level, np.zeros(geography.sizes[level], dtype=np.int64))
            lower[units] = np.maximum(lower[units], counts)
        else:
            lower = minima.setdefault(level, np.zeros((geography.sizes[level], cells.size), dtype=np.int64))
            lower[units, by_cell] = np.maximum(lower[units, by_cell], counts)
    return Constraints(geography, cells, totals, minima, minimum_totals)


def _tables(word: str, given: object) -> list[Mapping[str, list[Any]]]:
    """Return each table as lists by column."""
    if given is None:
        return []
    several = given if isinstance(given, list | tuple) else [given]
    return [_lists(word, each) for each in several]


def _lists(word: str, table: Any) -> Mapping[str, list[Any]]:
    if not isinstance(table, Mapping):
        import narwhals as nw

        try:
            table = nw.from_native(table, eager_only=True).to_dict(as_series=False)
        except TypeError:
            raise InvalidParameterError(
                f'{word} is a table such as {{"region": ["north"], "count": [120]}} or a frame, got {shown(table)}.'
            ) from None
    lists = {name: list(values) for name, values in table.items()}
    if COUNT not in lists or len({len(values) for values in lists.values()}) != 1:
        raise InvalidParameterError(f"{word} needs the column {COUNT!r}, and columns of one length.")
    return lists


def _read(
    word: str, table: Mapping[str, Sequence[Any]], geography: Geography, cells: CountedCells
) -> tuple[int, list[int], list[int] | None, list[int]]:
    """Return the level of a table, and the units, cells and counts of its rows.

    Without cells, numbers are totals of units.
    """
    names = set(table) - {COUNT}
    level = sum(name in names for name in geography.levels)
    left = names - set(geography.levels[:level])
    if left not in (set(), set(cells.names)):
        raise InvalidParameterError(
            f"{word} has the columns {sorted(names)}; it takes levels from {geography.levels[0]!r} on"
            + (f", and {', '.join(cells.names)} together or not at all." if cells.names else ".")
        )
    known = _by_text({path: index for index, path in enumerate(geography.names_of(level))})
    rows = len(table[COUNT])
    paths = list(zip(*(table[name] for name in geography.levels[:level]), strict=True)) if level else [()] * rows
    cell_of = _by_text(
        {keys: index for index, keys in enumerate(zip(*cells.keys_of(cells.whole).values(), strict=True))}
    )
    in_cells = list(zip(*(table[name] for name in cells.names), strict=True)) if left else None
    _check_known(word, "unit", paths, known)
    if in_cells is not None:
        _check_known(word, "cell", in_cells, cell_of)
    pairs = list(zip(paths, in_cells, strict=True)) if in_cells is not None else paths
    if len(set(pairs)) < len(pairs):
        raise InvalidParameterError(f"{word} states a number twice for one unit.")
    counts = [whole_number(COUNT, count, lower=0, upper=MAX_COUNT) for count in table[COUNT]]
    by_cell = None if in_cells is None else [cell_of[keys] for keys in in_cells]
    return level, [known[path] for path in paths], by_cell, counts


def _by_text(known: dict[tuple[Any, ...], int]) -> dict[tuple[Any, ...], int]:
    """Return indices of units or cells by their keys, and by the texts of these.

    Text files have only texts.
    """
    return {tuple(map(str, keys)): index for keys, index in known.items()} | known


def _check_known(word: str, noun: str, given: Sequence[tuple[Any, ...]], known: Mapping[tuple[Any, ...], int]) -> None:
    for each in given:
        if each not in known:
            raise InvalidParameterError(f"{word} names the {noun} {'/'.join(map(str, each))}, which is not declared.")

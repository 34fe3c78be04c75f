"""Frames of every library read alike, and neighbours by brute force."""

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable.attacks.synthetic import tables
from deniable.attacks.synthetic.tables import CodedTable, nearest, read_tables
from deniable.errors import InvalidParameterError

COLUMNS: dict[str, list[Any]] = {
    "age": [31, None, 40],
    "pay": [1.5, -2.0, None],
    "town": ["a", None, "nan"],
    "born": [datetime(1970, 1, 2), None, datetime(1999, 5, 5)],
    "member": [True, False, None],
}


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table], ids=["polars", "pandas", "arrow"])
def test_every_library_gives_the_same_numbers(make: Any) -> None:
    frame = make(COLUMNS)
    first, second, _ = read_tables(frame, pl.DataFrame(COLUMNS), frame)
    assert first.kinds == ("number", "number", "label", "time", "label")
    assert np.array_equal(first.rows, second.rows, equal_nan=True)
    assert first.rows[0, 3] == 86_400e6
    assert len(np.unique(first.rows[:, 2])) == 3  # a missing town is not the town "nan"


def test_dates_and_times_are_one_kind() -> None:
    day, moment = pl.DataFrame({"t": [date(2020, 1, 1)]}), pl.DataFrame({"t": [datetime(2020, 1, 1)]})
    first, second, _ = read_tables(day, moment, day)
    assert first.rows == second.rows


def test_a_moment_is_the_same_in_every_zone() -> None:
    berlin = pd.DataFrame({"t": pd.to_datetime(["2020-01-01 01:00", None]).tz_localize("Europe/Berlin")})
    utc = pl.DataFrame({"t": [datetime(2020, 1, 1, tzinfo=UTC), None]})
    first, second, _ = read_tables(berlin, utc, berlin)
    assert np.array_equal(first.rows, second.rows, equal_nan=True)


ONE = pl.DataFrame({"x": [1.0]})


@pytest.mark.parametrize(
    ("control", "message"),
    [
        (pl.DataFrame({"y": [1]}), "the synthetic table names no column of the table: x"),
        (pl.DataFrame({"x": ["a"]}), "one kind in all tables, got label, number"),
        (pl.DataFrame({"x": [np.inf]}), "infinity"),
        (ONE.head(0), "at least one row"),
    ],
)
def test_tables_that_do_not_fit_are_refused(control: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        read_tables(ONE, ONE, control)


def test_a_column_without_values_fits_any_kind() -> None:
    empty = pl.DataFrame({"x": [None]}, schema={"x": pl.String})
    first, _, third = read_tables(ONE, ONE, empty)
    assert (first.kinds, third.rows[0, 0]) == (("number",), pytest.approx(np.nan, nan_ok=True))


def test_neighbours_are_those_of_a_double_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_MAX_CELLS", 100)  # several blocks
    dice = np.random.default_rng(3)
    rows = np.column_stack([dice.normal(size=80), dice.integers(0, 3, 80), dice.integers(0, 4, 80)]).astype(float)
    rows[dice.random(80) < 0.2, 0] = np.nan
    people, pool = (CodedTable(names=("n", "l", "t"), kinds=("number", "label", "time"), rows=one)
                    for one in (rows[:30], rows[30:]))  # fmt: skip
    spans = [np.nanmax(pool.rows[:, place]) - np.nanmin(pool.rows[:, place]) for place in range(3)]

    def far(a: Any, b: Any) -> float:
        total = float(a[1] != b[1])
        for place in (0, 2):
            if np.isnan(a[place]) or np.isnan(b[place]):
                total += np.isnan(a[place]) != np.isnan(b[place])
            else:
                total += min(1, abs(a[place] - b[place]) / spans[place])
        return round(total, 12)

    expected = [min(range(50), key=lambda k: (far(one, pool.rows[k]), k)) for one in people.rows]
    assert np.array_equal(nearest(people, pool, [0, 1, 2]), expected)


def test_a_constant_column_counts_as_equal_or_not() -> None:
    people, pool = (CodedTable(names=("n",), kinds=("number",), rows=np.array(rows)) for rows in
                    ([[5.0], [7.0], [np.nan]], [[5.0], [np.nan], [5.0]]))  # fmt: skip
    assert nearest(people, pool, [0]).tolist() == [0, 0, 1]


def test_equal_distances_are_ties_whatever_the_order_of_addition() -> None:
    """Twin: 0.1 + 0.2 + 0.3 differs from 0.3 + 0.2 + 0.1 in floats, and the later row would win."""
    assert 0.1 + 0.2 + 0.3 > 0.3 + 0.2 + 0.1
    people, pool = (CodedTable(names=("a", "b", "c"), kinds=("number",) * 3, rows=np.array(rows)) for rows in
                    ([[0.0] * 3], [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]))  # fmt: skip
    assert nearest(people, pool, [0, 1, 2])[0] == 0

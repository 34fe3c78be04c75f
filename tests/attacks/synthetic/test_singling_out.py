"""Singling out: predicates by brute force, copies, fresh rows, and tables from our own mechanism."""

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from deniable.attacks import single_out
from deniable.attacks.synthetic import singling_out
from deniable.attacks.synthetic.singling_out import Predicates
from deniable.attacks.synthetic.tables import CodedTable
from deniable.errors import InvalidParameterError

DICE = np.random.default_rng(14)


def people(count: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "pay": DICE.normal(0, 100, count),
            "age": DICE.integers(0, 90, count),
            "town": DICE.choice(list("abcdefgh"), count),
            "seen": [datetime(2020, 1, 1) + timedelta(minutes=int(m)) for m in DICE.integers(0, 10**6, count)],
        }
    )


ORIGINAL, CONTROL, FRESH = people(400), people(300), people(400)


@pytest.mark.parametrize("columns", [1, 3])
def test_a_copy_singles_people_out_and_fresh_rows_do_not(columns: int) -> None:
    copied, fresh = (single_out(ORIGINAL, one, CONTROL, columns=columns, attacks=300) for one in (ORIGINAL, FRESH))
    assert copied.succeeded
    assert not fresh.succeeded


def test_rows_are_cut_to_equal_length() -> None:
    """Twin: predicates that pick one row in 400 hold alone less often among 4,000, and the control would look worse."""
    many = people(4000)
    result = single_out(ORIGINAL, FRESH, many, columns=3)
    assert not result.succeeded
    result = single_out(many, FRESH, ORIGINAL, columns=3)
    assert not result.succeeded
    assert result.facts is not None
    assert float(str(result.facts["success on the original"]).split("%")[0]) > 20


def test_attempts_are_the_predicates_that_were_found() -> None:
    few = pl.DataFrame({"x": [1, 1, 2, 3, 3]})
    assert single_out(few, few, few, attacks=500).success.attempts == 1
    assert single_out(ORIGINAL, ORIGINAL, CONTROL, columns=3, attacks=120).success.attempts == 120


def test_a_predicate_on_a_missing_value_counts_once() -> None:
    table = pl.DataFrame({"x": [None, 1.0, 1.0, 2.0, 2.0], "y": ["a", "b", "b", "c", "c"]})
    assert single_out(table, table, table, columns=2, attacks=50).success.attempts == 1


def test_times_take_part() -> None:
    times = ORIGINAL.select("seen")
    assert single_out(times, times, CONTROL).success.value > 0.7


@pytest.mark.parametrize("cells", [50, 10**6])
def test_predicates_count_as_a_double_loop_does(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(singling_out, "_MAX_CELLS", cells)
    rows = DICE.integers(0, 5, (30, 3)).astype(float)
    rows[::7, 1] = np.nan
    table = CodedTable(names=("a", "b", "c"), kinds=("number",) * 3, rows=rows)
    places, signs = DICE.integers(0, 3, (40, 2)), DICE.integers(-1, 2, (40, 2))
    values = DICE.integers(0, 5, (40, 2)).astype(float)
    values[::9, 0], signs[::9, 0] = np.nan, 0

    def holds(sign: int, value: float, entry: float) -> bool:
        if np.isnan(value):
            return bool(np.isnan(entry))
        return bool({-1: entry <= value, 0: entry == value, 1: entry >= value}[sign])

    counts = [
        sum(all(holds(s, v, row[p]) for p, s, v in zip(*one, strict=True)) for row in rows)
        for one in zip(places, signs, values, strict=True)
    ]
    assert Predicates(columns=places, signs=signs, values=values).count(table).tolist() == counts


@pytest.mark.parametrize(
    ("change", "message"), [({"columns": 5}, r"columns must be in 1\.\.4"), ({"attacks": 0}, "attacks must be >= 1")]
)
def test_bad_settings_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        single_out(ORIGINAL, FRESH, CONTROL, **change)


def test_a_table_where_nothing_is_alone_is_refused() -> None:
    twice = pl.DataFrame({"x": ["a", "a", None, None]})
    with pytest.raises(InvalidParameterError, match="no predicate singles out"):
        single_out(twice, twice, twice)

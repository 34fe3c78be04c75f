"""What an attacker sees of each target, beside plain Python."""

from collections import Counter

import polars as pl
import pytest

from deniable.attacks.anonymity.view import see
from deniable.errors import InvalidParameterError
from tests.attacks.anonymity.plain import tables

NAMED = {"quasi": ["a", "b"], "sensitive": "c"}


def test_rows_and_their_table_of_counts_show_the_same() -> None:
    for rows in tables(7, 25):
        frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row")
        table = frame.group_by("a", "b", "c").len("count").reverse()
        by_rows, by_table = see(frame, **NAMED), see(table, **NAMED, people=frame, count="count")
        for view in (by_rows, by_table):
            for (*quasi, _), cell in zip(rows, view.cell, strict=True):
                counts = view.counts.toarray()[cell].tolist()
                seen = {value: count for value, count in zip(view.values, counts, strict=True) if count}
                assert seen == Counter(row[-1] for row in rows if list(row[:2]) == quasi)


def test_knowing_all_others_is_guessing_from_the_class_without_the_own_row() -> None:
    for rows in tables(8, 40):
        right, everybody = 0, Counter(row[-1] for row in rows)
        for place, (*quasi, secret) in enumerate(rows):
            others = Counter(r[-1] for at, r in enumerate(rows) if at != place and list(r[:2]) == quasi)
            ranking = others or everybody
            right += min(ranking, key=lambda value: (-ranking[value], value)) == secret
        frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row")
        assert see(frame, **NAMED).from_others == pytest.approx(right / len(rows))


def test_what_is_not_shown_or_negative_or_unknown_counts_as_nothing() -> None:
    people = pl.DataFrame({"a": [1, 2, 3], "c": ["x", "y", "x"]})
    noisy = pl.DataFrame({"a": [1, 1, 2, 9], "c": ["x", "z", "y", "x"], "count": [2.5, 1.0, -4.0, 7.0]})
    view = see(noisy, quasi="a", sensitive="c", people=people, count="count")
    assert view.counts.toarray()[view.cell].tolist() == [[2.5, 0, 1], [0, 0, 0], [0, 0, 0]]
    rows = see(noisy.drop("count"), quasi="a", sensitive="c", people=people)
    assert rows.counts.toarray()[rows.cell].tolist() == [[1, 0, 1], [0, 1, 0], [0, 0, 0]]
    assert see(noisy.clear(), quasi="a", sensitive="c", people=people, count="count").held.tolist() == [0, 0, 0]


def test_a_cell_of_nobody_is_not_taken_for_another() -> None:
    people = pl.DataFrame({"a": [1, 2], "b": ["y", "x"], "c": ["u", "v"]})
    table = pl.DataFrame({"a": [2, 1, 2], "b": ["z", "y", "x"], "c": ["v", "u", "v"], "count": [50, 1, 2]})
    view = see(table, **NAMED, people=people, count="count")
    assert view.counts.toarray()[view.cell].tolist() == [[1, 0], [0, 2]]


def test_bad_questions_are_refused() -> None:
    table = pl.DataFrame({"a": [1], "c": ["x"], "count": [3]})
    with pytest.raises(InvalidParameterError, match="pass them"):
        see(table, quasi="a", sensitive="c", count="count")
    with pytest.raises(InvalidParameterError, match="one sensitive attribute"):
        see(table, quasi="a", sensitive=["c", "count"])  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="both a quasi-identifier and sensitive"):
        see(table, quasi=["a", "c"], sensitive="c")
    with pytest.raises(InvalidParameterError, match="at least one row"):
        see(table.clear(), quasi="a", sensitive="c")

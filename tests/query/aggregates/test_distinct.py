"""COUNT(DISTINCT value): what a unit shows, that no other unit changes it, and how far it moves the count."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.errors import UnsupportedQueryError
from deniable.privacy import AddRemove, Relation, Replace
from deniable.query.aggregates.aggregate import PricedPart
from deniable.query.declarations import Keys
from deniable.query.engines.duckdb.engine import DuckDBEngine
from tests.query.aggregates.test_aggregate import bounded
from tests.query.conftest import NAN, SECRET, Exact, asked, plan_of, table_of

Rows = list[tuple[Any, ...]]
COLUMNS = {"g": Keys([0, 1, 2])}
TEXT = "SELECT g, COUNT(DISTINCT x), COUNT(DISTINCT x) FILTER (WHERE x > 1) FROM t GROUP BY g"


def counts(table: Rows, text: str = TEXT, **bounds: Any) -> tuple[list[PricedPart], list[list[int]]]:
    kinds = {"person": pa.int64(), "g": pa.int64(), "x": pa.float64()}
    source = pa.table({name: pa.array([row[i] for row in table], kind) for i, (name, kind) in enumerate(kinds.items())})
    engine = DuckDBEngine.from_arrow(source, threads=1)
    plan = plan_of(table_of(engine, columns=COLUMNS, **bounds), text)
    found, places = engine.exact(plan, secret=SECRET), asked(plan)
    return [plan.parts[place] for place in places], [[int(each) for each in found[place]] for place in places]


def test_values_are_counted_once_and_missing_ones_never(exact: Exact) -> None:
    values = [1.0, 1.0, 2.0, None, NAN, -0.0, 0.0, 7.0]
    source = pa.table(
        {"person": [1, 2, 3, 4, 5, 6, 7, None], "x": values, "s": ["a", "A", "a ", None, "a", "b", "", "z"]}
    )
    text = "SELECT COUNT(DISTINCT x), COUNT(DISTINCT s), COUNT(DISTINCT UPPER(s)) FROM t"
    assert exact(text, source=source, columns={}) == [[3], [5], [4]]
    assert exact(text, source=source, columns={}, unit=None) == [[4], [6], [5]]
    assert exact("SELECT COUNT(DISTINCT person) FROM t", source=source, columns={}) == [[7]]


def test_a_unit_shows_at_most_rows_values_chosen_alike_in_any_order() -> None:
    rows: Rows = [(0, 0, float(x)) for x in range(9)] * 2
    for most in (1, 4, 9, 20):
        assert counts(rows, rows=most)[1][0] == counts(rows[::-1], rows=most)[1][0] == [min(most, 9), 0, 0]


def test_units_choose_evenly_and_each_for_itself() -> None:
    """Nine units with the same nine values show one each: 9 (1 - (8/9)^9) = 5.88 different ones on average."""
    source = pa.table(
        {"person": [p for p in range(9) for _ in range(9)], "x": [float(x) for _ in range(9) for x in range(9)]}
    )
    engine = DuckDBEngine.from_arrow(source, threads=1)
    plan = plan_of(table_of(engine, columns={}), "SELECT COUNT(DISTINCT x) FROM t")
    seen = [int(engine.exact(plan, secret=bytes([i]) * 16)[0][0]) for i in range(60)]
    assert 5.4 < np.mean(seen) < 6.35  # the standard deviation of one is below 0.95: 4 standard errors of their mean
    assert len(set(seen)) > 2


UNIT, OTHERS = st.just(0), st.integers(1, 2)
VALUES = st.sampled_from([None, 0.0, 1.0, 2.0, 3.0, NAN])


def rows_of(people: st.SearchStrategy[int]) -> st.SearchStrategy[Rows]:
    return st.lists(st.tuples(people, st.integers(0, 3), VALUES), max_size=9)


@settings(max_examples=15)
@given(
    rows_of(UNIT), rows_of(UNIT), rows_of(OTHERS), st.sampled_from([AddRemove, Replace]),
    st.integers(1, 3), st.integers(1, 3),
)  # fmt: skip
def test_one_unit_moves_the_counts_no_further_than_the_plan_says(
    mine: Rows, other: Rows, others: Rows, relation: Relation, rows: int, groups: int
) -> None:
    bounds = {"relation": relation, "rows": rows, "groups": groups}
    parts, here = counts(mine + others, **bounds)
    _, there = counts((other if relation is Replace else []) + others, **bounds)
    for part, a, b in zip(parts, here, there, strict=True):
        change = [abs(x - y) for x, y in zip(a, b, strict=True)]
        assert sum(change) <= part.sensitivity.l1
        assert sum(step**2 for step in change) <= part.sensitivity.l2_squared
        assert max(change) <= part.sensitivity.linf


def test_a_unit_that_showed_all_its_values_would_be_caught() -> None:
    """The twin of the bound: a plain count of distinct values moves by as many as the unit has."""
    others: Rows = [(1, 0, 0.0)]
    mine: Rows = [(0, 0, float(x)) for x in range(1, 6)]
    parts, here = counts(mine + others, rows=2)
    assert here[0][0] - counts(others, rows=2)[1][0][0] == 2 == parts[0].sensitivity.l1
    assert len({x for _, _, x in mine + others}) - 1 > parts[0].sensitivity.l1


def test_shares_of_the_units_do_not_count_a_value_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: Rows = [(person, person % 2, float(person % 10 // 2)) for person in range(50)]
    once = counts(rows)[1]
    monkeypatch.setattr(DuckDBEngine, "_passes", lambda self: 4)
    assert counts(rows)[1] == once
    assert once[0] == [5, 5, 0]


def test_what_has_no_bound_is_refused() -> None:
    assert bounded("SELECT COUNT(DISTINCT age) FROM t", rows=3)[0].sensitivity.l1 == 3
    with pytest.raises(UnsupportedQueryError, match="not total_rows"):
        bounded("SELECT COUNT(DISTINCT age) FROM t", total_rows=3)
    with pytest.raises(UnsupportedQueryError, match="takes one value"):
        bounded("SELECT COUNT(DISTINCT age, income) FROM t")

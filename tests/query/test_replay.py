"""Every operator, aggregate, clause and statistic of a database asks for the same draws, whatever one person holds.

The releases of mechanisms on one table are given again on its neighbour, and the whole answer must be the same: names,
types, numbers, notes, warnings and errors.
"""

from collections.abc import Callable
from datetime import date, datetime, tzinfo
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.audit import AuditResult, replay
from deniable.noise.bits import DeterministicBits
from deniable.query.operators import OPERATORS
from deniable.query.sql import parse
from tests.audit.draws import RELEASES
from tests.query.conftest import table_of
from tests.query.test_meaning import ENGINE, SAME, SOURCE
from tests.query.test_statistics import CALLS, VISITS
from tests.query.test_statistics import COLUMNS as VISITED

COLUMNS: dict[str, Any] = {
    "i": dn.Number(lower=-10, upper=10), "x": dn.Number(lower=-10, upper=10), "s": dn.Keys(["a", "b", "abc"]),
    "s, i > 2": dn.Keys(["a", "b", None]) * dn.Keys([True, None]) - dn.Keys([("a", True)]),
}  # fmt: skip
NASTY: dict[str, list[Any]] = {
    "person": [777, 777, 778, None],
    "i": [2**63 - 1, -(2**63), None, 0],
    "x": [float("nan"), float("inf"), 1e308, -0.0],
    "s": ["\x00'; --", "9" * 400, None, "new"],
    "b": [True, None, None, False],
    "d": [date(1, 1, 1), date(9999, 12, 31), None, date(1970, 1, 1)],
    "t": [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59), None, datetime(1970, 1, 1)],
}
OWN_VISITS = VISITS.set_column(0, "patient", pa.array(np.arange(VISITS.num_rows)))  # so that no rows are drawn
VISITORS: dict[str, list[Any]] = {
    "patient": [7777, 7777, 7777], "age": [2**62, -1, None], "cost": [float("nan"), 1e308, None],
    "gender": ["x", None, "f"], "ill": [None, True, False],
}  # fmt: skip
CONDITIONS = [*SAME, "i <> 3", "CAST(i AS BOOLEAN)", "CAST(d AS TIMESTAMP) < t", "CAST(s AS DATE) IS NULL"]
QUERIES = [
    "SELECT COUNT(*), COUNT(i), COUNT(DISTINCT person), SUM(i), AVG(x), SUM(x * i), AVG(i + 1) FROM t",
    "SELECT s, COUNT(*), SUM(x) FROM t GROUP BY s",
    "SELECT b, QUARTER(d) AS q, COUNT(*) FROM t GROUP BY b, QUARTER(d)",
    "SELECT b, MODE(s), MODE(i > 2) FILTER (WHERE x > 0) FROM t GROUP BY b",
    "SELECT WIDTH_BUCKET(x, -9, 9, 4) AS bin, COUNT(*) FROM t GROUP BY 1",
    "SELECT s, SUM(x) / COUNT(*) AS ratio FROM t GROUP BY s HAVING COUNT(*) > 1 ORDER BY ratio DESC LIMIT 2",
    "SELECT VAR_POP(x), STDDEV(i), CORR(x, i), COVAR_SAMP(x, i + 1), COUNTIF(b) FROM t",
    "SELECT COUNT(DISTINCT person) FILTER (WHERE b), COUNT(DISTINCT x), COUNT(DISTINCT s) FILTER (WHERE i > 0) FROM t",
    "SELECT CASE WHEN i > 2 THEN 'high' ELSE 'low' END AS size, AVG(x) FROM t GROUP BY 1 ORDER BY 2",
    "SELECT "
    + ", ".join(
        f"SUM(GREATEST(LEAST({one}, 9), -9))"
        for one in ("LN(i)", "1 / i", "SQRT(x)", "EXP(i)", "CAST(s AS INTEGER)", "i * i * i", "ROUND(x, 1)", "LOG10(x)")
    )
    + " FROM t",
]
QUERIES += [
    "SELECT s, COUNT(*), AVG(LEAST(GREATEST(total, -9), 9)) FROM (SELECT person, s, SUM(x) AS total, MAX(i) AS m "
    "FROM t GROUP BY person, s HAVING COUNT(*) > 0) WHERE m IS NULL OR m < 5 GROUP BY s",
    "SELECT s, COUNT(*) FROM (SELECT s, person FROM t UNION ALL SELECT 'a', person FROM t) u "
    "JOIN (SELECT DISTINCT person, i FROM t) USING (person) GROUP BY s",
]
QUERIES += [
    f"SELECT {', '.join(f'COUNT(CASE WHEN {one} THEN 1 END)' for one in CONDITIONS[start::3])} FROM t"
    for start in range(3)
]
QUERIES += [
    "SELECT i > 2, s, COUNT(*), SUM(x) FROM t GROUP BY 1, 2",
    "SELECT s, MEDIAN(x), QUANTILE_CONT(i, 0.9), MIN(x), MAX(i) FILTER (WHERE b), COUNT(*) FROM t GROUP BY s",
]


def with_rows(table: pa.Table, rows: dict[str, list[Any]], count: int | None = None) -> pa.Table:
    """The table and some rows of one person more, in one piece: DuckDB reads pieces in any order."""
    added = pa.table({field.name: pa.array(rows[field.name][:count], type=field.type) for field in table.schema})
    return pa.concat_tables([table, added]).combine_chunks()


def asking(text: str, **options: Any) -> Callable[[pa.Table], object]:
    def ask(table: pa.Table) -> object:
        settings = {"unit": "person", "columns": COLUMNS, "rows": 2, **options}
        db = dn.connect(table, name="t", budget=dn.Budget(epsilon=9), **settings)
        db._bits = DeterministicBits(1)
        with patch.object(type(db.ledger), "secret", lambda self, name: bytes(32)):  # the same groups of a unit
            return db.sql(text, epsilon=1)

    return ask


class Still(datetime):
    """A clock that stands: answers say when they were paid."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "Still":
        return cls(2026, 1, 1, tzinfo=tz)


def same(ask: Callable[[Any], object], one: object, other: object, **price: object) -> AuditResult:
    with patch("deniable.ledger.ledger.datetime", Still):
        found = replay(ask, one, other, samplers=RELEASES, sensitivity=0, **{"epsilon": 1, **price})  # type: ignore[arg-type]
    assert found.epsilon == 0, found.event
    assert not found.event.startswith("none: 0 draws")
    return found


def test_every_operator_is_asked_for() -> None:
    table = table_of(ENGINE, columns=COLUMNS)
    plans = "".join(repr(parse(text, {"t": table})) for text in QUERIES)
    assert [name for name in OPERATORS if f"operator='{name}'" not in plans] == []


@pytest.mark.parametrize("text", QUERIES)
def test_one_person_changes_nothing_but_what_mechanisms_release(text: str) -> None:
    same(asking(text), SOURCE, with_rows(SOURCE, NASTY, 2))


def test_one_person_changes_nothing_along_a_path() -> None:
    """A person more has keys that others hold, too, and lines of its own."""

    def ask(more: bool) -> object:
        tables = {
            "orders": pa.table(
                {"key": [1, 2, 1, None][: 4 if more else 2], "who": ["a", "b", "c", "c"][: 4 if more else 2]}
            ),
            "lines": pa.table({"key": [1, 2, 5, None], "x": [1.0, None, 1e308, 2.0]}),
        }
        columns = {"lines": {"x": dn.Number(lower=0, upper=2)}}
        db = dn.connect(
            tables, unit="who", paths={"lines": ("key", "orders")}, columns=columns, budget=dn.Budget(epsilon=9)
        )
        db._bits = DeterministicBits(1)
        return db.sql("SELECT COUNT(*), AVG(x), COUNT(DISTINCT who) FROM lines JOIN orders USING (key)", epsilon=1)

    same(ask, False, True)


def test_one_person_changes_nothing_of_bounds_that_are_found() -> None:
    auto = {name: dn.Number(lower="auto", upper="auto") for name in "ix"}
    same(asking("SELECT SUM(x), AVG(i), COUNT(*) FROM t", columns=auto), SOURCE, with_rows(SOURCE, NASTY, 2))


@pytest.mark.parametrize("how", [{}, {"consistent": True}, {"error": "20%"}])
def test_one_person_changes_nothing_of_a_workload_or_of_a_target(how: dict[str, Any]) -> None:
    texts = ["SELECT COUNT(*) AS n, SUM(i) AS s FROM t", "SELECT b, COUNT(*) AS n FROM t GROUP BY b"]

    def ask(table: pa.Table) -> object:
        db = dn.connect(table, name="t", unit="person", rows=2, columns=COLUMNS, budget=dn.Budget(epsilon=9))
        db._bits = DeterministicBits(1)
        with patch.object(type(db.ledger), "secret", lambda self, name: bytes(32)):
            return db.sql(texts[0], epsilon=1, **how) if "error" in how else db.workload(texts, epsilon=1, **how)

    same(ask, SOURCE, with_rows(SOURCE, NASTY, 2))


@pytest.mark.parametrize("text", QUERIES[:3])
def test_an_empty_table_is_like_one_with_a_row(text: str) -> None:
    same(asking(text), SOURCE.slice(0, 0), with_rows(SOURCE.slice(0, 0), NASTY, 1))


@pytest.mark.parametrize("options", [{"unit": dn.each_row("row"), "rows": None}, {"rows": None, "total_rows": 2}])
def test_other_units_change_nothing_either(options: dict[str, Any]) -> None:
    for text in QUERIES[1:3]:
        for before, after in [(0, 2)] if "total_rows" in options else [(0, 1), (2, 3)]:
            same(asking(text, **options), with_rows(SOURCE, NASTY, before), with_rows(SOURCE, NASTY, after))


@pytest.mark.parametrize("name", CALLS)
def test_one_patient_changes_nothing_of_a_statistic(name: str) -> None:
    places, named = CALLS[name]

    def ask(table: pa.Table) -> object:
        db = dn.connect(
            table, name="visits", unit="patient", rows=2, columns=VISITED, budget=dn.Budget(epsilon=9, delta="1e-3")
        )
        db._bits = DeterministicBits(1)
        return getattr(db, name)(*places, epsilon=1, **named)

    same(ask, OWN_VISITS, with_rows(OWN_VISITS, VISITORS), **{"delta": named["delta"]} if "delta" in named else {})


def test_an_answer_that_looks_at_the_data_is_caught() -> None:
    """Twins: keys found in the data, and a price by the number of rows."""

    def found_keys(table: pa.Table) -> object:
        keys = [key for key in table["s"].unique().to_pylist() if key]
        return asking("SELECT s, COUNT(*) FROM t GROUP BY s", columns={**COLUMNS, "s": dn.Keys(keys)})(table)

    def cheap(table: pa.Table) -> object:
        return asking("SELECT COUNT(*) FROM t", rows=min(table.num_rows, 13))(table)

    for ask in (found_keys, cheap):
        found = replay(ask, SOURCE, with_rows(SOURCE, NASTY, 2), samplers=RELEASES, sensitivity=0, epsilon=1)
        assert found.epsilon == np.inf

"""Synthetic rows of a database: one charge, its domain, and what is refused before it."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.errors import (
    BudgetExceededError,
    CatalogError,
    ExecutionError,
    InvalidParameterError,
    UnprovedError,
    UnsupportedQueryError,
)
from deniable.synthesis import MarginalPlan, Marginals
from deniable.synthesis.measurements import Measuring

COLUMNS = {
    "ward": dn.Keys(["a", "b"]),
    "age": dn.Number(lower=0, upper=99, integer=True),
    "cost": dn.Number(lower=0, upper=10),
    "day": dn.Date(lower="2025-01-01", upper="2025-01-31"),
    "ill": dn.Boolean(),
}
PRICE: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}


def table(count: int = 600) -> pd.DataFrame:
    person = range(count)
    return pd.DataFrame(
        {
            "person": [each // 2 for each in person],
            "note": pd.array(["secret"] * count, dtype="string[pyarrow]"),
            "ward": ["ab"[each % 2] for each in person],
            "age": [each % 120 for each in person],
            "cost": [float("nan") if each % 4 == 0 else each % 10 for each in person],
            "day": pd.date_range("2025-01-01", periods=31).date[[each % 31 for each in person]],
            "ill": [each % 2 == 0 for each in person],
        }
    )


def connected(rows: pd.DataFrame | None = None, **options: Any) -> dn.Database:
    budget = dn.Budget(epsilon=2, delta="1e-5")
    given = {"unit": "person", "rows": 2, "columns": COLUMNS, "budget": budget, **options}
    return dn.connect(table() if rows is None else rows, name="visits", **given)


def test_rows_have_the_columns_of_the_table_and_are_charged_once() -> None:
    db = connected()
    made = db.synthesize(**PRICE)
    rows = made.rows(500)
    assert rows.column_names == ["ward", "age", "cost", "day", "ill"]
    assert list(map(str, rows.schema.types)) == ["string", "int64", "double", "date32[day]", "bool"]
    assert rows["cost"].null_count > 50
    assert rows["ward"].null_count == 0
    assert any("note" in note for note in made.notes)
    assert made.paid.epsilon(1e-6).upper <= 1
    again = db.synthesize(**PRICE)
    assert again.rows(500) == rows
    assert str(again.cost) == "Composed([])"
    assert len(db.history()) == 1
    assert db.synthesize(**PRICE, fresh=True).rows(500) != rows
    with pytest.raises(BudgetExceededError):
        db.synthesize(epsilon=2, delta="1e-6")


def test_ledgers_keep_the_tables_for_other_programs(tmp_path: Path) -> None:
    pq.write_table(__import__("pyarrow").Table.from_pandas(table(), preserve_index=False), tmp_path / "visits.parquet")
    first, second = (
        connected(str(tmp_path / "visits.parquet"), ledger=tmp_path / "l").synthesize(**PRICE)  # type: ignore[arg-type]
        for _ in range(2)
    )
    assert first.rows(50, seed=4) == second.rows(50, seed=4)
    assert json.loads(first.measured.to_text()) == json.loads(second.measured.to_text())


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("relation", ["add/remove", "replace"])
def test_hardly_any_rows_give_rows_too(count: int, relation: str) -> None:
    assert connected(table(600).head(count), relation=relation).synthesize(**PRICE).rows(20).num_rows == 20


def test_tables_of_a_server_have_the_levels_of_the_same_file(postgres: str) -> None:
    """With hardly any noise, rows of a PostgreSQL table give the counts of a frame."""
    import psycopg

    with psycopg.connect(postgres) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT i / 2 AS person, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END AS ward, "
            "i % 120 AS age, i % 2 = 0 AS ill FROM generate_series(0, 599) AS i"
        )
    budget = dn.Budget(epsilon=9_000)
    columns = {name: COLUMNS[name] for name in ("ward", "age", "ill")}
    db = dn.connect(postgres, table="visits", unit="person", rows=2, columns=columns, budget=budget)
    found = db.synthesize(epsilon=9_000).measured.counts
    expected = connected(columns=columns, budget=budget).synthesize(list(columns), epsilon=9_000).measured.counts
    assert all(abs(one - other).max() <= 2 for one, other in zip(found, expected, strict=True))


def test_conditions_and_columns_are_other_questions() -> None:
    db = connected(budget=dn.Budget(epsilon=9, delta="1e-4"))
    assert db.synthesize(["ward", "age"], where="ill", **PRICE).rows(9).column_names == ["ward", "age"]
    assert db.synthesize(["ward", "age"], bins=5, **PRICE).domain.sizes == (3, 6)
    assert db.synthesize(["ward"], epsilon=1).rows(9).num_columns == 1
    assert len(db.history()) == 3


def test_prices_that_print_alike_are_other_questions() -> None:
    db = connected()
    db.synthesize(["ward"], epsilon="0.5")
    db.synthesize(["ward"], epsilon="0.50000001")
    assert len(db.history()) == 2


def test_bounds_between_whole_numbers_draw_whole_numbers_within() -> None:
    columns = {"age": dn.Number(lower=0.5, upper=3.5, integer=True)}
    made = connected(columns=columns).synthesize(["age"], epsilon=1)
    assert made.domain.sizes == (4,)
    assert set(made.rows(200)["age"].to_pylist()) <= {1, 2, 3, None}


def test_a_budget_too_small_for_anything_gives_rows_nevertheless() -> None:
    assert connected().synthesize(epsilon="1e-6").rows(20).num_rows == 20


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"columns": ["note"], **PRICE}, CatalogError, "note has no declared domain"),
        ({"columns": ["person"], **PRICE}, CatalogError, "person has no declared domain"),
        ({"columns": ["wrad"], **PRICE}, UnsupportedQueryError, "Did you mean .ward"),
        ({"columns": "ward", **PRICE}, InvalidParameterError, "list of names"),
        ({"columns": ["ward", 3], **PRICE}, InvalidParameterError, "list of names"),
        ({"columns": ["ward", "ward"], **PRICE}, InvalidParameterError, "different names"),
        ({"bins": 0, **PRICE}, InvalidParameterError, "bins"),
        ({"bins": 10**6, **PRICE}, InvalidParameterError, "1,000,001 levels"),
        ({"where": "SUM(age) > 1", **PRICE}, Exception, "SUM"),
        ({}, InvalidParameterError, "price of the answer"),
        ({"epsilon": "1e-30"}, InvalidParameterError, "buys no noise"),
    ],
)
def test_mistakes_are_found_before_anything_is_charged(options: Any, error: type[Exception], text: str) -> None:
    db = connected()
    with pytest.raises(error, match=text):
        db.synthesize(**options)
    assert len(db.history()) == 0


@pytest.mark.parametrize("kind", [Measuring, MarginalPlan])
def test_a_failure_over_private_rows_says_nothing_of_them(monkeypatch: pytest.MonkeyPatch, kind: type) -> None:
    whole = kind.measured_text

    def fail(self: Any, levels: Any, *rest: Any) -> str:
        if levels.size:
            raise ValueError(str(levels))
        return str(whole(self, levels, *rest))

    monkeypatch.setattr(kind, "measured_text", fail)
    db = connected()
    with pytest.raises(ExecutionError) as failure:
        db.synthesize(**PRICE) if kind is Measuring else db.marginals(1, **PRICE)
    assert str(failure.value) == str(ExecutionError())
    assert failure.value.__context__ is None
    assert [record.answered for record in db.ledger.entries()] == [False]


def test_tables_of_other_rows_have_the_same_form() -> None:
    """Odd values change neither the type of an answer nor raise."""
    odd = table()
    odd.loc[0, ["ward", "age", "cost"]] = ["zz" * 1_000, 10**12, float("-inf")]
    odd.loc[0, "day"] = date.max
    assert connected(odd).synthesize(**PRICE).rows(5).schema == connected().synthesize(**PRICE).rows(5).schema


def test_rows_are_explained_before_they_are_paid() -> None:
    db = connected()
    plan = db.explain_synthesis(["ward", "ill"], **PRICE)
    assert plan.domain.names == ("ward", "ill")
    assert db.explain_synthesis(["ward", "ill"], where="age > 3", **PRICE) == plan
    assert "noisy tables of 2 columns and of 1 pairs of them" in str(plan)
    assert not db.history()
    made = db.synthesize(["ward", "ill"], **PRICE)
    assert made.measured.measuring == plan
    assert made.counts("ill").budget_left == made.budget_left
    db.synthesize(["ward", "ill"], **PRICE, target="ill")
    assert len(db.history()) == 2  # another question


# --- noisy tables ------------------------------------------------------------------------------------------------


def test_tables_are_explained_for_nothing_charged_once_and_then_free() -> None:
    db = connected()
    plan = db.explain_marginals([["ward"], ["ward", "ill"]], **PRICE)
    assert not db.history()
    made = db.marginals([["ward"], ["ward", "ill"]], **PRICE)
    assert made.plan.deviations == plan.deviations
    again = db.marginals([["ward"], ["ill", "ward"]], **PRICE)
    assert list(again["ward"]["count"]) == list(made["ward"]["count"])
    assert again.cost.epsilon(0).upper == 0
    assert again["ward"].paid.epsilon("1e-6").upper == pytest.approx(1, rel=1e-5)
    assert len(db.history()) == 1
    fresh = db.marginals([["ward"], ["ward", "ill"]], **PRICE, fresh=True)
    assert list(fresh["ward"]["count"]) != list(made["ward"]["count"])
    with pytest.raises(BudgetExceededError):
        db.marginals([["ward"]], epsilon=1)
    assert "cost epsilon=1" in str(made)


def test_counts_are_near_the_truth_and_exports_say_where_they_come_from(tmp_path: Path) -> None:
    db = connected(budget=dn.Budget(epsilon=200))
    made = db.marginals(2, columns=["ward", "ill", "age"], epsilon=100)
    assert len(made.tables) == 7
    assert made["ward", "ill"]["count"].reshape(3, 3)[0, 1] == pytest.approx(300, abs=3)
    assert made["age"]["count"][99] == pytest.approx(105, abs=3)  # 99 and all that lies beyond it
    made.release().to_parquet(tmp_path / "tables.parquet")
    kept = pq.read_table(tmp_path / "tables.parquet")
    assert kept.column_names[:4] == ["ward", "ill", "age", "count"]
    origin = json.loads(kept.schema.metadata[b"deniable"])
    assert origin["query"] == "7 tables"
    assert origin["provenance"]["entries"] == [1]


def test_a_condition_and_all_tables_of_all_columns() -> None:
    db = connected(budget=dn.Budget(epsilon=200))
    ill = db.marginals(1, epsilon=50, where="ill")
    assert ill[()]["count"].item() == pytest.approx(300, abs=3)
    assert [name for name in ill.notes if name.startswith("Left out")] == [
        "Left out, as they have no declared domain: note."
    ]
    assert len(ill.tables) == 6


@pytest.mark.parametrize(
    ("tables", "options", "message"),
    [
        ([], {}, "tables is a number, or a list"),
        ("ward", {}, "tables is a number, or a list"),
        ([3], {}, "tables is a number, or a list"),
        (-1, {}, "tables must be >= 0"),
        (True, {}, "tables must be a whole number"),
        ([["ward"]], {"columns": ["ill"]}, "columns goes with a number"),
        ([["ward"]], {"weights": [1, 2]}, "one number for each of the 1 tables"),
        ([["ward"]], {"objective": "best"}, "objective must be"),
        ([["note"]], {}, "note has no declared domain"),
        ([["nobody"]], {}, "nobody"),
        ([[1]], {}, "columns is a list of names"),
        ([["ward", "age", "cost", "day", "ill"]], {"bins": 200}, "counts, and at most"),
        ([["ward"]], {"epsilon": "1e-30", "delta": None}, "buys no noise"),
        ([["ward"]], {"where": "ward = "}, "is not valid SQL"),
    ],
)
def test_other_tables_are_refused_before_anything_is_charged(tables: Any, options: Any, message: str) -> None:
    db = connected()
    with pytest.raises((InvalidParameterError, CatalogError, UnsupportedQueryError), match=message):
        db.marginals(tables, **{**PRICE, **options})
    assert not db.history()


def test_odd_rows_and_none_give_tables_of_the_same_form() -> None:
    odd = table()
    odd.loc[0, ["ward", "age", "cost"]] = ["zz" * 1_000, 10**12, float("-inf")]
    odd.loc[0, "day"] = date.max

    def form(made: Marginals) -> tuple[Any, ...]:
        kept = made.release(nonnegative=True).to_arrow()
        return kept.schema.remove_metadata(), kept.num_rows, made.notes, str(made.plan)

    forms = [form(connected(rows).marginals(2, **PRICE, bins=5)) for rows in (odd, table(), table().iloc[:0])]
    assert forms[0] == forms[1] == forms[2]


@pytest.mark.parametrize("name", ["explain_marginals", "marginals", "explain_ranges", "ranges", "explain_synthesis"])
def test_units_of_several_values_are_refused_also_where_nothing_is_paid(name: str) -> None:
    unit = dn.PrivacyUnit(column="person", noun="household", ids=3)
    db = connected(unit=unit)
    asked: Any = {"marginals": [["ward"]], "ranges": "age", "synthesis": None}[name.removeprefix("explain_")]
    with pytest.raises(UnprovedError, match="one household may own 3"):
        getattr(db, name)(asked, **PRICE)


def test_names_and_keys_that_the_answer_uses_itself_do_no_harm() -> None:
    keys = ["all", "missing", "x"]
    rows = pd.DataFrame({"count": keys * 10, "sum": range(30)})
    columns = {"count": dn.Keys(keys), "sum": dn.Number(lower=0, upper=29, integer=True)}
    db = dn.connect(rows, name="t", unit=dn.each_row(), columns=columns, budget=dn.Budget(epsilon=900))
    made = db.marginals([["count"], ["count", "sum"], []], epsilon=50)
    assert made["count"].columns == ("count", "count_")
    whole = made.release(nonnegative=True)
    assert [list(whole["count"]).count(each) for each in ("all", "missing", "(missing)", "(all)")] == [32, 32, 32, 1]
    assert db.ranges("sum", epsilon=50).release().columns == ("sum", "count")
    assert db.synthesize(epsilon=50).counts("count").columns == ("count", "count_")


@pytest.mark.parametrize("rho", [100, 3_000, 10**6])
def test_huge_prices_leave_the_exact_counts(rho: int) -> None:
    db = connected(budget=dn.Budget(rho=10**8))
    made = db.marginals([["ward"], ["ill"], []], rho=rho)
    assert made.table(["ward"], nonnegative=True)["nonnegative"] == pytest.approx([300, 300, 0], abs=1)
    assert db.synthesize(["ward", "ill"], rho=rho).rows(9).num_rows == 9
    assert db.ranges("age", rho=rho, bins=10).between([(0, 50)])["count"] == pytest.approx([250], abs=2)


# --- ranges ------------------------------------------------------------------------------------------------------


def test_ranges_of_a_column_are_charged_once_and_near_the_truth() -> None:
    db = connected(budget=dn.Budget(epsilon=200))
    plan = db.explain_ranges("age", epsilon=100)
    assert not db.history()
    made = db.ranges("age", epsilon=100)
    assert made.plan.error == plan.error
    near = made.between([(0, 50), (50, 100)])
    assert near["count"] == pytest.approx([250, 350], abs=8)
    assert list(db.ranges("age", epsilon=100).counts) == list(made.counts)
    assert len(db.history()) == 1
    days = db.ranges("day", epsilon=50).between([(date(2025, 1, 1), date(2025, 1, 8))])
    assert days["count"] == pytest.approx([140], abs=8)
    with pytest.raises(CatalogError, match="note has no declared domain"):
        db.ranges("note", epsilon=1)

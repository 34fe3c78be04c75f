"""Counts of a hierarchy from a database: one charge, declared units, and what is refused before it."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.errors import (
    BudgetExceededError,
    CatalogError,
    ExecutionError,
    InvalidParameterError,
    UnsupportedQueryError,
)
from deniable.noise.bits import Bits, DeterministicBits
from deniable.privacy import PrivacyLoss, Relation
from deniable.query import hierarchical
from deniable.query.database import Database
from deniable.query.hierarchical import HierarchyQuestion
from deniable.synthesis.hierarchy.plan import HierarchyPlan
from tests.mechanisms.drawn import drawn_share

PATHS = [("n", "lake"), ("n", "hill"), ("s", "lake"), ("s", "sea")]
COLUMNS = {
    "region": dn.Keys(["n", "s"]),
    "region, town": dn.Keys(PATHS),
    "age": dn.Number(lower=0, upper=3, integer=True),
    "ill": dn.Boolean(),
}
LEVELS = ["region", "town"]


def rows(count: int = 400, **changed: list[Any]) -> pa.Table:
    person = range(count)
    columns: dict[str, list[Any]] = {
        "person": [each // 2 for each in person],
        "region": [PATHS[each % 4][0] for each in person],
        "town": [PATHS[each % 4][1] for each in person],
        "age": [each % 5 for each in person],
        "ill": [each % 3 == 0 for each in person],
    }
    types = {"person": pa.int64(), "region": pa.string(), "town": pa.string(), "age": pa.int64(), "ill": pa.bool_()}
    return pa.table({name: pa.array(changed.get(name, values), types[name]) for name, values in columns.items()})


def connected(table: Any = None, **options: Any) -> dn.Database:
    given = {"unit": "person", "rows": 2, "groups": 2, "columns": COLUMNS, "budget": dn.Budget(rho=10**7)}
    given |= options
    return dn.connect(rows() if table is None else table, name="people", **given)


def test_counts_of_all_levels_are_charged_once() -> None:
    db = connected(budget=dn.Budget(rho=2))
    made = db.hierarchy(LEVELS, ["ill"], rho=1)
    assert made.counts("town").column_names[:4] == ["region", "town", "ill", "count"]
    again = db.hierarchy(LEVELS, ["ill"], rho=1)
    assert again.measured.to_text() == made.measured.to_text()
    assert str(again.cost) == "Composed([])"
    assert len(db.history()) == 1
    other = db.hierarchy(LEVELS, ["ill"], rho=1, fresh=True)
    assert other.measured.to_text() != made.measured.to_text()
    with pytest.raises(BudgetExceededError):
        db.hierarchy(LEVELS, ["ill"], rho=1, fresh=True)


def test_plans_are_explained_before_they_are_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    db = connected(budget=dn.Budget(rho=1))
    monkeypatch.setattr(HierarchyQuestion, "_measured", lambda *_: pytest.fail("a row was read"))
    plan = db.explain_hierarchy(LEVELS, ["ill"], rho=5, shares={"town": 1})
    text = str(plan)
    for part in (
        "7 units of 3 levels",
        "region: 2 units, 0.0% of the price: not measured",
        "town: 4 units, 100.0%",
        "cost rho=5",
    ):
        assert part in text
    assert plan._repr_html_().startswith("<pre>")
    assert len(db.history()) == 0
    with pytest.raises(CatalogError):
        db.explain_hierarchy(["person"], rho=1)


def test_exact_tallies_are_those_of_sql() -> None:
    db = connected()
    counts = db.hierarchy(LEVELS, ["age"], rho=10**6, where="ill").counts("town").to_pylist()
    asked = "SELECT region, town, age, COUNT(*) AS n FROM people WHERE ill GROUP BY region, town, age"
    expected = db.sql(asked, rho=10**6).to_dicts()
    assert [(*map(row.get, ("region", "town", "age")), row["count"]) for row in counts] == [
        tuple(row[name] for name in ("region", "town", "age", "n")) for row in expected
    ]


def test_expressions_are_counted_by_name() -> None:
    made = connected().hierarchy(["region"], {"grown": "age >= 2"}, rho=10**6, queries=["grown"])
    held = {(row["region"], row["grown"]): row["count"] for row in made.counts("region").to_pylist()}
    assert held == {("n", False): 80, ("n", True): 120, ("s", False): 80, ("s", True): 120}


def test_levels_without_joint_units_have_all_combinations() -> None:
    columns = {"region": dn.Keys(["n", "s"]), "town": dn.Keys(["lake", "sea"])}
    made = connected(columns=columns).hierarchy(LEVELS, rho=10**6)
    counts = {(row["region"], row["town"]): row["count"] for row in made.counts("town").to_pylist()}
    assert counts == {("n", "lake"): 100, ("n", "sea"): 0, ("s", "lake"): 100, ("s", "sea"): 100}


@pytest.mark.parametrize(
    "changed",
    [
        {"town": ["moon"] * 400},
        {"town": [None] * 400},
        {"region": [None] * 400},
        {"age": [None] * 400},
        {"age": [2**62] * 400},
        {"town": ["x" * 100_000] * 400},
    ],
    ids=lambda changed: f"{next(iter(changed))} {str(next(iter(changed.values()))[0])[:9]}",
)
def test_orphans_and_undeclared_keys_change_no_shape(changed: dict[str, list[Any]]) -> None:
    made, plain = (connected(table).hierarchy(LEVELS, ["age"], rho=1) for table in (rows(**changed), rows()))
    assert made.counts("town").schema == plain.counts("town").schema
    assert made.counts("town").num_rows == plain.counts("town").num_rows
    assert made.counts("all", "total")["count"][0].as_py() < 30
    assert str(made) == str(plain)


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("relation", ["add/remove", "replace"])
@pytest.mark.parametrize("limits", [{}, {"rows": 3}, {"rows": None, "groups": None, "total_rows": 2}], ids=str)
def test_hardly_any_rows_are_counted_like_all_others(count: int, relation: str, limits: dict[str, Any]) -> None:
    made = connected(rows().slice(0, count), relation=relation, **limits).hierarchy(LEVELS, ["ill"], epsilon=1)
    assert made.counts("town").num_rows == 8
    assert made.measurements().num_rows == (1 + 2 + 4) * (1 + 2)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("price", [{"epsilon": 3}, {"rho": 2}], ids=str)
@pytest.mark.parametrize(
    ("limits", "share"),
    [({}, 0.6), ({"rows": 1, "groups": 4}, 0.5), ({"rows": None, "groups": None, "total_rows": 4}, 0.65)],
    ids=str,
)
def test_tables_draw_what_proves_their_loss(
    relation: Relation, price: dict[str, Any], limits: dict[str, Any], share: float
) -> None:
    """Units with more rows than count, in one cell or many: draws on neighbours prove what is charged."""
    stated: list[PrivacyLoss] = []

    def run(table: pa.Table, bits: Bits) -> None:
        db = connected(table, relation=relation, **limits)
        made = Database(db._engine, db.tables, db.ledger, bits=bits).hierarchy(LEVELS, ["age"], **price)
        stated.append(made.paid)

    def with_unit(home: int, ages: int) -> pa.Table:
        region, town = PATHS[home]
        age = [each % ages for each in range(8)]
        return pa.concat_tables([rows(200), rows(8, person=[999] * 8, region=[region] * 8, town=[town] * 8, age=age)])

    units = [with_unit(home, ages) for home in (0, 3) for ages in (1, 2, 4)]
    pairs = [(rows(200), unit) for unit in units]
    if relation is Relation.REPLACE:
        pairs = list(zip(units[:3], units[3:], strict=True))
    run(rows(200), DeterministicBits(1))
    assert share <= drawn_share(run, pairs, relation=relation, stated=stated[0]) <= 1 + 1e-9


def test_rows_are_bounded_once_for_all_levels() -> None:
    crowd = rows(person=[7] * 400)
    assert connected(crowd, rows=2, groups=3).hierarchy(LEVELS, ["ill"], rho=10**6).numbers[0].sum() == 6
    shared = connected(crowd, rows=None, groups=None, total_rows=5).hierarchy(LEVELS, ["ill"], rho=10**6)
    assert shared.measurements().to_pandas().query("query == 'total'")["value"].round().tolist()[0] == 5


@pytest.mark.parametrize(
    "limits", [{}, {"rows": 1, "groups": 1}, {"rows": None, "groups": None, "total_rows": 3}], ids=str
)
def test_many_units_are_counted_alike(limits: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """In a table of the engine in place of the statement's text: same counts, bounds and name in the ledger."""
    orphans = [None if each % 11 == 0 else "moon" if each % 13 == 0 else PATHS[each % 4][1] for each in range(400)]
    alike = [each // 2 for each in range(400)] if not limits else list(range(400))
    db = connected(rows(town=orphans, person=alike), **limits)
    listed = db.hierarchy(LEVELS, ["age", "ill"], rho=10**6)
    monkeypatch.setattr(hierarchical, "MANY_UNITS", 1)
    held = db.hierarchy(LEVELS, ["age", "ill"], rho=10**6, fresh=True)
    assert held.counts("town")["count"] == listed.counts("town")["count"]
    assert len({entry["question"] for entry in db.history()}) == 1


@pytest.mark.parametrize("many", [1, 1_000])
def test_tables_of_a_server_have_the_counts_of_the_same_frame(
    postgres: str, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    monkeypatch.setattr(hierarchical, "MANY_UNITS", many)

    with psycopg.connect(postgres) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT i / 2 AS person, CASE WHEN i % 4 < 2 THEN 'n' ELSE 's' END AS region, "
            "CASE WHEN i % 4 IN (0, 2) THEN 'lake' WHEN i % 4 = 1 THEN 'hill' ELSE 'sea' END AS town, "
            "i % 5 AS age, i % 3 = 0 AS ill FROM generate_series(0, 399) AS i"
        )
    options: dict[str, Any] = {"unit": "person", "rows": 2, "groups": 2, "columns": COLUMNS}
    options["budget"] = dn.Budget(rho=10**7)
    db = dn.connect(postgres, table="people", **options)
    found = db.hierarchy(LEVELS, ["age", "ill"], rho=10**6).counts("town")["count"]
    assert found == connected().hierarchy(LEVELS, ["age", "ill"], rho=10**6).counts("town")["count"]


def test_ledgers_keep_the_tables_for_other_programs(tmp_path: Path) -> None:
    pq.write_table(rows(), tmp_path / "people.parquet")
    first, second = (
        connected(str(tmp_path / "people.parquet"), ledger=tmp_path / "l").hierarchy(LEVELS, rho=1) for _ in range(2)
    )
    assert first.counts("town") == second.counts("town")


def test_other_questions_have_other_names() -> None:
    db = connected()
    db.hierarchy(LEVELS, ["ill"], rho=1)
    db.hierarchy(LEVELS, ["ill"], rho="1.0000001")
    db.hierarchy(LEVELS, ["ill"], rho=1, queries=["cells"])
    db.hierarchy(LEVELS, ["ill"], rho=1, shares={"town": 1})
    db.hierarchy(LEVELS, ["ill"], rho=1, where="age > 1")
    db.hierarchy(["region"], ["ill"], rho=1)
    assert len(db.history()) == 6
    db.hierarchy(LEVELS, ["ill"], rho=1, invariants={"region": ["n"], "count": [9]})  # from the same tables
    assert len(db.history()) == 6


def test_given_totals_are_held_and_take_the_guarantee() -> None:
    made = connected().hierarchy(LEVELS, ["ill"], rho=1, invariants={"region": ["s", "n"], "count": [210, 190]})
    assert made.counts("region", "total")["count"].to_pylist() == [190, 210]
    assert "outside of the cost" in str(made)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"levels": ["person"]}, CatalogError, "person has no declared keys"),
        ({"levels": ["town"]}, CatalogError, "town has no declared keys"),
        ({"levels": ["county"]}, UnsupportedQueryError, "county"),
        ({"levels": []}, InvalidParameterError, "different names"),
        ({"levels": "region"}, InvalidParameterError, "list of names"),
        ({"levels": ["region", "region"]}, InvalidParameterError, "different names"),
        ({"columns": "ill"}, InvalidParameterError, "lists of different names"),
        ({"columns": [3]}, InvalidParameterError, "list of names"),
        ({"columns": {"x": "age), (ill"}}, UnsupportedQueryError, "one column or expression each"),
        ({"columns": {"x": "age) HAVING (COUNT(*) > 1"}}, UnsupportedQueryError, "one column or expression each"),
        ({"columns": {"x": "COUNT(*)"}}, UnsupportedQueryError, "COUNT"),
        ({"queries": "total"}, InvalidParameterError, "list of different tables"),
        ({"queries": ["total", "total"]}, InvalidParameterError, "list of different tables"),
        ({"queries": ["height"]}, InvalidParameterError, "'height'"),
        ({"shares": {"moon": 1}}, InvalidParameterError, "no level 'moon'"),
        ({"where": "SUM(age) > 1"}, UnsupportedQueryError, "SUM"),
        ({"where": "ill) GROUP BY (region"}, InvalidParameterError, "one condition"),
        ({"invariants": {"region": ["n", "s"], "count": [1, 2]}, "at_least": {"count": [4]}}, Exception, "contradict"),
        ({"rho": None}, InvalidParameterError, "price of the answer"),
        ({"rho": "1e-40"}, InvalidParameterError, "buys no noise"),
    ],
)
def test_mistakes_are_refused_and_cost_nothing(given: dict[str, Any], error: type[Exception], text: str) -> None:
    db = connected()
    with pytest.raises(error, match=text):
        db.hierarchy(**{"levels": ["region"], "columns": ["ill"], "rho": 1, **given})
    assert len(db.history()) == 0


@pytest.mark.parametrize("step", ["exact", "measure"])
def test_a_failure_says_nothing_and_is_paid(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("a value of a row")

    db = connected()
    monkeypatch.setattr(type(db._engine) if step == "exact" else HierarchyPlan, step, fail)
    with pytest.raises(ExecutionError) as raised:
        db.hierarchy(LEVELS, rho=1)
    assert "a value" not in f"{raised.value!r}{raised.value.__cause__!r}{raised.value.__context__!r}"
    assert len(db.history()) == 1


def test_the_ledger_pays_before_rows_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    db = connected(budget=dn.Budget(rho="1/2"))
    read: list[object] = []
    monkeypatch.setattr(HierarchyQuestion, "_measured", lambda *given: read.append(given))
    with pytest.raises(BudgetExceededError):
        db.hierarchy(LEVELS, rho=1)
    assert read == []

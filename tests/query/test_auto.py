"""Undeclared bounds: paid for once, before a row is read, and said in the answer."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.errors import BudgetExceededError, DeniableError, ExecutionError, UnprovedError
from deniable.noise.bits import DeterministicBits
from deniable.query.auto import BoundsSearch, LimitsSearch
from deniable.query.database import Database
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.grouped import GroupedRows
from deniable.query.table_expression import Scan

PEOPLE = np.arange(4000)
SOURCE = pa.table({"person": PEOPLE // 2, "cost": 100.0 + PEOPLE % 100, "age": PEOPLE % 90})
AUTO = {"cost": dn.Number(lower="auto", upper="auto"), "age": dn.Number(lower="auto", upper="auto")}
SUM = "SELECT SUM(cost) AS total FROM t"


def database(**options: Any) -> Database:
    settings: dict[str, Any] = {"unit": "person", "rows": 2, "columns": AUTO, "budget": dn.Budget(epsilon=2)}
    return dn.connect(SOURCE, name="t", **(settings | options))


def test_bounds_are_found_once_charged_and_shown() -> None:
    db = database()
    db._bits = DeterministicBits(1)  # a search misses these bounds now and then
    told = str(db.explain(SUM, epsilon=1))
    assert "bounds of cost  found privately first" in told
    assert "epsilon=1" in told.rsplit("cost  ", maxsplit=1)[-1]
    assert not len(db.history())
    first = db.sql(SUM, epsilon=1)
    assert [row["cost"] for row in db.history()] == ["epsilon=0.25", "epsilon=0.75"]
    assert first.cost.charge().epsilon == 1
    assert "The bounds of cost are 64 and 256, found privately" in str(first)
    assert first.scalar(unsafe=True) == pytest.approx(598_000, rel=0.05)
    again = db.sql(SUM, epsilon=1)
    assert again.scalar(unsafe=True) == first.scalar(unsafe=True)
    assert "stored answer cost nothing" in str(again)
    assert "64 and 256, found privately" in str(db.explain("SELECT AVG(cost) FROM t", epsilon=0.5))
    db.table("t").select(dn.col("cost").mean()).release(epsilon="0.5")
    assert [row["cost"] for row in db.history()][2:] == ["epsilon=0.5"]


def test_only_what_is_needed_is_searched_for() -> None:
    db = database()
    db.sql("SELECT COUNT(cost) FROM t WHERE age > 30", epsilon=0.1)
    db.sql("SELECT SUM(LEAST(GREATEST(cost, 0), 9)) FROM t", epsilon=0.1)
    assert len(db.history()) == 2
    both = db.explain("SELECT SUM(cost), SUM(age) FROM t", epsilon=1).plan.searches
    assert [each.column for each in both] == ["cost", "age"]
    assert [each.column for each in db.explain("SELECT SUM(age) FROM t", epsilon=1).plan.searches] == ["age"]


def test_two_searches_and_the_answer_cost_what_was_said() -> None:
    db = database()
    db.sql("SELECT SUM(cost), SUM(age) FROM t", epsilon=1)
    assert [row["cost"] for row in db.history()] == ["epsilon=0.25", "epsilon=0.1875", "epsilon=0.5625"]
    concentrated = database(budget=dn.Budget(rho=1))
    concentrated.sql("SELECT SUM(cost), MEDIAN(age) FROM t", rho=0.5)
    assert len(concentrated.history()) == 3
    assert float(concentrated.ledger.spent().rho or 9) == pytest.approx(0.5, rel=1e-6)


def test_what_is_refused_costs_nothing_and_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDBEngine, "columns", lambda *_: pytest.fail("a row was read"))
    db = database(budget=dn.Budget(epsilon=0.9))
    with pytest.raises(BudgetExceededError):
        db.sql(SUM, epsilon=1)
    for text, words in {
        "SELECT SUM(cost), SUM(none) FROM t": "no column",
        "SELECT SUM(cost) FROM u": "no table",
    }.items():
        with pytest.raises(DeniableError, match=words):
            db.sql(text, epsilon=0.5)
    with pytest.raises(DeniableError, match="needs declared bounds"):
        db.sql(SUM, error=5)
    household = database(unit=dn.PrivacyUnit(column="person", noun="household", ids=2))
    with pytest.raises(UnprovedError, match="bounds of cost"):
        household.sql(SUM, epsilon=1)
    assert not len(db.history()) + len(household.history())


@pytest.mark.parametrize("value", [0, 2**60, 1e300, -1e300])
def test_whatever_is_found_gives_an_answer_that_was_paid(value: float) -> None:
    source, columns = pa.table({"person": PEOPLE, "cost": [value] * 4000}), {"cost": AUTO["cost"]}
    db = dn.connect(source, name="t", unit="person", columns=columns, budget=dn.Budget(epsilon=100))
    for aggregate in ("MEDIAN", "SUM"):
        assert len(db.sql(f"SELECT {aggregate}(cost) AS a FROM t", epsilon=40)) == 1


def test_bounds_that_do_not_suit_a_question_never_refuse_it_once_they_are_paid() -> None:
    text = "SELECT SUM(cost) AS s, SUM(age * age) FROM t"
    source = pa.table({"person": PEOPLE, "cost": [1e30] * 4000, "age": [2**59] * 4000})
    db = dn.connect(source, name="t", unit="person", columns=AUTO, budget=dn.Budget(epsilon=40))
    answer = db.sql(text, epsilon=40)
    assert "cannot be answered with them" in str(answer)
    assert answer.cost.charge().epsilon == 40
    assert db.sql(text, epsilon=40).to_dicts() == answer.to_dicts()


def test_all_that_is_left_pays_for_searches_and_answer() -> None:
    for budget, price in ((dn.Budget(epsilon=1), {"epsilon": 1}), (dn.Budget(rho="0.3"), {"rho": "0.3"})):
        db = database(budget=budget)
        db.sql("SELECT SUM(cost), SUM(age), COUNT(*) FROM t", **price)
        assert len(db.history()) == 3


def test_a_failure_in_a_search_says_nothing_and_stays_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    db = database()
    monkeypatch.setattr(DuckDBEngine, "columns", lambda *_: 1 / 0)
    with pytest.raises(ExecutionError):
        db.sql(SUM, epsilon=1)
    assert [row["answer kept"] for row in db.history()] == ["no"]


def test_a_search_is_as_private_as_its_count_of_rows_says() -> None:
    """The loss is that of one noisy histogram in which a unit has `rows` values: the scale is rows over epsilon."""
    (search,) = database().explain(SUM, epsilon=1).plan.searches
    assert isinstance(search, BoundsSearch)
    assert search.loss.charge().epsilon == pytest.approx(0.25)
    assert search.bounding.mechanism.scale == 8
    (one,) = database(rows=1).explain(SUM, epsilon=1).plan.searches
    assert one.bounding.mechanism.scale == 4
    assert one.question != search.question


def test_a_statistic_takes_the_word_of_the_catalogue() -> None:
    assert "bounds='auto'" in database().mean("cost", epsilon=1).text


LIMITED = pa.table(
    {"person": np.r_[np.repeat(np.arange(2000), 3), np.full(500, 7)], "ward": [*"aab"] * 2000 + ["c"] * 500}
)
WARDS = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward"


def limited(**options: Any) -> Database:
    columns = {"ward": dn.Keys(["a", "b", "c"])}
    settings = {"rows": "auto", "groups": "auto", "columns": columns, "budget": dn.Budget(epsilon=3)} | options
    db = dn.connect(LIMITED, name="t", **({"unit": "person"} | settings))
    db._bits = DeterministicBits(2)
    return db


def test_rows_and_groups_are_found_charged_shown_and_kept() -> None:
    db = limited()
    assert "rows and groups of one person  found privately first" in str(db.explain(WARDS, epsilon=1))
    first = db.sql(WARDS, epsilon=1)
    assert "The rows and groups of one person are 2 and 2, found privately." in str(first)
    assert "At most 2 rows of one person count in a group, in at most 2 groups." in str(first)
    assert first.cost.charge().epsilon == 1
    assert [row["cost"] for row in db.history()] == ["epsilon=0.25", "epsilon=0.75"]
    assert first["n"][0] == pytest.approx(4000, abs=60)
    assert "stored answer cost nothing" in str(db.sql(WARDS, epsilon=1))
    plan = db.explain(WARDS.replace("GROUP", "WHERE ward <> 'b' GROUP"), epsilon=1).plan
    assert [part.sensitivity.l1 for part in plan.parts] == [4]
    assert plan.total.charge().epsilon == 1
    one = db.sql("SELECT COUNT(*) AS n FROM t", epsilon=1)
    assert "The rows of one person are 3, found privately." in str(one)
    google = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.1, max_groups_contributed=5) {WARDS[7:]}"
    assert [limit.words for limit in db.explain(google).plan.searches] == [("rows",)]
    assert not db.explain("SELECT COUNT(DISTINCT person) FROM t", epsilon=1).plan.searches


def test_limits_stand_in_a_policy_beside_bounds_to_be_found(tmp_path: Any) -> None:
    pq.write_table(SOURCE, tmp_path / "t.parquet")
    (tmp_path / "p.toml").write_text(
        '[data]\nsource = "t.parquet"\n[privacy]\nunit = "person"\nrows = "auto"\n[budget]\nepsilon = 9\n'
        '[columns.cost]\nlower = "auto"\nupper = "auto"\n'
    )
    db = dn.connect(tmp_path / "p.toml")
    db._bits = DeterministicBits(1)
    assert db.sql(SUM, epsilon=1).scalar(unsafe=True) == pytest.approx(598_000, rel=0.05)
    assert [row["cost"] for row in db.history()] == ["epsilon=0.25", "epsilon=0.1875", "epsilon=0.5625"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: limited(groups=2, rows="most"), 'rows must be .* or "auto"'),
        (lambda: limited(total_rows=3), "Give one of them"),
        (lambda: limited(unit=dn.each_row()), "need a unit column"),
        (lambda: limited().mode("ward", epsilon=1), "rows="),
        (lambda: limited().sql(WARDS, error=9), "needs declared"),
        (lambda: limited(unit=dn.PrivacyUnit(column="person", ids=2)).sql(WARDS, epsilon=1), "a search for the rows"),
    ],
)
def test_limits_that_cannot_be_found_are_refused(make: Any, said: str) -> None:
    with pytest.raises(DeniableError, match=said):
        make()


@pytest.mark.parametrize("relation", [dn.AddRemove, dn.Replace])
def test_a_unit_is_counted_once_by_each_search_for_limits(relation: Any) -> None:
    """Brute force: unit 0 leaves, or comes with other rows. The twin counts a unit once for every group."""
    draw = np.random.default_rng(3)
    reach = 1 if relation is dn.AddRemove else 2
    farthest = {"search": 0, "twin": 0}
    db = limited(relation=relation)
    (limits,) = db.explain(WARDS, epsilon=1).plan.searches
    assert isinstance(limits, LimitsSearch)
    assert [part.sensitivity.l1 for plan in limits.plans for part in plan.parts] == [reach, reach]
    loose = replace(limits.asked.source.table, rows=9, groups=9, auto=())
    (rows, _) = replace(limits, asked=replace(limits.asked, source=Scan(loose))).plans
    units = rows.query.question.source
    assert isinstance(units, GroupedRows)
    each = replace(units, keys=(*units.keys, units.source.column("key 1")))
    twin = replace(rows, query=replace(rows.query, question=replace(rows.query.question, source=each)))
    assert isinstance(db._engine, DuckDBEngine)
    for _ in range(8):
        others = [(int(one), "abc"[two]) for one, two in draw.integers((1, 0), (4, 3), (6, 2))]
        own, new = ([(0, "abc"[one]) for one in draw.integers(0, 3, draw.integers(1, 9))] for _ in range(2))
        found: list[Any] = []
        for table in (others + own, others + (new if relation is dn.Replace else [])):
            held = pa.table({"person": [row[0] for row in table], "ward": [row[1] for row in table]})
            db._engine._connection.register("frame0", held)
            found.append([db._engine.exact(plan, secret=bytes(16))[0] for plan in (*limits.plans, twin)])
        for place, (one, other) in enumerate(zip(*found, strict=True)):
            word = "twin" if place == 2 else "search"
            farthest[word] = max(farthest[word], int(np.abs(one - other).sum()))
    assert farthest["search"] == reach < farthest["twin"]

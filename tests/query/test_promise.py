"""Several tables are declared as one promise, and paths lead from table to table up to the unit."""

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import CatalogError, InvalidParameterError, UnsupportedQueryError
from deniable.privacy import PrivacyUnit
from deniable.query.aggregates.aggregate import PricedAggregate
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.promise import declared_tables
from tests.query.conftest import SECRET
from tests.query.test_table_expression import engine_of, plan_of, tables_of


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"columns": {"ordres": {}}}, "Did you mean 'orders'"),
        ({"public": ["orders", "people", "items"]}, "one table at least is private"),
        ({"unit": PrivacyUnit(column=None, noun="row")}, "several tables need a column"),
        ({"unit": PrivacyUnit(column="nobody", noun="row")}, "names no column"),
        ({"paths": {"people": "orders"}}, "is its key and another table"),
        ({"paths": {"people": ("buyer", "items")}}, "leads to 'items'"),
        ({"paths": {"people": ("buyer", "orders"), "orders": ("buyer", "people")}}, "one table at least is private"),
        ({"paths": {"people": ("region", "orders", "buyer")}}, "of kind text with 'buyer'"),
        ({"paths": {"people": ("nothing", "orders")}}, "the path of people: people has no column"),
        ({"unit": PrivacyUnit(column="buyer", noun="buyer", period="item")}, "stored as a date"),
    ],
)
def test_several_tables_are_declared_as_one_promise(changed: dict[str, Any], words: str) -> None:
    engine = engine_of([], [])
    given: dict[str, Any] = {"columns": {}, "public": ["items"], "unit": PrivacyUnit(column="buyer"), "promise": {}}
    with pytest.raises(CatalogError, match=words):
        declared_tables(["orders", "people", "items"], schema=engine.schema, **{**given, **changed})


def test_a_path_of_two_steps_ends_at_the_household() -> None:
    """Visits reach persons, and persons their household: a level above."""
    parts = {
        "visits": pa.table({"person": [1, 1, 2, 3, 9]}),
        "persons": pa.table({"person_id": [1, 2, 3], "home": ["a", "a", None]}),
        "homes": pa.table({"home": ["a", "b"], "place": ["n", "s"]}),
    }
    engine = DuckDBEngine(parts, threads=1)
    tables = declared_tables(
        parts, schema=engine.schema, columns={}, public=[], unit=PrivacyUnit(column="home"), promise={"rows": 5},
        paths={"visits": ("person", "persons", "person_id"), "persons": ("home", "homes")},
    )  # fmt: skip
    for text, found in {
        "SELECT COUNT(*) FROM visits": 3,
        "SELECT COUNT(*) FROM visits JOIN persons ON person = person_id JOIN homes h ON persons.home = h.home": 3,
        "SELECT COUNT(*) FROM homes LEFT JOIN persons USING (home)": 3,
    }.items():
        (total,) = engine.exact(plan_of(text, tables), secret=SECRET)
        assert total.tolist() == [found], text


@pytest.mark.parametrize(("codes", "found"), [([1, 2, None, None], 3), ([1, 2, 2], None)])
def test_where_every_row_is_a_unit_a_public_table_gives_each_at_most_one(codes: list[int], found: int | None) -> None:
    parts = {"people": pa.table({"code": [1, 2, 1, 9]}), "codes": pa.table({"code": pa.array(codes, pa.int64())})}
    engine = DuckDBEngine(parts, threads=1)
    unit = PrivacyUnit(column=None, noun="person")
    tables = declared_tables(parts, schema=engine.schema, columns={}, public=["codes"], unit=unit, promise={})
    for text in ("people JOIN codes USING (code)", "codes c JOIN people p ON c.code = p.code"):
        if found is None:
            with pytest.raises(UnsupportedQueryError, match="unique in the public table"):
                plan_of(f"SELECT COUNT(*) FROM {text}", tables, engine)
        else:
            (total,) = engine.exact(plan_of(f"SELECT COUNT(*) FROM {text}", tables, engine), secret=SECRET)
            assert total.tolist() == [found]
        if found is not None:  # the public table changes between plan and answer: what is no longer unique is left out
            later = {**parts, "codes": pa.table({"code": [1, 1, 1, 2]})}
            changed, plan = DuckDBEngine(later, threads=1), plan_of(f"SELECT COUNT(*) FROM {text}", tables, engine)
            assert changed.exact(plan, secret=SECRET)[0].tolist() == [1]
    for text in ("people a JOIN people b USING (code)", "(SELECT code FROM people UNION ALL SELECT code FROM people)"):
        with pytest.raises(UnsupportedQueryError):  # each row would be of two units, or be two rows of one
            plan_of(f"SELECT COUNT(*) FROM {text}", tables, engine)


HOUSEHOLDS = {"visits": pa.schema([("who", pa.int64()), ("ward", pa.string()), ("cost", pa.float64())])} | {
    "persons": pa.schema([("who", pa.int64()), ("home", pa.string()), ("ill", pa.bool_())])
}
OF_HOUSEHOLDS = [
    "SELECT ward, COUNT(*), SUM(cost), COUNT(DISTINCT home) FROM visits JOIN persons USING (who) GROUP BY ward",
    "SELECT ill, ward, COUNT(*), AVG(cost) FROM visits JOIN persons USING (who) WHERE cost < 3 GROUP BY ill, ward",
    "SELECT ward, COUNT(*), SUM(LEAST(GREATEST(s, -9), 9)) FROM (SELECT home, ward, SUM(cost) AS s FROM visits JOIN "
    "persons USING (who) GROUP BY home, ward) GROUP BY ward",
    "SELECT COUNT(*), COUNT(DISTINCT who) FROM persons",
]


@pytest.mark.parametrize("relation", [dn.AddRemove, dn.Replace])
def test_a_household_moves_an_answer_no_further_than_the_plan_says(relation: Any) -> None:
    """Household h leaves all tables, or comes back with other members, who made other visits; rows and groups vary."""
    draw, reached = np.random.default_rng(5), 0
    engine = DuckDBEngine({name: schema.empty_table() for name, schema in HOUSEHOLDS.items()}, threads=1)

    def exact(plan: Any, persons: list[Any], visits: list[Any]) -> list[Any]:
        for place, (rows, schema) in enumerate(zip((visits, persons), HOUSEHOLDS.values(), strict=True)):
            held = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(schema.types)]
            engine._connection.register(f"frame{place}", pa.table(held, schema=schema))
        return engine.exact(plan, secret=SECRET)

    def members(homes: list[str]) -> list[Any]:
        return [(int(draw.integers(4)), home, bool(draw.integers(2))) for home in homes for _ in range(3)]

    for number in range(16):
        rows, groups = (int(each) for each in draw.integers(1, 4, 2))
        tables = declared_tables(
            HOUSEHOLDS, schema=engine.schema, public=[], unit=PrivacyUnit(column="home"),
            columns={"visits": {"ward": dn.Keys(["a", "b"]), "cost": dn.Number(lower=-2, upper=4)}},
            promise={"rows": rows, "groups": groups, "relation": relation}, paths={"visits": ("who", "persons")},
        )  # fmt: skip
        plan = plan_of(OF_HOUSEHOLDS[number % 4], tables)
        others, own, new = members(["i", "j"]), members(["h"]), members(["h"])
        visits = [
            [(int(draw.integers(5)), "abc"[draw.integers(3)], float(draw.integers(-4, 6))) for _ in range(9)]
            for _ in range(2)
        ]
        after = others + (new if relation is dn.Replace else [])
        kept = {row[0] for row in others}  # what people do whom another household holds too is that one's as well
        moved = [row for row in visits[0] if row[0] in kept] + [row for row in visits[1] if row[0] not in kept]
        found = zip(plan.parts, exact(plan, others + own, visits[0]), exact(plan, after, moved), strict=True)
        for part, one, other in found:
            change = [abs(int(x) - int(y)) for x, y in zip(one, other, strict=True)]
            assert isinstance(part, PricedAggregate)
            assert sum(change) <= part.sensitivity.l1
            assert max(change) <= part.sensitivity.linf
            reached = max(reached, int(sum(change)))
    assert reached > 0


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("item IN (SELECT item FROM lines)", "reads public tables alone"),
        ("item > (SELECT COUNT(*) FROM orders)", "the rows of each unit"),
        ("item = (SELECT item FROM items)", "gives one value, and this one 3"),
        ("item IN (SELECT item FROM items)", "gives missing values"),
        ("item IN (SELECT item, label FROM items)", "gives one column, and this one 2"),
        ("item IN (SELECT i.item FROM items i WHERE i.item = orders.buyer)", "is not a table of this query"),
    ],
)
def test_subqueries_in_conditions_read_public_tables_alone(condition: str, words: str) -> None:
    engine = engine_of([], [])
    with pytest.raises(UnsupportedQueryError, match=words):
        plan_of(f"SELECT COUNT(*) FROM orders WHERE {condition}", tables_of(engine), engine)


def test_the_weaker_promise_of_a_day_is_said_with_every_answer() -> None:
    held = pa.table({"who": ["a", "a"], "day": [date(2025, 1, 1), date(2025, 1, 2)], "x": [1.0, 2.0]})
    db = dn.connect(held, name="t", unit=("who", "day"), budget=dn.Budget(epsilon=1))
    for answer in (
        db.sql("SELECT COUNT(*) AS n FROM t", epsilon="0.1"),
        db.median("x", bounds=(0, 3), epsilon="0.1"),
    ):
        assert answer.protects == "one who on one day of t (add/remove)"
        assert "Only one who on one day is protected: across k values of day the cost is k times as high" in str(answer)
    for wrong in (("who", "day", "x"), 7):
        with pytest.raises(CatalogError, match="unit is a column, or a column and one of dates"):
            dn.connect(held, name="t", unit=wrong, budget=dn.Budget(epsilon=1))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="a date column"):
        PrivacyUnit(column="who", ids=2, period="day")

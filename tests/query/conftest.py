"""A small table with every kind of trouble in it, and ways to ask for exact integers."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction

import pyarrow as pa
import pytest

from deniable.mechanisms.price import Price
from deniable.privacy import AddRemove, PrivacyUnit, Relation
from deniable.query.catalog import DeclaredTable
from deniable.query.declarations import Declaration, Keys, Number
from deniable.query.declared import declared_table
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.expression import columns_of
from deniable.query.naming import named
from deniable.query.plan import PricedPlan
from deniable.query.rules import price
from deniable.query.sql import parse

INF, NAN = float("inf"), float("nan")
SECRET = bytes(range(32))

TROUBLE: Mapping[str, tuple[pa.DataType, Sequence[object]]] = {
    "person": (pa.int64(), [1, 1, 1, 2, 2, 3, 4, 4, None, 5]),
    "region": (
        pa.string(),
        ["north", "north", "south", "north", "elsewhere", None, "south", "north", "north", "south"],
    ),
    "age": (pa.int32(), [30, 30, 30, 41, 41, 55, 17, 17, 90, -5]),
    "income": (pa.float64(), [10.5, NAN, INF, -INF, None, 1e308, 99.25, 0.0, 50.0, -0.0]),
    "big": (pa.int64(), [2**63 - 1, 1, 2, -(2**63), None, 0, 7, 7, 7, 7]),
    "zero": (pa.int64(), [0, 0, 1, 0, 2, 0, None, 0, 1, 0]),
    "note": (pa.string(), ["12", "x", "", "nan", "inf", "1e400", "2025-02-30", "a%b", None, "Ärger"]),
    "member": (pa.bool_(), [True, False, None, True, True, False, True, None, True, False]),
    "day": (pa.date32(), [date(2025, 1, 31), date(2024, 2, 29), None, *[date(1970, 1, 1)] * 7]),
    "seen": (pa.timestamp("us"), [datetime(2025, 12, 31, 23, 59, 59), None, *[datetime(1900, 1, 1)] * 8]),
}
COLUMNS: Mapping[str, Declaration] = {
    "region": Keys(["north", "south", "west"]),
    "age": Number(lower=0, upper=100),
    "income": Number(lower=0, upper=100),
}


def frame(columns: Mapping[str, tuple[pa.DataType, Sequence[object]]] = TROUBLE) -> pa.Table:
    return pa.table({name: pa.array(values, type=kind) for name, (kind, values) in columns.items()})


def table_of(
    engine: DuckDBEngine,
    *,
    unit: str | None = "person",
    columns: Mapping[str, Declaration] = COLUMNS,
    rows: int = 1,
    groups: int = 1,
    total_rows: int | None = None,
    relation: Relation = AddRemove,
) -> DeclaredTable:
    return declared_table(
        name="t",
        schema=engine.schema(),
        unit=PrivacyUnit(column=unit, noun="person"),
        relation=relation,
        columns=columns,
        rows=rows,
        groups=groups,
        total_rows=total_rows,
    )


def asked(plan: PricedPlan) -> list[int]:
    """The places of a plan's parts in the order in which the text asks for them; the plan has an order of its own."""
    names = [name for output in plan.query.outcome.outputs for name in columns_of(output.expression)]
    return [int(name.removeprefix("base ")) for name in dict.fromkeys(names) if name.startswith("base ")]


def plan_of(table: DeclaredTable, text: str) -> PricedPlan:
    return named(price(parse(text, {"t": table}), Price(epsilon=Fraction(1))))


Exact = Callable[..., list[list[int]]]


@pytest.fixture
def exact() -> Exact:
    """exact(sql, source=..., unit=..., rows=..., ...) -> one list of integers per aggregate."""

    def ask(text: str, *, source: pa.Table | None = None, **options: object) -> list[list[int]]:
        engine = DuckDBEngine.from_arrow(frame() if source is None else source)
        plan = plan_of(table_of(engine, **options), text)  # type: ignore[arg-type]
        found = engine.exact(plan, secret=SECRET)
        return [[int(value) for value in found[place]] for place in asked(plan)]

    return ask

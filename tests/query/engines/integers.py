"""Rows with every kind of trouble, and questions whose secret integers must be the same on every engine."""

import datetime as dt
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import deniable as dn
from deniable.errors import UnsupportedQueryError
from deniable.mechanisms.price import Price
from deniable.query.aggregates.aggregate import Tally
from deniable.query.catalog import DeclaredTable
from deniable.query.declarations import Declaration, Keys, Number
from deniable.query.declared import declared_table
from deniable.query.engines.base import Engine
from deniable.query.promise import declared_tables
from deniable.query.rules import price
from deniable.query.sql import parse
from tests.query.conftest import SECRET, plan_of

COLUMNS: dict[str, Declaration] = {
    "g": Keys(["a", "A", "ä", "a\u0308", "a ", "it's", "a${x}"], null=True),
    "x": Number(lower="-1.3", upper=4),
    "k": Number(lower=-3, upper=50),
    "g, k > 3": Keys(["it's", "a", None]) * Keys([True, None]) - [("a", None)],
}
QUESTIONS = [
    "SELECT COUNT(*), COUNT(x), SUM(x), SUM(k), AVG(x), COUNT(DISTINCT who) FROM t",
    "SELECT g, COUNT(*), SUM(x * k), COUNT(*) FILTER (WHERE x > 1), COUNT(DISTINCT who) FROM t GROUP BY g",
    "SELECT g, MEDIAN(x), MAX(k), COUNT(*) FROM t WHERE note LIKE '%a%' OR k < 9 GROUP BY g",
    "SELECT MONTH(day) AS m, b, SUM(k), COUNT(*) FROM t WHERE NOT (note = 'it''s') GROUP BY m, b",
    "SELECT k > 3 AS big, g, COUNT(*), SUM(x) FROM t GROUP BY big, g",
    "SELECT VAR_POP(x), COUNT(*) FROM t WHERE CAST(note AS DOUBLE) IS NULL",
    "SELECT g, COUNT(DISTINCT note), COUNT(DISTINCT k), CORR(x, k) FROM t GROUP BY g",
    "SELECT WIDTH_BUCKET(WIDTH_BUCKET(ROUND(x * k, 1), -9, 90, 9), 1, 9, 3) AS n, COUNT(*), SUM(x) FROM t GROUP BY n",
]
# `lines` reach a unit by a note of theirs, `d` is public. "who" stands for the unit, which may have a
# day beside it.
UNITS = [("who",), ("name",), ("who", "day")]
LONG = "y" * 63  # the names of PostgreSQL end here
RELATIONS = [
    "SELECT COUNT(*), SUM(a.k), AVG(b.x) FROM t a JOIN t b ON a.who = b.who WHERE a.g = 'a'",
    "SELECT g, COUNT(*), SUM(l.size), MEDIAN(x) FROM lines l JOIN t USING (note) GROUP BY g",
    "SELECT COUNT(*), SUM(size), COUNT(DISTINCT note) FROM lines",
    "SELECT label, COUNT(*), SUM(weight), COUNT(weight) FROM t LEFT JOIN d USING (g) GROUP BY label",
    """SELECT d.label AS "👍 it's ""odd"" `", MAX(x), COUNT(DISTINCT day) FROM t JOIN d ON t.g = d.g
    WHERE d.weight > 0 OR b GROUP BY 1""",
    f"""WITH s AS (SELECT who, x * 2 AS {LONG}1, g AS {LONG}2, LEAST(GREATEST(k, 0), 9) AS z FROM t
    WHERE k < 60 OR note LIKE 'a%') SELECT {LONG}2, COUNT(*), SUM(z),
    QUANTILE_CONT(LEAST(GREATEST({LONG}1, -1), 3), 0.9) FROM s GROUP BY 1""",
    "SELECT COUNT(*), SUM(LEAST(GREATEST(v, -3), 3)) FROM (SELECT who, x AS v, note FROM t UNION ALL "
    "SELECT who, CAST(k AS DOUBLE), g FROM t WHERE b) WHERE note <> 'a'",
    "SELECT COUNT(*), SUM(LEAST(n, 4)), "
    + ", ".join(f"SUM(LEAST(GREATEST({name}, -2000), 2000))" for name in ("s", "a", "m", "ks", "ka"))
    + " FROM (SELECT who, SUM(x) AS s, AVG(x) AS a, MIN(x) AS m, COUNT(note) AS n, SUM(k) AS ks, AVG(k) AS ka FROM t "
    "GROUP BY who)",
    "SELECT COUNT(*), MEDIAN(LEAST(GREATEST(s, -9), 9)) FROM (SELECT who, g, SUM(x) AS s, MAX(day) AS d FROM t "
    "GROUP BY who, g) WHERE d > '2000-01-01'",
    "SELECT note, k, COUNT(*), SUM(k) FROM t GROUP BY note, k",
    "SELECT day, g, COUNT(*), MODE(g) FROM t GROUP BY day, g",
]
OTHERS = {
    "lines": pa.table(
        {
            "note": ["a%", "it's", "", "12", "zz", None, "A%", "12"],
            "size": pa.array([1, 2, None, 2**62, 5, 6, 7, 3], pa.int64()),
        }
    ),
    "d": pa.table(
        {
            "g": ["a", "A", "\u00e4", "a\u0308", "it's", None],
            "label": ["x", "y", "x", "it's", "y", "x"],
            "weight": pa.array([1.5, -2.0, float("nan"), 1e308, None, 5e-324], pa.float64()),
        }
    ),
}
DECLARED = {
    "t": COLUMNS,
    "lines": {"size": Number(lower=0, upper=5)},
    "d": {"label": Keys(["x", "y", "it's"]), "weight": Number(lower=-2, upper=2**50)},
}
KINDS = {
    "who": ("bigint", pa.int64()), "name": ("text", pa.string()), "g": ("text", pa.string()),
    "x": ("double precision", pa.float64()), "k": ("bigint", pa.int64()), "note": ("text", pa.string()),
    "day": ("date", pa.date32()), "b": ("boolean", pa.bool_()),
}  # fmt: skip


def trouble() -> dict[str, list[Any]]:
    rng = np.random.default_rng(7)
    size = 400
    odd = [float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 1e308, None, 0.1, 2.5, 3.999999]

    def picked(options: list[Any]) -> list[Any]:
        return [options[place] for place in rng.integers(0, len(options), size)]

    return {
        "who": picked([*range(60), -(2**63), 2**63 - 1, None]),
        "name": picked([f"p{n}" for n in range(60)] + ["Ü", "U\u0308", "", None]),
        "g": picked(["a", "A", "ä", "a\u0308", "a ", "it's", "other", None]),
        "x": picked(odd),
        "k": picked([2**63 - 1, -(2**63), 7, 8, 50, 51, None]),
        "note": picked(["a%", "it's", "", "1e400", "nan", "12", None, "\\", '"seal_0_0"']),
        "day": picked([dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2024, 2, 29), None]),
        "b": picked([True, False, None]),
    }


def plain(exact: Any) -> list[Any]:
    if isinstance(exact, Tally):
        return [exact.cells.tolist(), exact.codes.tolist(), exact.counts.tolist()]
    return [int(value) for value in exact]


def assert_same(one: Engine, other: Engine, text: str, unit: str | None) -> None:
    """Equal totals and tallies, however units are bounded."""
    asked = text if unit == "who" else text.replace(", COUNT(DISTINCT who)", "")
    bounds: list[dict[str, int]] = [{"rows": 2, "groups": 2}, {"total_rows": 3}] if unit else [{}]
    for bound in bounds:
        if "total_rows" in bound and ("MEDIAN" in asked or "DISTINCT" in asked.replace("DISTINCT who", "")):
            continue
        noun = dn.PrivacyUnit(column=unit, noun="person")
        plan = plan_of(declared_table(name="t", schema=one.schema("t"), unit=noun, columns=COLUMNS, **bound), asked)
        other.check(plan)
        here, there = one.exact(plan, secret=SECRET), other.exact(plan, secret=SECRET)
        assert [plain(each) for each in here] == [plain(each) for each in there]


def tables_of(
    engine: Engine, unit: str, period: str | None = None, *, bound: Mapping[str, int]
) -> dict[str, DeclaredTable]:
    promise = {"relation": dn.AddRemove, **bound}
    whose = dn.PrivacyUnit(column=unit, noun="person", period=period)
    paths = {"lines": ("note", "t")}
    return declared_tables(
        DECLARED, schema=engine.schema, columns=DECLARED, public=["d"], unit=whose, promise=promise, paths=paths
    )


def assert_same_relations(one: Engine, other: Engine, text: str, unit: str, period: str | None = None) -> None:
    """Equal keys, with equal weights, and equal totals and tallies."""
    asked = text.replace("who", unit)
    if period is not None:
        for old, new in (
            ("a.who = b.who", "{0} AND a.day = b.day"),
            ("SELECT who", "{0}, day"),
            ("BY who", "{0}, day"),
        ):
            asked = asked.replace(old, new.format(old))
    for bound in ({"rows": 2, "groups": 2}, {"total_rows": 3}):
        query = parse(asked, tables_of(one, unit, period, bound=bound), find=True)
        try:
            plan = price(query, Price(epsilon=Fraction(1), delta=Fraction(1, 1000)))
        except UnsupportedQueryError:  # of an aggregate that total_rows does not bound
            assert "total_rows" in bound
            continue
        other.check(plan)
        if plan.key_search is not None:
            pairs = [engine.keys(plan, secret=SECRET) for engine in (one, other)]
            here, there = (
                sorted(zip(*keys.to_pydict().values(), weights.tolist(), strict=True), key=repr)
                for keys, weights in pairs
            )
            assert here == there
            plan = plan.on(tuple(row[:-1] for row in here))
        exact = [[plain(each) for each in engine.exact(plan, secret=SECRET)] for engine in (one, other)]
        assert exact[0] == exact[1]
        assert any(any(part) for part in exact[0])


def arrow() -> pa.Table:
    rows = trouble()
    return pa.table({name: pa.array(rows[name], kind) for name, (_, kind) in KINDS.items()})

"""Rows with every kind of trouble, and questions whose secret integers must be the same on every engine."""

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa

import deniable as dn
from deniable.query.aggregates.aggregate import Tally
from deniable.query.catalog import Table
from deniable.query.declarations import Declaration, Keys, Number
from deniable.query.engines.base import Engine
from tests.query.conftest import SECRET, plan_of

COLUMNS: dict[str, Declaration] = {
    "g": Keys(["a", "A", "ä", "a\u0308", "a ", "it's"], null=True),
    "x": Number(lower="-1.3", upper=4),
    "k": Number(lower=-3, upper=50),
}
QUESTIONS = [
    "SELECT COUNT(*), COUNT(x), SUM(x), SUM(k), AVG(x), COUNT(DISTINCT who) FROM t",
    "SELECT g, COUNT(*), SUM(x * k), COUNT(*) FILTER (WHERE x > 1), COUNT(DISTINCT who) FROM t GROUP BY g",
    "SELECT g, MEDIAN(x), MAX(k), COUNT(*) FROM t WHERE note LIKE '%a%' OR k < 9 GROUP BY g",
    "SELECT MONTH(day) AS m, b, SUM(k), COUNT(*) FROM t WHERE NOT (note = 'it''s') GROUP BY m, b",
    "SELECT VAR_POP(x), COUNT(*) FROM t WHERE CAST(note AS DOUBLE) IS NULL",
    "SELECT g, COUNT(DISTINCT note), COUNT(DISTINCT k), CORR(x, k) FROM t GROUP BY g",
]
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
        if "total_rows" in bound and ("MEDIAN" in asked or "DISTINCT" in asked):
            continue
        noun = dn.PrivacyUnit(column=unit, noun="person")
        plan = plan_of(Table(name="t", schema=one.schema(), unit=noun, columns=COLUMNS, **bound), asked)
        other.check(plan)
        here, there = one.exact(plan, secret=SECRET), other.exact(plan, secret=SECRET)
        assert [plain(each) for each in here] == [plain(each) for each in there]


def arrow() -> pa.Table:
    rows = trouble()
    return pa.table({name: pa.array(rows[name], kind) for name, (_, kind) in KINDS.items()})

"""Joins: what they take for a unit, and how much there is to derive of many."""

from datetime import date
from unittest.mock import patch

import pyarrow as pa
import pytest

from deniable.errors import UnsupportedQueryError
from deniable.privacy import PrivacyUnit
from deniable.query import table_expression
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.join import MAX_JOINS, Join
from deniable.query.promise import declared_tables
from deniable.query.sql import parse
from tests.query.test_table_expression import engine_of, plan_of, tables_of


def test_a_unit_of_one_day_is_joined_and_grouped_by_both_of_its_columns() -> None:
    """By the user alone, rows of one day would meet those of others, which are other units."""
    held = {name: pa.table({"who": ["x"], "day": [date(2025, 1, 1)]}) for name in "ab"}
    unit, engine = PrivacyUnit(column="who", noun="who", period="day"), DuckDBEngine(held, threads=1)
    tables = declared_tables(held, schema=engine.schema, columns={}, public=[], unit=unit, promise={})
    for columns in ("who, day", "day, who"):
        assert plan_of(f"SELECT COUNT(*) FROM a JOIN b USING ({columns})", tables)
        assert plan_of(f"SELECT COUNT(*) FROM (SELECT DISTINCT {columns} FROM a) u", tables)
    for column in ("who", "day"):
        with pytest.raises(UnsupportedQueryError, match="two private tables are joined"):
            plan_of(f"SELECT COUNT(*) FROM a JOIN b USING ({column})", tables)
        with pytest.raises(UnsupportedQueryError, match="the rows of each unit"):
            plan_of(f"SELECT COUNT(*) FROM (SELECT DISTINCT {column} FROM a) u", tables)


def test_the_unit_of_the_right_side_is_none_where_it_may_be_missing() -> None:
    """NULL is nobody's: people without a row there would be lost, or be one unit together."""
    tables = tables_of(engine_of([], []))
    for join, functions in (("JOIN", ["units", "units"]), ("LEFT JOIN", ["distinct", "units"])):
        rows = f"orders o {join} people p USING (buyer)"
        plan = plan_of(f"SELECT COUNT(DISTINCT p.buyer), COUNT(DISTINCT o.buyer) FROM {rows}", tables)
        assert sorted({part.aggregate.function for part in plan.parts}) == sorted({*functions})
        grouped = f"SELECT COUNT(*) FROM (SELECT DISTINCT p.buyer FROM {rows}) u"
        joined = f"SELECT COUNT(*) FROM (SELECT p.buyer AS b FROM {rows}) u JOIN people q ON b = q.buyer"
        for text in (grouped, joined):
            if join == "JOIN":
                assert plan_of(text, tables)
                continue
            with pytest.raises(UnsupportedQueryError, match=r"the rows of each unit|two private tables"):
                plan_of(text, tables)


def test_rows_without_a_partner_and_their_nulls_are_counted() -> None:
    """The right side has one row of a unit: in a LEFT JOIN the others of the left side stay, with NULL beside them."""
    tables = tables_of(engine_of([], []), rows=9)
    left = "(SELECT DISTINCT buyer, item > 1 AS big FROM orders) a"
    right = "(SELECT buyer, MAX(item) > 1 AS big FROM orders GROUP BY buyer) b ON a.buyer = b.buyer AND a.big = b.big"
    other = "(SELECT DISTINCT buyer, item IS NULL AS none FROM orders) b ON a.buyer = b.buyer"
    for join, rows, values in (("JOIN", 1, {True, False}), ("LEFT JOIN", 3, {True, False, None})):
        assert parse(f"SELECT COUNT(*) FROM {left} {join} {right}", tables).question.source.multiplicity() == rows
        source = parse(f"SELECT COUNT(*) FROM {left} {join} {other}", tables).question.source
        assert source.values(source.column("b.none")) == values


def test_what_is_derived_of_many_joins_and_levels_takes_few_steps() -> None:
    """Each join asks both sides, and each level of a subquery names its columns twice: 2^n steps, were none kept."""
    own, tables = "(SELECT DISTINCT buyer, item FROM orders)", tables_of(engine_of([], []), rows=9)
    for many in (MAX_JOINS, MAX_JOINS + 1):
        pairs = [(f"t{n}", f"t{n - 1}") for n in range(1, many + 1)]
        joins = " ".join(f"JOIN {own} {a} ON {a}.buyer = {b}.buyer AND {a}.item = {b}.item" for a, b in pairs)
        source = parse(f"SELECT COUNT(*) FROM {own} t0 {joins} WHERE t0.item = 1", tables).question.source
        with patch.object(Join, "fixed_in", autospec=True, side_effect=Join.fixed_in) as counted:
            assert source.multiplicity() == (1 if many == MAX_JOINS else None)
        assert counted.call_count < 20 * many
    text = "SELECT buyer, item, paid > 0 AS up FROM orders"
    for level in range(30):
        text = f"SELECT buyer, item, CASE WHEN item > {level} THEN up ELSE up END AS up FROM ({text}) q"
    source = parse(f"SELECT COUNT(*) FROM (SELECT DISTINCT buyer, up FROM ({text}) q) r", tables).question.source
    with patch.object(table_expression, "values_of", side_effect=table_expression.values_of) as counted:
        assert source.multiplicity() == 3
    assert counted.call_count < 200

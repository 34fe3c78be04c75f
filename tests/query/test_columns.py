"""Expressions of frames mean what the same text of SQL means."""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal

import pytest
import sqlglot

import deniable as dn
from deniable.errors import InvalidParameterError
from deniable.query.catalog import DeclaredTable
from deniable.query.columns import Expr, node_of
from deniable.query.expression import Kind
from deniable.query.scope import Item, RowScope
from deniable.query.table_expression import Scan
from deniable.query.translation import translate

col = dn.col
TABLE = Scan(
    DeclaredTable(
        name="t",
        schema={
            "i": Kind.INTEGER,
            "x": Kind.REAL,
            "s": Kind.TEXT,
            "b": Kind.BOOLEAN,
            "d": Kind.DATE,
            "t": Kind.TIMESTAMP,
        },
        unit=dn.each_row(),
    )
)
SAME: list[tuple[Expr, str]] = [
    (1 + col("i") * 2 - col("x") / 3, "1 + i * 2 - x / 3"),
    ((2 - col("i")) * (3 / col("x")) % 4, "(2 - i) * (3 / x) % 4"),
    ((col("i") + 1) ** 2, "POWER(i + 1, 2)"),
    (-col("x") * abs(col("i")), "(-x) * ABS(i)"),
    (2 * (1 - (1 - col("i"))), "2 * (1 - (1 - i))"),
    ((col("i") > 1) & (col("x") <= 2.5) | ~(col("s") == "a"), "i > 1 AND x <= 2.5 OR NOT s = 'a'"),
    ((col("i") != 1) & ((col("i") >= -3) | (col("i") < 2)), "i <> 1 AND (i >= -3 OR i < 2)"),
    (col("x").clip(0, Decimal("1.5")), "LEAST(GREATEST(x, 0), 1.5)"),
    (col("x").round(1) + col("x").round().floor().ceil().sign(), "ROUND(x, 1) + SIGN(CEIL(FLOOR(ROUND(x))))"),
    (col("x").abs().sqrt().log(), "LN(SQRT(ABS(x)))"),
    (col("s").lower().upper().strip().length(), "LENGTH(TRIM(UPPER(LOWER(s))))"),
    (col("s").like("a%") & col("s").is_in(["a", "b"]), "s LIKE 'a%' AND s IN ('a', 'b')"),
    (col("i").is_between(1, 3), "i BETWEEN 1 AND 3"),
    (~col("i").is_null(), "NOT i IS NULL"),
    (col("i").fill_null(0), "COALESCE(i, 0)"),
    (col("d").year() + col("d").quarter() + col("d").month(), "YEAR(d) + QUARTER(d) + MONTH(d)"),
    (col("d").week() + col("d").day() + col("d").weekday(), "WEEK(d) + DAY(d) + DAYOFWEEK(d)"),
    (col("t").hour() + col("s").cast(int), "HOUR(t) + CAST(s AS BIGINT)"),
    (col("d").truncate("month"), "DATE_TRUNC('month', d)"),
    (col("d") > date(2025, 1, 2), "d > '2025-01-02'"),
    (col("t") > datetime(2025, 1, 2, 3), "t > '2025-01-02 03:00:00'"),
    (dn.when(col("i") > 1).then(col("x")).otherwise(None), "CASE WHEN i > 1 THEN x END"),
    (dn.when(col("b")).then("y").otherwise(dn.lit("n")), "CASE WHEN b THEN 'y' ELSE 'n' END"),
]


@pytest.mark.parametrize(("expression", "text"), SAME, ids=[text for _, text in SAME])
def test_an_expression_is_that_of_sql(expression: Expr, text: str) -> None:
    scope = RowScope(TABLE, [Item(("t",), TABLE)])
    wanted = translate(sqlglot.parse_one(text, dialect="duckdb"), scope)
    assert translate(expression.node, scope).to_json() == wanted.to_json()
    printed = translate(sqlglot.parse_one(str(expression), dialect="duckdb"), scope)
    assert printed.to_json() == wanted.to_json(), "what is shown to people means the same"


def test_an_aggregate_keeps_the_filter_of_its_value() -> None:
    kept = col("x").filter(col("i") > 1)
    assert str(kept.quantile(0.9)) == "QUANTILE_CONT(x, 0.9) FILTER(WHERE i > 1)"
    assert str(kept.corr(col("i"))) == "CORR(x, i) FILTER(WHERE i > 1)"
    assert str(dn.len().filter(col("b"))) == "COUNT(*) FILTER(WHERE b)"
    assert str(col("x").n_unique() + kept.count()) == "COUNT(DISTINCT x) + COUNT(x) FILTER(WHERE i > 1)"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: bool(col("i") > 1), "Write & | ~"),
        (lambda: col(""), "name of a column"),
        (lambda: col("i") + object(), "a number, text"),
        (lambda: col("i").is_in("abc"), "list of constants"),
        (lambda: col("i").cast(list), "cast takes"),
        (lambda: col("i").filter("i > 1"), "a condition is needed"),
        (lambda: dn.when(True).then(1), "a condition is needed"),
        (lambda: col("i").otherwise(1), "follows dn.when"),
    ],
)
def test_what_is_no_expression_is_refused(wrong: Callable[[], object], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        wrong()


def test_a_node_stands_in_one_tree_alone() -> None:
    one = col("i") > 1
    assert (one & one).node.this is not one.node
    assert node_of(one) is not one.node

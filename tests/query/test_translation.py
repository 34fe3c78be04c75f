"""Expressions of SQL as our own: their ranges, their constants, and how large they may be."""

from fractions import Fraction

import pytest

from deniable.errors import UnsupportedQueryError
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.expression import Kind
from deniable.query.plan import Query
from deniable.query.sql import parse
from tests.query.conftest import frame, table_of

TABLE = table_of(DuckDBEngine.from_arrow(frame()))


def ask(text: str) -> Query:
    return parse(text, {"t": TABLE})


def test_ranges_follow_the_expression() -> None:
    argument = ask("SELECT SUM(LEAST(GREATEST(big * 2, -3), 10) + age / 4) FROM t").question.aggregates[0].argument
    assert argument is not None
    assert (argument.facts.lower, argument.facts.upper) == (-3, 35)
    assert argument.facts.kind is Kind.REAL


def test_not_like_is_read() -> None:
    where = ask("SELECT COUNT(*) FROM t WHERE note NOT LIKE 'a%' AND note NOT ILIKE 'b%'").question.where
    assert where is not None
    assert [part.operator for part in where.arguments] == ["not", "not"]


def test_numbers_keep_their_decimal_value() -> None:
    where = ask("SELECT COUNT(*) FROM t WHERE income > 0.1").question.where
    assert where is not None
    assert where.arguments[1].value == Fraction(1, 10)


BLOW_UPS = {
    "a chain": "age" + " + 1" * 4000,
    "alternatives": " OR ".join(["age = 1"] * 3000),
    "repeated subjects": "(" * 20 + "age" + " BETWEEN 1 AND 2)::INT" * 20 + " BETWEEN 1 AND 2",
}


@pytest.mark.parametrize("name", BLOW_UPS)
def test_expressions_that_would_fill_the_memory_are_refused(name: str) -> None:
    text = BLOW_UPS[name]
    with pytest.raises(UnsupportedQueryError, match=r"too long|too deeply"):
        ask(
            f"SELECT COUNT(*) FROM t WHERE {text}" if "=" in text or "BETWEEN" in text else f"SELECT SUM({text}) FROM t"
        )

"""Kinds, ranges and keys of operators. That ranges hold for every row is tested on the engine (engines/)."""

import re
from datetime import date, timedelta
from fractions import Fraction

import pytest

from deniable.errors import UnsupportedQueryError
from deniable.query.expression import Column, Expression, Facts, Kind, literal
from deniable.query.operators import OPERATORS, SIGNS, call

WHOLE = Column("whole", Facts(kind=Kind.INTEGER, lower=Fraction(-3), upper=Fraction(7)))
REAL = Column("real", Facts(kind=Kind.REAL, lower=Fraction(1, 2), upper=Fraction(4)))
OPEN = Column("open", Facts(kind=Kind.REAL))
TEXT = Column("text", Facts(kind=Kind.TEXT, keys=("a", "b")))
TRUTH = Column("truth", Facts(kind=Kind.BOOLEAN, keys=(False, True)))
DAY = Column("day", Facts(kind=Kind.DATE))

RANGES: list[tuple[Expression, object, object]] = [
    (call("add", WHOLE, REAL), Fraction(-5, 2), 11),
    (call("subtract", WHOLE, REAL), -7, Fraction(13, 2)),
    (call("multiply", WHOLE, REAL), -12, 28),
    (call("divide", WHOLE, REAL), -6, 14),
    (call("divide", REAL, WHOLE), None, None),
    (call("modulo", WHOLE, literal(5)), -5, 5),
    (call("negate", REAL), -4, Fraction(-1, 2)),
    (call("abs", WHOLE), 0, 7),
    (call("abs", call("negate", REAL)), Fraction(1, 2), 4),
    (call("least", OPEN, literal(3)), None, 3),
    (call("greatest", OPEN, literal(3)), 3, None),
    (call("greatest", call("least", OPEN, literal(9)), literal(-1)), -1, 9),
    (call("coalesce", WHOLE, literal(9)), -3, 9),
    (call("case", TRUTH, WHOLE, literal(20)), -3, 20),
    (call("case", TRUTH, WHOLE, literal(None)), -3, 7),
    (call("to_integer", TRUTH), 0, 1),
    (call("floor", REAL), 0, 4),
    (call("sqrt", REAL), 0, 3),
    (call("length", TEXT), 0, None),
    (call("month", DAY), 1, 12),
    (call("add", WHOLE, OPEN), None, None),
]


@pytest.mark.parametrize(("expression", "lower", "upper"), RANGES, ids=str)
def test_ranges(expression: Expression, lower: object, upper: object) -> None:
    assert (expression.facts.lower, expression.facts.upper) == (lower, upper)


def test_keys_are_known_where_few_values_are_possible() -> None:
    assert call("gt", WHOLE, literal(3)).facts.keys == (False, True)
    assert call("case", TRUTH, literal("x"), TEXT).facts.keys == ("x", "a", "b")
    assert call("quarter", DAY).facts.keys == (1, 2, 3, 4)
    assert call("upper", TEXT).facts.keys is None
    assert call("add", literal(1), literal(2)).facts.keys is None


@pytest.mark.parametrize("period", ["week", "month", "quarter", "year"])
def test_first_days_of_periods_are_those_of_all_days_within_the_bounds(period: str) -> None:
    first, last = date(2023, 12, 30).toordinal(), date(2025, 3, 1).toordinal()
    days = [date.fromordinal(day) for day in range(first, last + 1)]
    starts = {
        "week": lambda day: day - timedelta(days=day.weekday()),
        "month": lambda day: day.replace(day=1),
        "quarter": lambda day: day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1),
        "year": lambda day: day.replace(day=1, month=1),
    }
    facts = Facts(kind=Kind.TIMESTAMP, lower=Fraction(first), upper=Fraction(last))
    assert call(f"to_{period}", Column("seen", facts)).facts.keys == tuple(dict.fromkeys(map(starts[period], days)))
    assert call("to_date", Column("seen", facts)).facts.keys == tuple(days)
    ever = Facts(kind=Kind.DATE, lower=Fraction(1), upper=Fraction(date(9999, 12, 31).toordinal()))
    keys = call(f"to_{period}", Column("day", ever)).facts.keys
    assert keys is None or keys[-1] == date(9999, 1, 1)
    assert call(f"to_{period}", DAY).facts.keys is None


def test_only_coalesce_rules_null_out() -> None:
    assert not call("coalesce", WHOLE, literal(0)).facts.nullable
    assert call("coalesce", WHOLE, WHOLE).facts.nullable
    assert call("add", literal(1), literal(2)).facts.nullable


BAD = [
    ("add", [TEXT, WHOLE]),
    ("and", [WHOLE, TRUTH]),
    ("eq", [TEXT, WHOLE]),
    ("eq", [DAY, WHOLE]),
    ("case", [WHOLE, WHOLE, WHOLE]),
    ("coalesce", [TEXT, WHOLE]),
    ("month", [TEXT]),
    ("hour", [DAY]),
    ("lower", [WHOLE]),
    ("to_date", [WHOLE]),
    ("substring", [TEXT, TEXT, TEXT]),
    ("sqrt", [literal(None)]),
]


@pytest.mark.parametrize(("name", "arguments"), BAD, ids=str)
def test_kinds_that_do_not_fit_are_refused_in_words(name: str, arguments: list[Expression]) -> None:
    with pytest.raises(
        UnsupportedQueryError, match=f"{re.escape(SIGNS.get(name, name.upper()))} takes {OPERATORS[name].takes[:5]}"
    ):
        call(name, *arguments)

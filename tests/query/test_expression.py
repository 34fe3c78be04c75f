"""Expressions as data: facts of constants, columns read, a canonical form."""

import json
from datetime import date, datetime
from fractions import Fraction

import pytest

from deniable.query.expression import Column, Facts, Kind, columns_of, literal
from deniable.query.operators import call

AGE = Column("age", Facts(kind=Kind.INTEGER))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, Kind.BOOLEAN),
        (3, Kind.INTEGER),
        (Fraction(1, 3), Kind.REAL),
        ("x", Kind.TEXT),
        (date(2025, 1, 1), Kind.DATE),
        (datetime(2025, 1, 1, 5), Kind.TIMESTAMP),
        (None, Kind.NULL),
    ],
)
def test_a_constant_knows_its_kind_and_value(value: object, kind: Kind) -> None:
    constant = literal(value)  # type: ignore[arg-type]
    assert constant.facts.kind is kind
    assert constant.facts.nullable == (value is None)
    if kind.is_number:
        assert constant.facts.lower == constant.facts.upper == value


def test_columns_are_found_wherever_they_stand() -> None:
    expression = call("add", AGE, call("multiply", literal(2), AGE))
    assert list(columns_of(expression)) == ["age", "age"]
    assert list(columns_of(literal(1))) == []


def test_the_canonical_form_tells_different_expressions_apart() -> None:
    expressions = [AGE, literal(1), literal(Fraction(1)), literal("1"), literal(True), call("add", AGE, literal(1))]
    texts = {json.dumps(expression.to_json(), sort_keys=True) for expression in expressions}
    assert len(texts) == len(expressions)

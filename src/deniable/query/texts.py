"""Limits on the text that a question makes of one row, from its expressions.

A column of text is missing in rows where it is longer than `LONGEST_TEXT`, and every operator says how long its result
can be. So no row decides by its values alone how much memory a question needs, or whether it ends.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

from deniable.errors import UnsupportedQueryError
from deniable.query.catalog import DeclaredTable
from deniable.query.expression import LONGEST_TEXT, Call, Column, Expression, Kind, Literal
from deniable.query.plan import Question
from deniable.query.table_expression import TableExpression

MOST_TEXT = 2**20  # characters that a question may make of one row, in all of its expressions
PASSED_ON = ("case", "coalesce", "nullif")  # operators that give one of their arguments, and make no new text


def check_texts(question: Question) -> None:
    """Refuse a question that could make very long texts of one row.

    Raises: UnsupportedQueryError.
    """
    length = characters(question)
    if length > MOST_TEXT:
        raise UnsupportedQueryError(
            f"this question can make {length:,} characters of text from one row; at most {MOST_TEXT:,} are allowed. "
            f"A column of text counts with {LONGEST_TEXT:,}: shorten it first, SUBSTRING(column, 1, 100)."
        )


def characters(held: Question | TableExpression) -> int:
    """Return the number of characters that the expressions make of one row.

    The expressions of a question or table expression.

    Equal expressions of one SELECT are computed once.
    """
    parts = list(_parts(held))
    made = {each for part in parts if not isinstance(part, TableExpression) for each in _texts(part)}
    below = sum(characters(part) for part in parts if isinstance(part, TableExpression))
    return below + sum(
        each.arguments[0].facts.longest if each.operator == "ilike" else each.facts.longest for each in made
    )


def _parts(held: object) -> Iterator[Expression | TableExpression]:
    """Yield the expressions in a part of a question, and the tables below it.

    The part is a question, table expression, aggregate or list; the tables are table expressions.
    """
    match held:
        case Question():
            values: list[object] = [held.source, held.keys, held.aggregates]
        case tuple():
            values = [*held]
        case Mapping():
            values = [*held.values()]
        case _:
            values = [getattr(held, each.name) for each in fields(held)]  # type: ignore[arg-type]
    for value in values:
        if isinstance(value, Column | Literal | Call | TableExpression):
            yield value
        elif isinstance(value, Mapping | tuple) or (is_dataclass(value) and not isinstance(value, DeclaredTable)):
            yield from _parts(value)


def _texts(expression: Expression) -> Iterator[Call]:
    """Yield the calls in an expression that make text.

    ILIKE compares letters of one case, which it makes first.
    """
    if not isinstance(expression, Call):
        return
    made = expression.facts.kind is Kind.TEXT and expression.operator not in PASSED_ON
    if made or expression.operator == "ilike":
        yield expression
    for argument in expression.arguments:
        yield from _texts(argument)

"""Columns that follow from expressions, and values that expressions can have."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar, cast

from deniable.query.declarations import listed_keys
from deniable.query.expression import Call, Column, Expression, Facts, Kind, Literal, Value, operands
from deniable.query.operators import call

Names = frozenset[str]
NOTHING: Names = frozenset()
Values = frozenset[Value]
MAX_SIZE = 200  # parts of an expression whose values or dependencies are derived
IDENTICAL = frozenset({Kind.INTEGER, Kind.TEXT, Kind.DATE, Kind.BOOLEAN})  # equal values are the same; 0.0 = -0.0
INJECTIVE = {
    "not": {Kind.BOOLEAN},
    "to_text": IDENTICAL,
    "to_integer": {Kind.INTEGER, Kind.BOOLEAN},
    "to_date": {Kind.DATE},
    "to_timestamp": {Kind.DATE},
}

Method = TypeVar("Method", bound=Callable[..., Any])


def memoized(method: Method) -> Method:
    """Memoize a method of a table expression by the columns that it is asked about."""

    @wraps(method)
    def answered(self: Any, *asked: Any) -> Any:
        if any(isinstance(each, Literal | Call) for each in asked):
            return method(self, *asked)
        memo = self.__dict__.setdefault("answered", {})
        key = (method.__qualname__, *(each.name if isinstance(each, Column) else each for each in asked))
        if key not in memo:
            memo[key] = method(self, *asked)
        return memo[key]

    return cast("Method", answered)


def determined(expressions: Iterable[Expression]) -> Names:
    """Return the columns whose values follow from those of expressions.

    An expression may be a column, or a column read as another type.
    """
    return frozenset(name for each in expressions if (name := _determined(each)) is not None)


def _determined(expression: Expression) -> str | None:
    match expression:
        case Column(name=name, facts=facts):
            return name if facts.kind in IDENTICAL else None
        case Call(operator=operator, arguments=(one,)) if one.facts.kind in INJECTIVE.get(operator, ()):
            return _determined(one)
    return None


def constants(condition: Expression) -> Names:
    """The columns that have one value in all rows for which a condition holds."""
    return determined(filter(None, map(_constant, operands(condition, "and"))))


def _constant(condition: Expression) -> Expression | None:
    """The expression that has one value in all rows for which a condition holds."""
    match condition:
        case Column():
            return condition
        case Call(operator="not" | "is_null", arguments=(Column() as column,)):
            return column
        case Call(operator="eq", arguments=(one, Literal(value=value))) if value is not None:
            return one
        case Call(operator="eq", arguments=(Literal(value=value), one)) if value is not None:
            return one
    return None


def values_of(
    expression: Expression, known: Callable[[Expression], frozenset[Value] | None]
) -> frozenset[Value] | None:
    """Return all values of an expression, NULL too, or None if they are not few.

    They follow from how it is computed.

    Args:
        known: the same of the columns in it.
    """
    if expression.size > MAX_SIZE:
        return None
    match expression:
        case Literal(value=value):
            return frozenset({value})
        case Call(operator="is_null"):
            return frozenset({False, True})
        case Call(operator="case", arguments=arguments):
            branches = (*arguments[1::2], arguments[-1])
            parts = [known(each) if isinstance(each, Column) else values_of(each, known) for each in branches]
            return None if None in parts else frozenset(value for part in parts for value in part or ())
    facts = _bare(expression).facts
    keys = listed_keys(facts)
    return None if keys is None else frozenset({*keys, None} if facts.nullable else keys)


def _bare(expression: Expression) -> Expression:
    """Return an expression with the facts that hold whatever its columns hold.

    Nothing that is declared of the columns counts.
    """
    match expression:
        case Column(name=name, facts=facts):
            return Column(name, Facts(kind=facts.kind))
        case Literal():
            return expression
        case Call(operator=operator, arguments=arguments):
            return call(operator, *map(_bare, arguments))

"""Typed, immutable row-wise expressions.

They are what a query may compute from one row, or from one row of noisy results.

An expression carries facts that the planner needs and that hold for every row, whatever the data: its kind, a public
range of its value and, where it can take few values only, the list of them. Every operator is *total*: where SQL would
stop (overflow, division by zero, a date that is none) the value is NULL, and no expression is ever NaN.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from deniable.numbers.rationals import quotient_text

Value = bool | int | Fraction | str | date | datetime | None
Key = bool | int | str | date | None
LONGEST_TEXT = 2**16  # bytes of a text that is read from a column; longer ones are missing


class Kind(Enum):
    """The kinds of value that expressions have.

    Each engine maps its own column types to these.
    """

    BOOLEAN = "boolean"
    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"
    NULL = "null"

    @property
    def is_number(self) -> bool:
        return self in (Kind.INTEGER, Kind.REAL)


_WRITTEN_OUT = {Kind.BOOLEAN: len("false"), Kind.INTEGER: len(str(-(2**63))), Kind.DATE: len("2025-12-31")}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Public facts of a value: bounds `lower` and `upper`, possible values `keys`.

    `nullable` is False only where the expression itself rules NULL out; a promise about the data is never relied on.
    `length` is the largest number of characters of a text; None for that of a column, which is limited when it is read.
    """

    kind: Kind
    lower: Fraction | None = None
    upper: Fraction | None = None
    keys: tuple[Key, ...] | None = None
    nullable: bool = True
    length: int | None = None

    @property
    def longest(self) -> int:
        """The largest number of characters of the value as text."""
        if self.kind is Kind.TEXT:
            return LONGEST_TEXT if self.length is None else self.length
        return _WRITTEN_OUT.get(self.kind, 0)

    @property
    def bounded(self) -> bool:
        return self.lower is not None and self.upper is not None

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The bounds, where it is `bounded`."""
        assert self.lower is not None
        assert self.upper is not None
        return self.lower, self.upper


@dataclass(frozen=True)
class Column:
    """A column of the private table, or a base value of the noisy result."""

    name: str
    facts: Facts
    size: ClassVar[int] = 1
    depth: ClassVar[int] = 0

    def to_json(self) -> object:
        return {"column": self.name, "kind": self.facts.kind.value}


@dataclass(frozen=True)
class Literal:
    """A constant of the query text."""

    value: Value
    facts: Facts
    size: ClassVar[int] = 1
    depth: ClassVar[int] = 0

    def to_json(self) -> object:
        value = self.value
        if isinstance(value, Fraction):
            value = quotient_text(value)
        elif isinstance(value, date):
            value = str(value)
        return {"literal": value, "kind": self.facts.kind.value}


@dataclass(frozen=True)
class Call:
    """An operator of the allow-list applied to expressions.

    Made by `operators.call`, which derives the rest.

    `size` counts operators and leaves, each as often as it is written out; `depth` is that of the nesting.
    """

    operator: str
    arguments: tuple["Expression", ...]
    facts: Facts
    size: int
    depth: int

    def to_json(self) -> object:
        """Return one form for all expressions that certainly mean the same.

        a > b is b < a, and the order of alike operands is fixed.
        """
        return self.form[0]

    @cached_property
    def form(self) -> tuple[object, str]:
        """`to_json`, and its text, by which operands are put in order.

        Both are made once, of those of the arguments.
        """
        operator, arguments = self.operator, self.arguments
        if operator in MIRRORED:
            operator = MIRRORED[operator]
            arguments = arguments[::-1]
        forms = [_form(each) for each in (operands(self, operator) if operator in ("and", "or") else arguments)]
        fixed = 0 if operator in ("and", "or", *COMMUTATIVE) else 1 if operator == "in" else len(forms)
        forms[fixed:] = sorted(forms[fixed:], key=lambda form: form[1])
        text = f'{{"arguments": [{", ".join(text for _, text in forms)}], "call": {json.dumps(operator)}}}'
        return {"call": operator, "arguments": [said for said, _ in forms]}, text


Expression = Column | Literal | Call
MIRRORED = {"gt": "lt", "ge": "le"}
WRITTEN = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "modulo": "%", "eq": "=", "ne": "<>"}
WRITTEN |= {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "AND", "or": "OR"}
COMMUTATIVE = ("add", "multiply", "eq", "ne", "least", "greatest")


def _form(expression: Expression) -> tuple[object, str]:
    if isinstance(expression, Call):
        return expression.form
    said = expression.to_json()
    return said, json.dumps(said, sort_keys=True)


def canonical(said: Iterable[object]) -> list[object]:
    """Plain data in an order of its own."""
    return sorted(said, key=lambda item: json.dumps(item, sort_keys=True))


def operands(expression: Expression, operator: str) -> Iterator[Expression]:
    """Return the operands of nested calls of one operator.

    An expression that is no such call is its own operand.
    """
    if isinstance(expression, Call) and expression.operator == operator:
        for argument in expression.arguments:
            yield from operands(argument, operator)
    else:
        yield expression


def substituted(expression: Expression, meaning: "Callable[[Column], Expression]") -> Expression:
    """Return an expression with its columns replaced by what they mean."""
    if isinstance(expression, Column):
        return meaning(expression)
    if isinstance(expression, Literal):
        return expression
    return replace(expression, arguments=tuple(substituted(each, meaning) for each in expression.arguments))


def literal(value: Value) -> Literal:
    """The constant `value` with its facts."""
    match value:
        case None:
            return Literal(None, Facts(kind=Kind.NULL))
        case bool():
            return Literal(value, Facts(kind=Kind.BOOLEAN, keys=(value,), nullable=False))
        case int():
            exact = Fraction(value)
            return Literal(value, Facts(kind=Kind.INTEGER, lower=exact, upper=exact, keys=(value,), nullable=False))
        case Fraction():
            return Literal(value, Facts(kind=Kind.REAL, lower=value, upper=value, nullable=False))
        case str():
            return Literal(value, Facts(kind=Kind.TEXT, keys=(value,), nullable=False, length=len(value)))
        case datetime():
            return Literal(value, Facts(kind=Kind.TIMESTAMP, nullable=False))
        case date():
            return Literal(value, Facts(kind=Kind.DATE, keys=(value,), nullable=False))


def columns_of(expression: Expression) -> Iterator[str]:
    """Names of the columns that an expression reads, with repetitions."""
    match expression:
        case Column(name=name):
            yield name
        case Call(arguments=arguments):
            for argument in arguments:
                yield from columns_of(argument)
        case Literal():
            return


def bases_of(expression: Expression) -> tuple[str, ...]:
    """Return the noisy numbers that an expression of the answer reads, each once.

    They are `base 0` and so on.
    """
    return tuple(dict.fromkeys(name for name in columns_of(expression) if name.startswith("base ")))


def text_of(expression: Expression) -> str:
    """An expression as text, for people; long ones are cut."""
    return text_cut(_written(expression))


def _written(expression: Expression, *, inside: bool = False) -> str:
    match expression:
        case Column(name=name):
            return name
        case Literal(value=value):
            return repr(value) if isinstance(value, str) else "NULL" if value is None else str(value)
        case Call(operator="case", arguments=(Call(operator="lt", arguments=(low, _)), _, _, _, value)) if low == value:
            return _written(value, inside=inside)  # clamped to its range
        case Call(operator="case", arguments=arguments):
            pairs = zip(arguments[:-1:2], arguments[1::2], strict=True)
            said = "".join(f"WHEN {_written(test)} THEN {_written(value)} " for test, value in pairs)
            return f"CASE {said}ELSE {_written(arguments[-1])} END"
        case Call(operator=operator, arguments=(one, other)) if operator in WRITTEN:
            said = f"{_written(one, inside=True)} {WRITTEN[operator]} {_written(other, inside=True)}"
            return f"({said})" if inside else said
        case Call(operator="is_null", arguments=(one,)):
            return f"{_written(one, inside=True)} IS NULL"
        case Call(operator="not", arguments=(Call(operator="is_null", arguments=(one,)),)):
            return f"{_written(one, inside=True)} IS NOT NULL"
        case Call(operator=operator, arguments=arguments):
            return f"{operator.upper()}({', '.join(map(_written, arguments))})"


def text_cut(said: str) -> str:
    """A text in one line that is not too long."""
    line = " ".join(said.split())
    return line if len(line) <= 60 else line[:57] + "..."

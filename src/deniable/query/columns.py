"""Expressions of frames: `col`, `lit`, `when` and `len`.

They are nodes that the readers of SQL read.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import NoReturn

from sqlglot import exp

from deniable.errors import InvalidParameterError

Make = Callable[..., exp.Expr]
_TYPES = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "TEXT", date: "DATE", datetime: "TIMESTAMP"}


def _of(kind: type[exp.Expr]) -> Make:
    return lambda one, *other: kind(this=one, **dict(zip(("expression",), other, strict=False)))


def _value(make: Make, says: str) -> Callable[..., "Expr"]:
    """A method that makes a value of a row from the value and other ones."""

    def apply(self: "Expr", *others: object) -> "Expr":
        return Expr(make(*map(_held, (self, *others))), self.name)

    apply.__doc__ = says
    return apply


def _operator(kind: type[exp.Expr], *, swapped: bool = False) -> Callable[..., "Expr"]:
    make = _of(kind)
    return _value(
        (lambda one, other: make(other, one)) if swapped else make, "Return the result of the operator, row by row."
    )


def _total(make: Make, says: str) -> Callable[..., "Expr"]:
    """Return a method that aggregates a group.

    Rows that the value's filter leaves out do not count.
    """

    def apply(self: "Expr", *others: object) -> "Expr":
        inner = self.node.this if isinstance(self.node, exp.Filter) else self.node
        node = make(inner.copy(), *map(node_of, others))
        if isinstance(self.node, exp.Filter):
            node = exp.Filter(this=node, expression=self.node.expression.copy())
        return Expr(node, self.name)

    apply.__doc__ = says
    return apply


@dataclass(frozen=True, eq=False, repr=False)
class Expr:
    """Value of each row, or with an aggregate a number of each group.

    Made by `col`, `lit`, `when` and `len`.

    Operators and methods are those of Polars, with dates and text beside numbers: `dn.col("day").year()`.
    """

    node: exp.Expr
    name: str = "literal"  # of the column that it makes

    __add__, __radd__ = _operator(exp.Add), _operator(exp.Add, swapped=True)
    __sub__, __rsub__ = _operator(exp.Sub), _operator(exp.Sub, swapped=True)
    __mul__, __rmul__ = _operator(exp.Mul), _operator(exp.Mul, swapped=True)
    __truediv__, __rtruediv__ = _operator(exp.Div), _operator(exp.Div, swapped=True)
    __mod__, __pow__ = _operator(exp.Mod), _operator(exp.Pow)
    __lt__, __le__, __gt__, __ge__ = map(_operator, (exp.LT, exp.LTE, exp.GT, exp.GTE))
    __eq__, __ne__, __and__, __or__ = map(_operator, (exp.EQ, exp.NEQ, exp.And, exp.Or))  # type: ignore[assignment]
    __rand__, __ror__ = _operator(exp.And, swapped=True), _operator(exp.Or, swapped=True)
    __neg__, __invert__, __abs__ = map(_operator, (exp.Neg, exp.Not, exp.Abs))
    __hash__ = None  # type: ignore[assignment]

    abs = _value(_of(exp.Abs), "Return the absolute value.")
    sqrt = _value(_of(exp.Sqrt), "Return the square root; missing below 0.")
    log = _value(_of(exp.Ln), "Return the natural logarithm; missing where there is none.")
    sign = _value(_of(exp.Sign), "Return -1, 0 or 1.")
    floor = _value(_of(exp.Floor), "Round down to a whole number.")
    ceil = _value(_of(exp.Ceil), "Round up to a whole number.")
    round = _value(lambda one, *decimals: exp.Round(this=one, decimals=(*decimals, None)[0]), "Round to decimals.")
    clip = _value(
        lambda one, low, high: exp.Least(
            this=exp.Greatest(this=one, expressions=[low], ignore_nulls=True), expressions=[high], ignore_nulls=True
        ),
        "Clamp values to a lowest and a highest number: public bounds for `sum` and `mean`.",
    )
    lower = _value(_of(exp.Lower), "Return the text in lower case.")
    upper = _value(_of(exp.Upper), "Return the text in upper case.")
    strip = _value(_of(exp.Trim), "Return the text without spaces around it.")
    length = _value(_of(exp.Length), "Count the characters of the text.")
    like = _value(_of(exp.Like), "Tell whether the text has the pattern, as LIKE does.")
    year = _value(_of(exp.Year), "Return the year of the date.")
    quarter = _value(_of(exp.Quarter), "Return the quarter of the date, 1 to 4.")
    month = _value(_of(exp.Month), "Return the month of the date, 1 to 12.")
    week = _value(_of(exp.Week), "Return the ISO week of the date.")
    day = _value(_of(exp.Day), "Return the day of the month.")
    weekday = _value(_of(exp.DayOfWeek), "Return the day of the week, Sunday as 0.")
    hour = _value(_of(exp.Hour), "Return the hour of the moment.")
    truncate = _value(
        lambda one, unit: exp.TimestampTrunc(this=one, unit=unit),
        'Return the first day of the "month", "week" or "year".',
    )
    minute = _value(_of(exp.Minute), "Return the minute of the moment.")
    ordinal_day = _value(_of(exp.DayOfYear), "Return the day of the year, 1 to 366.")
    slice = _value(
        lambda one, start, length: exp.Substring(this=one, start=start, length=length),
        "Return characters of the text: from a position, counted from 1, and how many.",
    )
    concat = _value(lambda one, other: exp.DPipe(this=one, expression=other, safe=True), "Append another text.")
    bucket = _value(
        lambda one, low, high, bins: exp.WidthBucket(this=one, min_value=low, max_value=high, num_buckets=bins),
        "Return the number of the bin, of `bins` equal ones between two constants; 0 below, bins + 1 above.",
    )
    is_null = _value(lambda one: exp.Is(this=one, expression=exp.Null()), "Tell whether the value is missing.")
    is_between = _value(
        lambda one, low, high: exp.Between(this=one, low=low, high=high),
        "Tell whether the value lies between two others, ends included.",
    )
    fill_null = _value(
        lambda one, other: exp.Coalesce(this=one, expressions=[other]), "Replace missing values by another value."
    )

    count = _total(_of(exp.Count), "Count the rows in which the value is not missing.")
    sum = _total(_of(exp.Sum), "Add the values up.")
    mean = _total(_of(exp.Avg), "Average the values.")
    median = _total(_of(exp.Median), "Return the value in the middle.")
    quantile = _total(_of(exp.PercentileCont), "Return the value below which this share of the rows lies.")
    min = _total(_of(exp.Min), "Return a value near the smallest.")
    max = _total(_of(exp.Max), "Return a value near the largest.")
    var = _total(_of(exp.Variance), "Return the sample variance.")
    std = _total(_of(exp.Stddev), "Return the sample standard deviation.")
    mode = _total(_of(exp.Mode), "Return the most frequent of the public values.")
    var_pop = _total(_of(exp.VariancePop), "Return the variance of these rows alone.")
    std_pop = _total(_of(exp.StddevPop), "Return the standard deviation of these rows alone.")
    cov = _total(_of(exp.CovarSamp), "Return the sample covariance with another value.")
    cov_pop = _total(_of(exp.CovarPop), "Return the covariance of these rows alone with another value.")
    corr = _total(_of(exp.Corr), "Return the correlation with another value.")
    n_unique = _total(lambda one: exp.Count(this=exp.Distinct(expressions=[one])), "Count the different values.")

    exp = _value(_of(exp.Exp), "Return e to the power of the value.")  # the last, as it hides the module above

    def is_in(self, values: Iterable[object]) -> "Expr":
        """Tell whether the value is one of these constants."""
        if isinstance(values, str | Expr) or not isinstance(values, Iterable):
            raise InvalidParameterError(f"is_in takes a list of constants, got {values!r}")
        return Expr(exp.In(this=_held(self), expressions=[node_of(value) for value in values]), self.name)

    def cast(self, kind: type) -> "Expr":
        """Return the value read as a bool, int, float, str, date or datetime.

        Missing where it cannot be.
        """
        if kind not in _TYPES:
            raise InvalidParameterError(f"cast takes bool, int, float, str, date or datetime, got {kind!r}")
        return Expr(exp.Cast(this=_held(self), to=exp.DataType.build(_TYPES[kind])), self.name)

    def filter(self, condition: "Expr") -> "Expr":
        """Return the expression for an aggregate of the rows that fit a condition."""
        return Expr(exp.Filter(this=self.node.copy(), expression=exp.Where(this=condition_of(condition))), self.name)

    def alias(self, name: str) -> "Expr":
        """Return the expression under a name.

        Without one, an expression has the name of the first column in it.
        """
        return Expr(self.node, name)

    def otherwise(self, value: object) -> "Expr":
        """Return the expression with a value where the condition of `when` does not hold."""
        case = self.node.copy()
        if not isinstance(case, exp.Case):
            raise InvalidParameterError("otherwise() follows dn.when(condition).then(value)")
        case.set("default", node_of(value))
        return Expr(case, self.name)

    def __bool__(self) -> NoReturn:
        raise InvalidParameterError(
            "an expression has no truth value before the rows are read. Write & | ~ for and, or, not, with parentheses "
            "around comparisons."
        )

    def __str__(self) -> str:
        return self.node.sql("duckdb")

    def __repr__(self) -> str:
        return f"<Expr {self}>"


@dataclass(frozen=True)
class When:
    """Condition whose value follows with `then`. Made by `when`."""

    condition: Expr

    def then(self, value: object) -> Expr:
        """Return a value where the condition holds.

        Elsewhere it is missing, unless `otherwise` follows.
        """
        name = value.name if isinstance(value, Expr) else "literal"
        return Expr(exp.Case(ifs=[exp.If(this=condition_of(self.condition), true=node_of(value))]), name)


def col(name: str) -> Expr:
    """Return a column as an expression.

    Args:
        name: of the column.

    Raises: InvalidParameterError if it is not text.

    >>> (col("age") > 30) & col("ward").is_in(["surgery", "children"])
    <Expr (age > 30) AND (ward IN ('surgery', 'children'))>
    """
    if not isinstance(name, str) or not name:
        raise InvalidParameterError(f'col takes the name of a column, such as "age", got {name!r}')
    return Expr(exp.column(exp.to_identifier(name)), name)


def lit(value: object) -> Expr:
    """Return a constant as an expression.

    Args:
        value: a number, text, a truth value, a date or moment, or None for a missing value.

    >>> lit(2) * col("cost")
    <Expr 2 * cost>
    """
    return Expr(node_of(value))


def len() -> Expr:
    """Count the rows.

    >>> len()
    <Expr COUNT(*)>
    """
    return Expr(exp.Count(this=exp.Star()), "len")


def when(condition: Expr) -> When:
    """Begin a value by cases, which `then` and `otherwise` give.

    Args:
        condition: an expression that is true or false, such as col("age") < 18.

    >>> when(col("age") < 18).then("child").otherwise("adult")
    <Expr CASE WHEN age < 18 THEN 'child' ELSE 'adult' END>
    """
    return When(condition)


def node_of(value: object) -> exp.Expr:
    """A constant, or what an expression holds, as a node of its own.

    Raises: InvalidParameterError if it is neither.
    """
    match value:
        case Expr(node=node):
            return node.copy()
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case str():
            return exp.Literal.string(value)
        case date():
            return exp.Cast(this=exp.Literal.string(value.isoformat()), to=exp.DataType.build(_TYPES[type(value)]))
    try:
        number = value if isinstance(value, int | Decimal) else float(value)  # type: ignore[arg-type]
        node = exp.Literal(this=str(abs(number)), is_string=False)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError(f"a number, text, truth value, date or None is needed, got {value!r}") from None
    return exp.Neg(this=node) if number < 0 else node


def condition_of(value: object) -> exp.Expr:
    """The node of a condition.

    Raises: InvalidParameterError if it is not an expression.
    """
    if not isinstance(value, Expr):
        raise InvalidParameterError(f'a condition is needed, such as dn.col("age") > 30, got {value!r}')
    return value.node.copy()


def _held(value: object) -> exp.Expr:
    """A node that can stand beside an operator."""
    node = node_of(value)
    return exp.paren(node) if isinstance(node, exp.Binary | exp.Neg | exp.Not | exp.In | exp.Between) else node

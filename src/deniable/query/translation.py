"""Nodes of SQL to our own expressions, through an allow-list.

Nothing of sqlglot's tree survives. What the allow-list does not name is refused before data is touched. Columns,
aggregates and subqueries are resolved by the scope that the caller hands in, so nothing here knows FROM or SELECT.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from fractions import Fraction

from sqlglot import exp

from deniable.errors import UnsupportedQueryError
from deniable.query.allowlist import BINARY, SUPPORTED, UNARY, VARIADIC, checked, placed, spoken
from deniable.query.expression import Call, Expression, Kind, Literal, literal
from deniable.query.operators import call
from deniable.query.scope import Scope

PARTS = {
    **{word: word for word in ("year", "quarter", "month", "week", "day")},
    **dict.fromkeys(("dow", "dayofweek"), "dayofweek"),
    **dict.fromkeys(("doy", "dayofyear"), "dayofyear"),
    **{word: word for word in ("hour", "minute")},
}
NUMERAL = re.compile(r"(?=.{1,40}$)(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
CASTS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), "to_integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "to_real"),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR"), "to_text"),
    "BOOLEAN": "to_boolean",
    "DATE": "to_date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), "to_timestamp"),
}


def translate(node: exp.Expr, scope: Scope) -> Expression:
    """Return the expression that a node of SQL means.

    `scope` resolves columns, aggregates and subqueries.

    Raises: UnsupportedQueryError that knows its place in the text.
    """
    with placed(node):
        return _translate(node, scope)


def _translate(node: exp.Expr, scope: Scope) -> Expression:
    if isinstance(node, exp.Column):
        checked(node)
    resolved = scope.resolve(node)
    if resolved is not None:
        return resolved
    kind = type(checked(node))
    if kind in BINARY:
        parts = [translate(part, scope) for part in (node.this, node.expression)]
        if node.args.get("typed") and all(part.facts.kind is Kind.INTEGER for part in parts):
            raise UnsupportedQueryError(
                "in PostgreSQL, whole numbers over whole numbers are cut to whole numbers. CAST one of them to DOUBLE "
                "PRECISION for a fraction, or write FLOOR around that."
            )
        return _call(BINARY[kind], parts)
    if kind in UNARY:
        return call(UNARY[kind], translate(node.this, scope))
    if kind in VARIADIC:
        return _call(VARIADIC[kind], [translate(part, scope) for part in (node.this, *node.expressions)])
    special = SPECIAL.get(kind)
    if special is None:
        raise UnsupportedQueryError(f"{spoken(node)} cannot stand here. {SUPPORTED}")
    return special(node, scope)


def _call(name: str, arguments: list[Expression]) -> Call:
    """A call whose text constants become dates where they meet dates."""
    kinds = {argument.facts.kind for argument in arguments}
    for moment in (Kind.TIMESTAMP, Kind.DATE):
        if moment in kinds:
            arguments = [_as_moment(argument) for argument in arguments]
            break
    return call(name, *arguments)


def _as_moment(argument: Expression) -> Expression:
    if not isinstance(argument, Literal) or not isinstance(argument.value, str):
        return argument
    return literal(_moment(argument.value))


def _moment(text: str) -> date | datetime:
    try:
        return date.fromisoformat(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UnsupportedQueryError(
            f"{text!r} is not a valid date. Write '2025-12-31' or '2025-12-31 23:59:59'."
        ) from None
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


# Nodes that need more than their arguments' names ------------------------------------------------------------------


def _literal(node: exp.Expr, scope: Scope) -> Expression:
    text = str(node.this)
    if node.args["is_string"]:
        return literal(text)
    return literal(_number(text))


def _number(text: str) -> int | Fraction:
    if not NUMERAL.fullmatch(text):
        raise UnsupportedQueryError(f"the number {text[:20]}... is too long. Write at most 40 characters.")
    value = Fraction(text)
    if value >= 2**63:
        raise UnsupportedQueryError(
            f"the number {text} is too large. Numbers below 2**63, about 9.2e18, can be used; for a bound of a sum far "
            "less is better."
        )
    return int(text) if text.isdecimal() else value


def _between(node: exp.Expr, scope: Scope) -> Expression:
    value, low, high = (translate(node.args[name], scope) for name in ("this", "low", "high"))
    return call("and", _call("ge", [value, low]), _call("le", [value, high]))


def _is(node: exp.Expr, scope: Scope) -> Expression:
    value = translate(node.this, scope)
    if isinstance(node.expression, exp.Null):
        return call("is_null", value)
    if isinstance(node.expression, exp.Boolean):
        truth = value if node.expression.this else call("not", value)
        return call("coalesce", truth, literal(False))
    raise UnsupportedQueryError("IS takes NULL, TRUE or FALSE.")


def _in(node: exp.Expr, scope: Scope) -> Expression:
    if node.args.get("query") is not None:
        listed = scope.values(node.args["query"])
        if any(option.value is None for option in listed):
            raise UnsupportedQueryError("the subquery of IN gives missing values. Add WHERE ... IS NOT NULL to it.")
        return _call("in", [translate(node.this, scope), *listed]) if listed else literal(False)
    options = [translate(option, scope) for option in node.expressions]
    if not options or not all(isinstance(option, Literal) and option.value is not None for option in options):
        raise UnsupportedQueryError("IN takes a list of constants, for example: region IN ('north', 'south').")
    return _call("in", [translate(node.this, scope), *options])


def _single(node: exp.Expr, scope: Scope) -> Expression:
    values = scope.values(node)
    if len(values) > 1:
        raise UnsupportedQueryError(f"a subquery in an expression gives one value, and this one {len(values):,}.")
    return values[0] if values else literal(None)


def _like(node: exp.Expr, scope: Scope) -> Expression:
    pattern = translate(node.expression, scope)
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        raise UnsupportedQueryError("LIKE takes a constant pattern, for example: city LIKE 'New%'.")
    matches = call("like" if isinstance(node, exp.Like) else "ilike", translate(node.this, scope), pattern)
    return call("not", matches) if node.args.get("negate") else matches


def _case(node: exp.Expr, scope: Scope) -> Expression:
    """CASE, and IF, which is a branch of it and what holds otherwise."""
    alone = isinstance(node, exp.If)
    subject = None if alone or node.this is None else translate(node.this, scope)
    parts: list[Expression] = []
    for branch in [node] if alone else node.args["ifs"]:
        condition = translate(checked(branch).this, scope)
        parts.append(condition if subject is None else _call("eq", [subject, condition]))
        parts.append(translate(branch.args["true"], scope))
    default = node.args.get("false" if alone else "default")
    return call("case", *parts, literal(None) if default is None else translate(default, scope))


def _cast(node: exp.Expr, scope: Scope) -> Expression:
    target = checked(node.args["to"]).this.name
    operator = CASTS.get(target)
    if operator is None:
        raise UnsupportedQueryError(
            f"CAST to {target} is not supported. Use BIGINT, DOUBLE, TEXT, BOOLEAN, DATE or TIMESTAMP."
        )
    value = translate(node.this, scope)
    if isinstance(value, Literal) and isinstance(value.value, str) and operator in ("to_date", "to_timestamp"):
        moment = _moment(value.value)
        return literal(moment.date() if operator == "to_date" and isinstance(moment, datetime) else moment)
    return call(operator, value)


def _extract(node: exp.Expr, scope: Scope) -> Expression:
    part = PARTS.get(node.this.name.lower())
    if part is None:
        raise UnsupportedQueryError(f"EXTRACT({node.this.name}) is not supported. Use one of: {', '.join(PARTS)}.")
    return call(part, translate(node.expression, scope))


def _date_trunc(node: exp.Expr, scope: Scope) -> Expression:
    """DATE_TRUNC: the first day of a period, a date also of a timestamp."""
    period = node.args["unit"].name.lower()
    if period not in ("year", "quarter", "month", "week", "day"):
        raise UnsupportedQueryError("DATE_TRUNC takes 'year', 'quarter', 'month', 'week' or 'day', and gives a date.")
    return call("to_date" if period == "day" else f"to_{period}", translate(node.this, scope))


def _width_bucket(node: exp.Expr, scope: Scope) -> Expression:
    """Return the number of the bin, of n equal ones, in which a value lies.

    0 below them, n + 1 at `high` and above.
    """
    facts = [translate(node.args[name], scope).facts for name in ("min_value", "max_value", "num_buckets")]
    low, high, n = (each.lower if each.lower == each.upper else None for each in facts)
    if low is None or high is None or n is None or low >= high or n.denominator != 1 or not 1 <= n <= 10_000:
        raise UnsupportedQueryError("WIDTH_BUCKET takes a value, constants low < high, and from 1 to 10000 bins.")
    value = translate(node.this, scope)
    last = int(n)
    share = call("multiply", call("subtract", value, literal(low)), literal(n / (high - low)))
    inside = call(
        "add", call("greatest", call("least", call("floor", share), literal(last - 1)), literal(0)), literal(1)
    )
    beyond = call("ge", value, literal(high)), literal(last + 1)
    return call("case", call("lt", value, literal(low)), literal(0), *beyond, inside)


def _log(node: exp.Expr, scope: Scope) -> Expression:
    if node.args.get("expression") is None:
        return call("log10", translate(node.this, scope))
    base = translate(node.this, scope)
    if not isinstance(base, Literal) or base.value != 10:
        raise UnsupportedQueryError("logarithms are offered to base 10 (LOG10) and e (LN).")
    return call("log10", translate(node.expression, scope))


def _round(node: exp.Expr, scope: Scope) -> Expression:
    decimals = literal(0) if node.args.get("decimals") is None else translate(node.args["decimals"], scope)
    if not isinstance(decimals, Literal) or not isinstance(decimals.value, int) or not 0 <= decimals.value <= 15:
        raise UnsupportedQueryError("ROUND takes a number of decimals from 0 to 15, written as a constant.")
    return call("round", translate(node.this, scope), decimals)


def _substring(node: exp.Expr, scope: Scope) -> Expression:
    bounds = [translate(node.args[name], scope) for name in ("start", "length") if node.args.get(name) is not None]
    if len(bounds) != 2 or not all(
        isinstance(bound, Literal) and isinstance(bound.value, int) and 1 <= bound.value <= 10_000 for bound in bounds
    ):
        raise UnsupportedQueryError("SUBSTRING takes a start and a length, constants from 1 to 10000.")
    return call("substring", translate(node.this, scope), *bounds)


SPECIAL: dict[type[exp.Expr], Callable[[exp.Expr, Scope], Expression]] = {
    exp.Literal: _literal,
    exp.Boolean: lambda node, scope: literal(bool(node.this)),
    exp.Null: lambda node, scope: literal(None),
    exp.Paren: lambda node, scope: translate(node.this, scope),
    exp.Between: _between,
    exp.Is: _is,
    exp.In: _in,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Case: _case,
    exp.If: _case,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Extract: _extract,
    exp.Log: _log,
    exp.Round: _round,
    exp.DateTrunc: _date_trunc,
    exp.Substring: _substring,
    exp.Subquery: _single,
    exp.TimestampTrunc: _date_trunc,
    exp.WidthBucket: _width_bucket,
}


def condition(node: exp.Expr, scope: Scope, clause: str) -> Expression:
    """The condition in a WHERE, HAVING or FILTER."""
    result = translate(node, scope)
    if result.facts.kind not in (Kind.BOOLEAN, Kind.NULL):
        with placed(node):
            raise UnsupportedQueryError(f"{clause} takes a condition, got a value of kind {result.facts.kind.value}.")
    return result


def declarable(node: exp.Expr) -> str:
    """Return the text by which a declaration names the expression at `node`.

    It is the same wherever in a query the node stands.
    """
    plain = node.copy().unnest()
    for column in plain.find_all(exp.Column):
        column.set("table", None)
    return plain.sql("duckdb", comments=False)

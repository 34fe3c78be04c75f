"""The allow-list of SQL: which nodes a parsed query may have, with which arguments.

Meaning hides in arguments (`Group.all`, `Star.except_`, `Union.by_name`), so every argument of a node must be listed
for its class; a list of classes alone would let it through. What is not listed is refused before data is touched.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlglot import exp

from deniable.errors import UnsupportedQueryError
from deniable.query.catalog import did_you_mean

Node = TypeVar("Node", bound=exp.Expr)
BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.Mod: "modulo",
    exp.Pow: "power",
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
    exp.And: "and",
    exp.Or: "or",
    exp.DPipe: "concat",
    exp.Nullif: "nullif",
}
UNARY: dict[type[exp.Expr], str] = {
    exp.Neg: "negate",
    exp.Not: "not",
    exp.Abs: "abs",
    exp.Sqrt: "sqrt",
    exp.Ln: "ln",
    exp.Exp: "exp",
    exp.Sign: "sign",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Trim: "trim",
    exp.Length: "length",
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Week: "week",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.DayOfWeek: "dayofweek",
    exp.DayOfYear: "dayofyear",
    exp.Hour: "hour",
    exp.Minute: "minute",
}
VARIADIC: dict[type[exp.Expr], str] = {exp.Least: "least", exp.Greatest: "greatest", exp.Coalesce: "coalesce"}
# Arguments with another value than None, False or [] that a node may have, and the flags whose value does not matter.
ARGUMENTS: dict[type[exp.Expr], frozenset[str]] = {
    **dict.fromkeys(BINARY, frozenset({"this", "expression"})),
    **dict.fromkeys(UNARY, frozenset({"this"})),
    **dict.fromkeys(VARIADIC, frozenset({"this", "expressions", "ignore_nulls"})),
    exp.Coalesce: frozenset({"this", "expressions"}),
    exp.Div: frozenset({"this", "expression", "typed"}),
    exp.DPipe: frozenset({"this", "expression", "safe"}),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Avg: frozenset({"this"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.Boolean: frozenset({"this"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.Column: frozenset({"this", "table"}),
    exp.Count: frozenset({"this", "big_int"}),
    **dict.fromkeys((exp.Corr, exp.CovarPop, exp.CovarSamp), frozenset({"this", "expression"})),
    **dict.fromkeys((exp.CountIf, exp.Stddev, exp.StddevPop, exp.StddevSamp), frozenset({"this"})),
    **dict.fromkeys((exp.Variance, exp.VariancePop), frozenset({"this"})),
    exp.DataType: frozenset({"this"}),
    **dict.fromkeys((exp.DateTrunc, exp.TimestampTrunc), frozenset({"this", "unit"})),
    exp.Distinct: frozenset({"expressions"}),
    exp.Extract: frozenset({"this", "expression"}),
    exp.Filter: frozenset({"this", "expression"}),
    exp.From: frozenset({"this"}),
    exp.Group: frozenset({"expressions"}),
    exp.Having: frozenset({"this"}),
    exp.ILike: frozenset({"this", "expression", "negate"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.If: frozenset({"this", "true", "false"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Is: frozenset({"this", "expression"}),
    exp.Like: frozenset({"this", "expression", "negate"}),
    exp.Limit: frozenset({"expression"}),
    exp.Max: frozenset({"this"}),
    exp.Min: frozenset({"this"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Log: frozenset({"this", "expression"}),
    exp.Median: frozenset({"this"}),
    exp.Mode: frozenset({"this"}),
    exp.Null: frozenset(),
    exp.Order: frozenset({"expressions"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Paren: frozenset({"this"}),
    exp.PercentileCont: frozenset({"this", "expression"}),
    exp.Quantile: frozenset({"this", "quantile"}),
    exp.Round: frozenset({"this", "decimals"}),
    exp.Join: frozenset({"this", "on", "using", "side", "kind"}),
    exp.Select: frozenset(
        {"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "with_", "distinct"}
    ),
    exp.Union: frozenset({"this", "expression"}),
    exp.Subquery: frozenset({"this", "alias"}),
    exp.Star: frozenset(),
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.Sum: frozenset({"this"}),
    exp.Table: frozenset({"this", "alias"}),
    exp.TableAlias: frozenset({"this"}),
    exp.TryCast: frozenset({"this", "to", "safe"}),
    exp.Var: frozenset({"this"}),
    exp.Where: frozenset({"this"}),
    exp.WidthBucket: frozenset({"this", "min_value", "max_value", "num_buckets"}),
    exp.With: frozenset({"expressions"}),
    exp.WithinGroup: frozenset({"this", "expression"}),
    exp.CTE: frozenset({"this", "alias"}),
}
STATISTICS = {  # by the beginning of a function's name: how to ask for it without SQL
    "MEDIAN": 'db.median("column", epsilon=...)',
    "QUANTILE": 'db.quantile("column", ..., epsilon=...)',
    "PERCENTILE": 'db.quantile("column", ..., epsilon=...)',
    "APPROX_QUANTILE": 'db.quantile("column", ..., epsilon=...)',
    "MAX": 'db.max("column", epsilon=...)',
    "MIN(": 'db.min("column", epsilon=...)',
}
SUPPORTED = (
    "Supported: SELECT of COUNT, SUM, AVG, VAR, STDDEV, COVAR, CORR and expressions over them, FROM, JOIN, WHERE, "
    "GROUP BY, HAVING, ORDER BY, LIMIT."
)


def checked(node: Node) -> Node:
    """`node` itself, if its class and all its arguments are on the list.

    Raises: UnsupportedQueryError otherwise.
    """
    allowed = ARGUMENTS.get(type(node))
    with placed(node):
        if allowed is None and isinstance(node, exp.Func):
            raise UnsupportedQueryError(f"{spoken(node)} is not supported.{instead(node)}")
        if allowed is None:
            raise UnsupportedQueryError(f"{spoken(node)} is not supported. {SUPPORTED}")
        for name, value in node.args.items():
            if name not in allowed and value is not None and value is not False and value != []:
                with placed(value):
                    raise UnsupportedQueryError(f"{_clause(name)} in {spoken(node)} is not supported. {SUPPORTED}")
    return node


@contextmanager
def placed(part: object) -> Iterator[None]:
    """Tell what is refused inside that it lies at this node, or at the first of a list, unless it knows better."""
    try:
        yield
    except UnsupportedQueryError as error:
        nodes = [each for each in (part if isinstance(part, list) else [part]) if isinstance(each, exp.Expr)]
        if error.place is None and nodes:  # half a statement has holes
            places = [each.meta["start"] for node in nodes for each in node.walk() if "start" in each.meta]
            error.place = nodes[0].meta.get("start", min(places, default=None))
        raise


def spoken(node: exp.Expr) -> str:
    """A node in the user's words: the name of the function or clause, never the text around it."""
    if isinstance(node, exp.Func):
        return f"the function {called(node)}()"
    names: dict[type[exp.Expr], str] = {
        exp.Star: "*",
        exp.Subquery: "a subquery",
        exp.Window: "a window (OVER)",
        exp.Select: "SELECT",
        exp.Distinct: "DISTINCT",
    }
    return names.get(type(node), type(node).__name__.upper())


def called(node: exp.Expr) -> str:
    """The function's name as the user wrote it, in capitals."""
    name = node.sql_name() if isinstance(node, exp.Func) and not isinstance(node, exp.Anonymous) else node.this
    return str(node.meta.get("spelling", name)).upper()


def instead(node: exp.Func) -> str:
    """What to do without a function: a statistic of the database, or a function that is spelt like it."""
    name = called(node)
    for words, method in STATISTICS.items():
        if f"{name}(".startswith(words):
            return f" In Python, {method} answers it on the same budget; dn.statistics has it for arrays."
    if isinstance(node, exp.LogicalOr | exp.LogicalAnd):
        return " One row can decide it. Ask for COUNTIF(condition), and compare that with a number in HAVING."
    known = [word for kind in ARGUMENTS if issubclass(kind, exp.Func) for word in kind.sql_names()]
    return f"{did_you_mean(name, known)} {SUPPORTED}"


def _clause(argument: str) -> str:
    names = {"with_": "WITH", "joins": "JOIN", "windows": "WINDOW", "locks": "FOR UPDATE", "laterals": "LATERAL"}
    return names.get(argument, argument.rstrip("_").replace("_", " ").upper())

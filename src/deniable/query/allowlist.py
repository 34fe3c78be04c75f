"""Allow-list of SQL: the nodes of a parsed query, and their arguments.

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
# Where an operator is not called like its class.
_SPELT: dict[type[exp.Expr], str] = {exp.Sub: "subtract", exp.Mul: "multiply", exp.Div: "divide", exp.Mod: "modulo"}
_SPELT |= {exp.Pow: "power", exp.NEQ: "ne", exp.LTE: "le", exp.GTE: "ge", exp.DPipe: "concat", exp.Neg: "negate"}
_SPELT |= {exp.DayOfMonth: "day"}


def _operators(*kinds: type[exp.Expr]) -> dict[type[exp.Expr], str]:
    return {kind: _SPELT.get(kind, kind.__name__.lower()) for kind in kinds}


BINARY = _operators(
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Pow, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
    *(exp.And, exp.Or, exp.DPipe, exp.Nullif),
)
UNARY = _operators(
    *(exp.Neg, exp.Not, exp.Abs, exp.Sqrt, exp.Ln, exp.Exp, exp.Sign, exp.Floor, exp.Ceil, exp.Lower, exp.Upper),
    *(exp.Trim, exp.Length, exp.Year, exp.Quarter, exp.Month, exp.Week, exp.Day, exp.DayOfMonth, exp.DayOfWeek),
    *(exp.DayOfYear, exp.Hour, exp.Minute),
)
VARIADIC = _operators(exp.Least, exp.Greatest, exp.Coalesce)
_ALLOWED: dict[str, tuple[type[exp.Expr], ...]] = {
    "": (exp.Null, exp.Star),
    "this": (
        *UNARY,
        *(exp.Avg, exp.Boolean, exp.CountIf, exp.DataType, exp.From, exp.Having, exp.Max, exp.Median, exp.Min),
        *(exp.Mode, exp.Paren, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Sum, exp.TableAlias, exp.Var),
        *(exp.Variance, exp.VariancePop, exp.Where),
    ),
    "this expression": (
        *(kind for kind in BINARY if kind not in (exp.Div, exp.DPipe)),
        *(exp.Corr, exp.CovarPop, exp.CovarSamp, exp.Extract, exp.Filter, exp.Is, exp.Log, exp.PercentileCont),
        *(exp.Union, exp.WithinGroup),
    ),
    "this expression typed": (exp.Div,),
    "this expression safe": (exp.DPipe,),
    "this expression negate": (exp.Like, exp.ILike),
    "this expressions": (exp.Coalesce,),
    "this expressions ignore_nulls": (exp.Least, exp.Greatest),
    "this expressions query": (exp.In,),
    "this alias": (exp.Alias, exp.CTE, exp.Subquery, exp.Table),
    "this low high": (exp.Between,),
    "this ifs default": (exp.Case,),
    "this to": (exp.Cast,),
    "this to safe": (exp.TryCast,),
    "this table": (exp.Column,),
    "this big_int": (exp.Count,),
    "this unit": (exp.DateTrunc, exp.TimestampTrunc),
    "this quoted": (exp.Identifier,),
    "this true false": (exp.If,),
    "this is_string": (exp.Literal,),
    "this desc nulls_first": (exp.Ordered,),
    "this quantile": (exp.Quantile,),
    "this decimals": (exp.Round,),
    "this on using side kind": (exp.Join,),
    "this start length": (exp.Substring,),
    "this min_value max_value num_buckets": (exp.WidthBucket,),
    "expression": (exp.Limit,),
    "expressions": (exp.Distinct, exp.Group, exp.Order, exp.With),
    "expressions from_ joins where group having order limit with_ distinct": (exp.Select,),
}
# Arguments with another value than None, False or [] that a node may have, and the flags whose value does not matter.
ARGUMENTS = {kind: frozenset(words.split()) for words, kinds in _ALLOWED.items() for kind in kinds}
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
    """Give errors raised inside the position of this node, unless they have one."""
    try:
        yield
    except UnsupportedQueryError as error:
        nodes = [each for each in (part if isinstance(part, list) else [part]) if isinstance(each, exp.Expr)]
        if error.position is None and nodes:  # half a statement has holes
            starts = [each.meta["start"] for node in nodes for each in node.walk() if "start" in each.meta]
            error.position = nodes[0].meta.get("start", min(starts, default=None))
        raise


def spoken(node: exp.Expr) -> str:
    """Return a node in the user's words: the name of its function or clause."""
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
    """Return the advice for an unsupported function: a statistic, or a similar name."""
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

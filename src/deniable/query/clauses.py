"""Clauses of a SELECT: its private aggregates, and what noisy numbers become."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

from sqlglot import exp

from deniable.errors import UnsupportedQueryError
from deniable.query.aggregates.aggregate import Aggregate
from deniable.query.aggregates.counts import CountAggregate
from deniable.query.aggregates.readers import READERS
from deniable.query.allowlist import called, checked, instead, placed, spoken
from deniable.query.catalog import BOUNDS, KEYS, declaring
from deniable.query.declarations import listed_keys
from deniable.query.expression import (
    Call,
    Column,
    Expression,
    Facts,
    Key,
    Kind,
    Literal,
    literal,
    text_of,
)
from deniable.query.operators import call
from deniable.query.plan import Axis, Ordering, Outcome, OutputColumn, Query, Question
from deniable.query.scope import RowScope, Scope
from deniable.query.table_expression import FilteredRows
from deniable.query.texts import check_texts
from deniable.query.translation import condition, declarable, translate

MAX_AGGREGATES = 200  # of one SELECT, as they are computed
MOST_GROUPS = 2**30
MOST_BESIDE = 1_000  # declared groups for every key that is found


@dataclass
class ResultScope(Scope):
    """Scope after the noise: groups, aliases, and aggregates, which it collects."""

    rows: RowScope
    keys: tuple[Expression, ...]
    aliases: dict[str, Expression] = field(default_factory=dict)
    aliases_first: bool = False  # in ORDER BY a name means an output before it means a group; in HAVING the reverse
    aggregates: list[Aggregate] = field(default_factory=list)
    counted: frozenset[Expression] = frozenset()  # values whose count is asked for anyway

    def resolve(self, node: exp.Expr) -> Expression | None:
        if isinstance(node, exp.Filter):
            aggregate = checked(node).this
            where = condition(checked(node.expression).this, self.rows, "FILTER")
            return self._aggregate(aggregate, where)
        if isinstance(node, exp.AggFunc | exp.WithinGroup):
            return self._aggregate(node, None)
        alias = self._alias(node)
        grouped = None if alias is not None and self.aliases_first else self._group(node)
        if grouped is not None or alias is not None:
            return grouped if grouped is not None else alias
        if not isinstance(node, exp.Column):
            return None
        name = self.rows.name_of(node)
        self.rows.column(node)  # an unknown name is reported as such
        raise UnsupportedQueryError(
            f"column {name!r} is neither grouped nor aggregated. Add it to GROUP BY, or wrap it in COUNT, SUM or AVG."
        )

    def values(self, query: exp.Expr) -> Sequence[Literal]:
        return self.rows.values(query)

    def _alias(self, node: exp.Expr) -> Expression | None:
        """Return the output that a bare name means, if any.

        A qualified name is a column of the table.
        """
        if not isinstance(node, exp.Column) or node.table:
            return None
        wanted = self.rows.name_of(node).casefold()
        return next((output for alias, output in self.aliases.items() if alias.casefold() == wanted), None)

    def _group(self, node: exp.Expr) -> Expression | None:
        """The key that `node` equals, if any."""
        if not self.keys or isinstance(node, exp.Literal | exp.Null | exp.Boolean) or node.find(exp.AggFunc):
            return None
        known = set(self.rows.names)
        if any(column.name.casefold() not in known for column in node.find_all(exp.Column)):
            return None  # it names an output, or nothing
        expression = translate(node, self.rows)
        if expression not in self.keys:
            return None
        position = self.keys.index(expression)
        return Column(f"key {position}", self.keys[position].facts)

    def _aggregate(self, node: exp.Expr, where: Expression | None) -> Expression:
        reader = READERS.get(type(checked(node)))
        if reader is None:
            assert isinstance(node, exp.Func)
            raise UnsupportedQueryError(f"{spoken(node)} is not supported.{instead(node)}")
        return reader(node, where, self)

    def __post_init__(self) -> None:
        self._indices = {aggregate: index for index, aggregate in enumerate(self.aggregates)}

    def base(self, aggregate: Aggregate) -> Expression:
        """The noisy base value of an aggregate, shared by equal ones."""
        index = self._indices.setdefault(aggregate, len(self.aggregates))
        if index == len(self.aggregates):
            check_count(index + 1)
            self.aggregates.append(aggregate)
        return Column(f"base {index}", Facts(kind=Kind.INTEGER if aggregate.whole else Kind.REAL))

    def kept(self, where: Expression | None, value: Expression) -> Expression:
        """`value` in rows that satisfy the FILTER, NULL in others."""
        return value if where is None else call("case", where, value, literal(None))


def check_count(aggregates: int) -> None:
    """Refuse more aggregates than one SELECT may have.

    Raises: UnsupportedQueryError.
    """
    if aggregates > MAX_AGGREGATES:
        raise UnsupportedQueryError(
            f"the query asks for more than {MAX_AGGREGATES} aggregates (an average takes two of them, a correlation "
            "five). Ask several questions."
        )


def read_select(text: str, select: exp.Select, rows: RowScope, *, find: bool = False) -> Query:
    """The plan of a SELECT whose FROM is already resolved; see `parse`."""
    if not rows.source.private:
        raise UnsupportedQueryError(
            "every table of the query is public, and needs no privacy budget: query them directly."
        )
    if select.args.get("distinct") is not None:
        raise UnsupportedQueryError("DISTINCT in SELECT is not supported: GROUP BY lists each group once.")
    where = select.args.get("where")
    keys, listed, joint = _keys(select, rows, find)
    scope = ResultScope(rows, keys)
    _outcome(select, scope)  # a first reading, to learn which counts are asked for
    counted = {a.argument for a in scope.aggregates if isinstance(a, CountAggregate) and a.argument is not None}
    scope = ResultScope(rows, keys, counted=frozenset(counted))
    _outcome(select, scope)
    ordered = sorted(scope.aggregates, key=lambda aggregate: aggregate.sort_key)
    scope = ResultScope(rows, keys, counted=frozenset(counted), aggregates=ordered)  # one order, however it is written
    outcome = _outcome(select, scope)
    if not scope.aggregates and all(key.facts.keys is not None for key in listed):
        raise UnsupportedQueryError("the query asks for no aggregate. Add COUNT(*), SUM(...) or AVG(...) to SELECT.")
    kept = rows.source if where is None else FilteredRows(rows.source, condition(checked(where).this, rows, "WHERE"))
    question = Question(source=kept, keys=listed, aggregates=tuple(scope.aggregates), joint=joint)
    check_texts(question)
    return Query(text, question, outcome)


def _outcome(select: exp.Select, scope: ResultScope) -> Outcome:
    outputs = _outputs(select, scope)
    scope.aliases = {output.name: output.expression for output in outputs}
    having = select.args.get("having")
    chosen = condition(checked(having).this, scope, "HAVING") if having else None
    scope.aliases_first = True
    return Outcome(
        outputs=outputs,
        having=chosen,
        order=_order(select, scope, outputs),
        limit=_limit(select),
    )


def _keys(
    select: exp.Select, rows: RowScope, find: bool
) -> tuple[tuple[Expression, ...], tuple[Expression, ...], tuple[Axis, ...]]:
    """Return the keys of GROUP BY as written, with public values, and joint ones."""
    group = select.args.get("group")
    if group is None:
        return (), (), ()
    nodes = checked(group).expressions
    keys = []
    meant = [meant_key(node, select, rows) for node in nodes]
    for node, means in zip(nodes, meant, strict=True):
        with placed(node):
            keys.append(translate(means, rows))
    if not keys:
        raise UnsupportedQueryError("GROUP BY needs at least one column.")
    if len(set(keys)) < len(keys):
        raise UnsupportedQueryError("GROUP BY names the same column twice.")
    joint = tuple(Axis(*axis) for axis in rows.source.joint_keys(dict(enumerate(keys))))
    together = {index: tuple(dict.fromkeys(values)) for axis in joint for index, values in axis.columns}
    listed = []
    for index, (node, means, key) in enumerate(zip(nodes, meant, keys, strict=True)):
        with placed(node):
            listed.append(with_keys(key, together.get(index) or rows.keys_of(key), declarable(means), find))
    known = [len(key.facts.keys) for index, key in enumerate(listed) if key.facts.keys and index not in together]
    cells = prod(known) * prod(len(axis.values or ()) for axis in joint)
    if any(key.facts.keys is None for key in listed) and cells > MOST_BESIDE:
        raise UnsupportedQueryError(
            f"GROUP BY makes {cells:,} groups of every value that is found; at most {MOST_BESIDE:,} are answered."
        )
    if cells > MOST_GROUPS:
        raise UnsupportedQueryError(f"GROUP BY makes {cells:,} groups; at most {MOST_GROUPS:,} are answered at once.")
    return tuple(keys), tuple(listed), joint


def meant_key(node: exp.Expr, select: exp.Select, rows: RowScope) -> exp.Expr:
    """Return the expression that an item of GROUP BY, a position or an alias means."""
    if isinstance(node, exp.Literal) and not node.args["is_string"]:
        position = int(node.this) if re.fullmatch(r"[0-9]{1,9}", str(node.this)) else 0
        if not 1 <= position <= len(select.expressions):
            raise UnsupportedQueryError(f"GROUP BY {node.this}: SELECT has {len(select.expressions)} columns.")
        return meant_key(select.expressions[position - 1].unalias(), select, rows)
    if isinstance(node, exp.Column) and not node.table:
        schema = set(rows.names)
        for output in select.expressions:
            if output.alias and output.alias.casefold() == node.name.casefold() and node.name.casefold() not in schema:
                return output.this  # type: ignore[no-any-return]
    return node


def with_keys(
    expression: Expression, declared: tuple[Key, ...] | None = None, text: str = "", find: bool = False
) -> Expression:
    """Return a GROUP BY expression, written `text`, with its public keys.

    The keys are declared, or else its facts list them.

    Args:
        find: whether they may be found, too; then they are not listed.

    Raises: UnsupportedQueryError if they are not known.
    """
    facts = expression.facts
    if declared is not None:
        return replace(expression, facts=replace(facts, keys=declared))
    keys = listed_keys(facts)
    if keys is not None:
        return replace(expression, facts=replace(facts, keys=keys))
    findable = facts.kind in (Kind.INTEGER, Kind.TEXT, Kind.DATE)
    if find and findable:
        return replace(expression, facts=replace(facts, keys=None))
    moments = (Kind.DATE, Kind.TIMESTAMP)
    dated = isinstance(expression, Call) and (expression.operator == "year" or facts.kind is Kind.DATE)
    if isinstance(expression, Call) and dated and isinstance(expression.arguments[0], Column):
        day = expression.arguments[0]
        cure = declaring(day.name, f"{day.facts.kind.value.capitalize()}(lower=..., upper=...)", BOUNDS)
    elif isinstance(expression, Column) and facts.kind in moments:
        cure = declaring(expression.name, "Date(lower=..., upper=...)", BOUNDS)
    elif isinstance(expression, Column) and facts.kind is not Kind.REAL:
        cure = declaring(expression.name, "Keys([...])", KEYS)
    elif isinstance(expression, Call) and facts.kind not in (Kind.REAL, Kind.TIMESTAMP):
        cure = declaring(text, "Keys([...])", KEYS)
    else:
        cure = "bounds of the columns in it (dn.Number(lower=..., upper=...)) give whole numbers their groups"
    said = text_of(expression) if isinstance(expression, Column) else text or text_of(expression)
    raise UnsupportedQueryError(
        f"GROUP BY {said} needs a public list of groups. Declare it: {cure}, or group by an "
        "expression with few values (CASE, EXTRACT(month ...), a condition, FLOOR of a bounded number)."
        + (" Or give delta too, such as delta=1e-6: groups that many units have are then found." if findable else "")
    )


def _outputs(select: exp.Select, scope: ResultScope) -> tuple[OutputColumn, ...]:
    outputs: list[OutputColumn] = []
    for number, node in enumerate(select.expressions, 1):
        if isinstance(node, exp.Star):
            raise UnsupportedQueryError("SELECT * would list rows of people. Ask for COUNT(*), SUM(...) or AVG(...).")
        body = checked(node).this if isinstance(node, exp.Alias) else node
        name = node.alias if isinstance(node, exp.Alias) else _default_name(body, number)
        if not isinstance(node, exp.Alias) and name in (output.name for output in outputs):
            name = f"{name}_{number}"
        outputs.append(OutputColumn(name, translate(body, scope)))
    names = [output.name.casefold() for output in outputs]
    for name in names:
        if names.count(name) > 1:
            raise UnsupportedQueryError(f"two columns of the answer are called {name!r}. Name one with AS.")
    return tuple(outputs)


def _default_name(node: exp.Expr, number: int) -> str:
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, exp.AggFunc):
        inner = node.this.name if isinstance(node.this, exp.Column) else ""
        return f"{called(node).lower()}_{inner}" if inner else called(node).lower()
    return f"column_{number}"


def _order(select: exp.Select, scope: ResultScope, outputs: tuple[OutputColumn, ...]) -> tuple[Ordering, ...]:
    order = select.args.get("order")
    if order is None:
        return ()
    orderings = []
    for node in checked(order).expressions:
        ordered = checked(node)
        expression = translate(ordered.this, scope)
        if isinstance(ordered.this, exp.Literal):
            position = expression.value if isinstance(expression, Literal) else None
            if not isinstance(position, int) or not 1 <= position <= len(outputs):
                raise UnsupportedQueryError(f"ORDER BY {ordered.this.this}: SELECT has {len(outputs)} columns.")
            expression = outputs[position - 1].expression
        orderings.append(Ordering(expression, bool(ordered.args.get("desc")), bool(ordered.args.get("nulls_first"))))
    return tuple(orderings)


def _limit(select: exp.Select) -> int | None:
    limit = select.args.get("limit")
    if limit is None:
        return None
    count = checked(limit).expression
    if not isinstance(count, exp.Literal) or not re.fullmatch(r"[0-9]{1,15}", str(count.this)):
        raise UnsupportedQueryError("LIMIT takes a whole number.")
    return int(count.this)

"""The clauses of a SELECT: which aggregates are asked of the private table, and what is done with the noisy numbers."""

import json
import re
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from math import ceil, floor, prod

from sqlglot import exp

from deniable.errors import UnsupportedQueryError
from deniable.numbers.rationals import decimal_text
from deniable.query.allowlist import checked, placed
from deniable.query.catalog import BOUNDS, KEYS, LARGEST_KEYS, declaring
from deniable.query.expression import (
    Call,
    Column,
    Expression,
    Facts,
    Key,
    Kind,
    Literal,
    columns_of,
    literal,
    text_of,
)
from deniable.query.operators import call
from deniable.query.plan import Aggregate, Ordering, Outcome, Output, Query, Question
from deniable.query.scope import RowScope, Scope
from deniable.query.sql import condition, declarable, translate

MOST_DERIVED_KEYS = 10_000


@dataclass
class ResultScope(Scope):
    """After the noise: names are groups, aliases and aggregates. Collects the aggregates that it meets."""

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
        if isinstance(node, exp.AggFunc):
            return self._aggregate(node, None)
        alias = self._alias(node)
        grouped = None if alias is not None and self.aliases_first else self._group(node)
        if grouped is not None or alias is not None:
            return grouped if grouped is not None else alias
        if not isinstance(node, exp.Column):
            return None
        name = self.rows.name_of(node)
        self.rows.table.column(name)  # an unknown name is reported as such
        raise UnsupportedQueryError(
            f"column {name!r} is neither grouped nor aggregated. Add it to GROUP BY, or wrap it in COUNT, SUM or AVG."
        )

    def _alias(self, node: exp.Expr) -> Expression | None:
        """The output that a bare name means, if any; a qualified name is a column of the table."""
        if not isinstance(node, exp.Column) or node.table:
            return None
        wanted = self.rows.name_of(node).casefold()
        return next((output for alias, output in self.aliases.items() if alias.casefold() == wanted), None)

    def _group(self, node: exp.Expr) -> Expression | None:
        """The key that `node` equals, if any."""
        if not self.keys or isinstance(node, exp.Literal | exp.Null | exp.Boolean) or node.find(exp.AggFunc):
            return None
        known = {name.casefold() for name in self.rows.table.schema}
        if any(column.name.casefold() not in known for column in node.find_all(exp.Column)):
            return None  # it names an output, or nothing
        expression = translate(node, self.rows)
        if expression not in self.keys:
            return None
        position = self.keys.index(expression)
        return Column(f"key {position}", self.keys[position].facts)

    def _aggregate(self, node: exp.Expr, where: Expression | None) -> Expression:
        match checked(node):
            case exp.Count(this=exp.Star()):
                argument = None if where is None else _where(where, literal(1))
                return self._base(Aggregate("count", argument))
            case exp.Count(this=exp.Distinct() as distinct):
                return self._units(distinct, where)
            case exp.Count() as count:
                return self._count(_where(where, translate(count.this, self.rows)))
            case exp.Sum() as total:
                return self._total(self._summand("SUM", total, where))
            case exp.Avg() as mean:
                return self._average(self._summand("AVG", mean, where))
        raise UnsupportedQueryError(f"{node.sql_name()}() is not supported yet. Use COUNT, SUM or AVG.")  # type: ignore[attr-defined]

    def _total(self, value: Expression) -> Expression:
        """SUM; where the count is asked for too, the sum around the middle plus the middle times the count.

        Both ways are exact before the noise. The second has the smaller sensitivity, and the count is paid already.
        """
        centre = _centre(value) if value in self.counted else Fraction(0)
        total = self._base(Aggregate("sum", value, centre))
        return call("add", total, call("multiply", literal(centre), self._count(value))) if centre else total

    def _average(self, value: Expression) -> Expression:
        """The noisy sum around the middle over the noisy count, plus the middle; undefined for counts below 1."""
        centre = _centre(value)
        total, count = self._base(Aggregate("sum", value, centre)), self._count(value)
        positive = call("case", call("gt", count, literal(0)), count, literal(None))
        average = call("add", call("divide", total, positive), literal(centre))
        return replace(average, facts=replace(average.facts, lower=value.facts.lower, upper=value.facts.upper))

    def _count(self, value: Expression) -> Expression:
        """COUNT(value), which is COUNT(*) where the value is never missing."""
        return self._base(Aggregate("count", value if value.facts.nullable else None))

    def _units(self, distinct: exp.Distinct, where: Expression | None) -> Expression:
        unit = self.rows.table.unit.column
        columns = checked(distinct).expressions
        named = len(columns) == 1 and isinstance(columns[0], exp.Column) and self.rows.name_of(checked(columns[0]))
        if unit is None or not named or set(columns_of(self.rows.table.column(named))) != {unit}:
            raise UnsupportedQueryError(
                "COUNT(DISTINCT ...) is offered for the column of the privacy unit"
                + (f", which is {unit!r}." if unit else "; in this table every row is a unit, so use COUNT(*).")
            )
        if where is not None:
            raise UnsupportedQueryError("COUNT(DISTINCT ...) FILTER is not supported yet. Use WHERE.")
        return self._base(Aggregate("units"))

    def _summand(self, name: str, node: exp.Sum | exp.Avg, where: Expression | None) -> Expression:
        value = translate(node.this, self.rows)
        if not value.facts.kind.is_number:
            raise UnsupportedQueryError(
                f"{name} takes numbers, got a value of kind {value.facts.kind.value}. Declare the column as a number "
                "(dn.Number(lower=..., upper=..., integer=True)), or CAST it."
            )
        if not value.facts.bounded:
            columns = [one for one in node.this.find_all(exp.Column) if not translate(one, self.rows).facts.bounded]
            said = node.this.name if isinstance(node.this, exp.Column) else "..."
            declare = declaring(columns[0].name, "Number(lower=..., upper=...)", BOUNDS) if columns else ""
            raise UnsupportedQueryError(
                f"{name}({said}) needs public bounds. {f'Declare them: {declare}, or write' if declare else 'Write'} "
                "LEAST(GREATEST(value, low), high)."
            )
        only = value.facts.lower
        assert only is not None
        if only == value.facts.upper and (name == "AVG" or only == 0):
            raise UnsupportedQueryError(
                f"{name} of a value that is always {decimal_text(only)} is {decimal_text(only)}, whatever the rows "
                "are. Write the number itself."
            )
        return _where(where, value)

    def _base(self, aggregate: Aggregate) -> Expression:
        """The noisy base value of an aggregate, shared by equal ones."""
        if aggregate not in self.aggregates:
            self.aggregates.append(aggregate)
        whole = aggregate.function != "sum" or _is_whole(aggregate.argument)
        return Column(f"base {self.aggregates.index(aggregate)}", Facts(kind=Kind.INTEGER if whole else Kind.REAL))


def read_select(text: str, select: exp.Select, rows: RowScope) -> Query:
    """The plan of a SELECT whose FROM is already resolved."""
    where = select.args.get("where")
    keys, listed = _keys(select, rows)
    scope = ResultScope(rows, keys)
    _outcome(select, scope)  # a first reading, to learn which counts are asked for
    counted = {a.argument for a in scope.aggregates if a.function == "count" and a.argument is not None}
    scope = ResultScope(rows, keys, counted=frozenset(counted))
    _outcome(select, scope)
    ordered = sorted(scope.aggregates, key=_place)
    scope = ResultScope(rows, keys, counted=frozenset(counted), aggregates=ordered)  # one order, however it is written
    outcome = _outcome(select, scope)
    if not scope.aggregates:
        raise UnsupportedQueryError("the query asks for no aggregate. Add COUNT(*), SUM(...) or AVG(...) to SELECT.")
    question = Question(
        table=rows.table,
        where=condition(checked(where).this, rows, "WHERE") if where else None,
        keys=listed,
        aggregates=tuple(scope.aggregates),
    )
    return Query(text, question, outcome)


def _place(aggregate: Aggregate) -> tuple[str, bool, str]:
    """Where an aggregate stands among others: by what it reads, a sum before its count."""
    argument = json.dumps(None if aggregate.argument is None else aggregate.argument.to_json(), sort_keys=True)
    return argument, aggregate.function != "sum", str(aggregate.centre) + aggregate.function


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


def _keys(select: exp.Select, rows: RowScope) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
    """The keys of GROUP BY as they are written, and with their public values."""
    group = select.args.get("group")
    if group is None:
        return (), ()
    keys, listed = [], []
    for node in checked(group).expressions:
        meant = _key(node, select, rows)
        with placed(node):
            keys.append(translate(meant, rows))
            listed.append(with_keys(keys[-1], rows.table.keys_of(keys[-1]), declarable(meant)))
    if not keys:
        raise UnsupportedQueryError("GROUP BY needs at least one column.")
    if len(set(keys)) < len(keys):
        raise UnsupportedQueryError("GROUP BY names the same column twice.")
    cells = prod(len(key.facts.keys or ()) for key in listed)
    if cells > LARGEST_KEYS:
        raise UnsupportedQueryError(f"GROUP BY makes {cells:,} groups; at most {LARGEST_KEYS:,} are answered at once.")
    return tuple(keys), tuple(listed)


def _key(node: exp.Expr, select: exp.Select, rows: RowScope) -> exp.Expr:
    """What GROUP BY means: an expression, the position of an output, or an alias that is no column."""
    if isinstance(node, exp.Literal) and not node.args["is_string"]:
        position = int(node.this) if re.fullmatch(r"[0-9]{1,9}", str(node.this)) else 0
        if not 1 <= position <= len(select.expressions):
            raise UnsupportedQueryError(f"GROUP BY {node.this}: SELECT has {len(select.expressions)} columns.")
        return _key(select.expressions[position - 1].unalias(), select, rows)
    if isinstance(node, exp.Column) and not node.table:
        schema = {name.casefold() for name in rows.table.schema}
        for output in select.expressions:
            if output.alias and output.alias.casefold() == node.name.casefold() and node.name.casefold() not in schema:
                return output.this  # type: ignore[no-any-return]
    return node


def with_keys(expression: Expression, declared: tuple[Key, ...] | None = None, text: str = "") -> Expression:
    """A GROUP BY expression, written `text`, whose values are publicly listed: as declared, else as its facts say.

    Raises: UnsupportedQueryError if they are not known.
    """
    facts = expression.facts
    if declared is not None:
        return replace(expression, facts=replace(facts, keys=declared))
    if facts.keys is not None and facts.kind not in (Kind.REAL, Kind.TIMESTAMP):
        return expression
    if facts.kind is Kind.INTEGER and facts.lower is not None and facts.upper is not None:
        keys: tuple[Key, ...] = tuple(range(ceil(facts.lower), floor(facts.upper) + 1))
        if 0 < len(keys) <= MOST_DERIVED_KEYS:
            return replace(expression, facts=replace(facts, keys=keys))
    if facts.kind is Kind.DATE and facts.lower is not None and facts.upper is not None:
        keys = tuple(map(date.fromordinal, range(int(facts.lower), int(facts.upper) + 1)))
        if len(keys) <= MOST_DERIVED_KEYS:
            return replace(expression, facts=replace(facts, keys=keys))
    moments = (Kind.DATE, Kind.TIMESTAMP)
    if isinstance(expression, Call) and expression.operator == "year" and isinstance(expression.arguments[0], Column):
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
    raise UnsupportedQueryError(
        f"GROUP BY {text_of(expression)} needs a public list of groups. Declare it: {cure}, or group by an expression "
        "with few values (CASE, EXTRACT(month ...), a condition, FLOOR of a bounded number)."
    )


def _outputs(select: exp.Select, scope: ResultScope) -> tuple[Output, ...]:
    outputs: list[Output] = []
    for number, node in enumerate(select.expressions, 1):
        if isinstance(node, exp.Star):
            raise UnsupportedQueryError("SELECT * would list rows of people. Ask for COUNT(*), SUM(...) or AVG(...).")
        body = checked(node).this if isinstance(node, exp.Alias) else node
        name = node.alias if isinstance(node, exp.Alias) else _default_name(body, number)
        if not isinstance(node, exp.Alias) and name in (output.name for output in outputs):
            name = f"{name}_{number}"
        outputs.append(Output(name, translate(body, scope)))
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
        return f"{node.sql_name().lower()}_{inner}" if inner else node.sql_name().lower()
    return f"column_{number}"


def _order(select: exp.Select, scope: ResultScope, outputs: tuple[Output, ...]) -> tuple[Ordering, ...]:
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


def _where(where: Expression | None, value: Expression) -> Expression:
    """`value` in rows that satisfy the FILTER, NULL in others."""
    return value if where is None else call("case", where, value, literal(None))


def _centre(value: Expression) -> Fraction:
    """About the middle of the public range, on a coarse binary grid: sums around it are half as sensitive.

    The grid is coarser than any lattice of the sum, so the centre lies on both.
    """
    lower, upper = value.facts.lower, value.facts.upper
    assert lower is not None
    assert upper is not None
    if lower == upper:
        return Fraction(0)  # nothing would be left to add noise to
    grid, finest = Fraction(1), max(abs(lower), abs(upper)) / 2**40
    if value.facts.kind is Kind.REAL:
        while grid > (upper - lower) / 1024 and grid > finest:
            grid /= 2
    return floor((lower + upper) / 2 / grid) * grid


def _is_whole(argument: Expression | None) -> bool:
    return argument is not None and argument.facts.kind is Kind.INTEGER

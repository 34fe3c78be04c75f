"""FROM: declared tables, joins and subqueries as one table expression.

It comes with the names of its columns.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any

from sqlglot import exp

from deniable.errors import UnsupportedQueryError
from deniable.query.allowlist import checked, placed, spoken
from deniable.query.catalog import DeclaredTable, did_you_mean
from deniable.query.clauses import meant_key
from deniable.query.declarations import LARGEST_KEYS
from deniable.query.expression import Expression, Key, Kind, Literal, Value, literal
from deniable.query.grouped import GroupedRows, Total, TotalScope
from deniable.query.join import Join
from deniable.query.operators import call
from deniable.query.promise import along_paths
from deniable.query.scope import Item, RowScope, Scope
from deniable.query.table_expression import FilteredRows, Pairs, Project, Renamed, Scan, TableExpression
from deniable.query.translation import condition, translate
from deniable.query.union import Union

MOST_VALUES = 1_000
KINDS_OF_KEYS = frozenset({Kind.INTEGER, Kind.TEXT, Kind.DATE})


Look = Callable[[TableExpression, Expression], Sequence[Value]]


@dataclass(frozen=True)
class Known:
    """Tables and subqueries that FROM may name, and how public rows are read."""

    tables: Mapping[str, DeclaredTable | TableExpression]
    look: Look | None = None

    def values(self, query: exp.Expr) -> list[Literal]:
        """The one column of a subquery over public tables, each value once."""
        tree = _derived(_bare(query), self)
        if tree.private:
            raise UnsupportedQueryError(
                "a subquery in a condition or an expression reads public tables alone: its results on private ones "
                "would reveal all units at once. JOIN them by the unit column."
            )
        if len(tree.names) != 1 or self.look is None:
            raise UnsupportedQueryError(f"a subquery here gives one column, and this one {len(tree.names)}.")
        once = GroupedRows(tree, (tree.column(tree.names[0]),), ())
        values = [each for each in self.look(once, once.column("key 0")) if each not in (inf, -inf)]
        if len(values) > MOST_VALUES:
            raise UnsupportedQueryError(
                f"the subquery gives {len(values):,} values; at most {MOST_VALUES:,} are taken. JOIN the table instead."
            )
        return [literal(Fraction(value) if isinstance(value, float) else value) for value in values]

    def keys(self, tree: TableExpression, expression: Expression) -> tuple[Key, ...] | None:
        """Return the values of a column in the rows of its public table.

        None for any expression that is not a column of a public table.
        """
        origin = tree.base_column(expression)
        if origin is None or not origin[0].public or self.look is None or expression.facts.kind not in KINDS_OF_KEYS:
            return None
        scan = Scan(origin[0])
        once = GroupedRows(scan, (scan.column(origin[1]),), ())
        values: list[Any] = [each for each in self.look(once, once.column("key 0")) if each is not None]
        return tuple(sorted(values)) if 0 < len(values) <= LARGEST_KEYS else None

    def is_unique(self, tree: TableExpression, columns: Sequence[Expression]) -> bool:
        """Whether no two public rows agree in these columns."""
        if tree.private or self.look is None:
            return False
        for column in columns:  # what is missing matches nothing
            tree = FilteredRows(tree, call("not", call("is_null", column)))
        counted = GroupedRows(tree, tuple(columns), (Total("count", None),))
        count = counted.column("total 0")
        return not self.look(FilteredRows(counted, call("gt", count, literal(1))), count)

    def joined(self, left: TableExpression, right: TableExpression, pairs: Pairs, *, outer: bool) -> Join:
        """Return the join of two table expressions where pairs of columns agree."""
        unique = _has_one_row_of_a_unit(left) and self.is_unique(right, [other for _, other in pairs])
        unique = unique or (_has_one_row_of_a_unit(right) and self.is_unique(left, [one for one, _ in pairs]))
        return Join(left, right, along_paths(left, right, pairs), outer=outer, unique=unique)


def _has_one_row_of_a_unit(tree: TableExpression) -> bool:
    """Whether a private row is the only one of its unit that has its values.

    It matters then how many partners it has.
    """
    return tree.private and (tree.unit is None or tree.multiplicity(frozenset(tree.names)) is not None)


def read_from(select: exp.Select, tables: Known) -> RowScope:
    """The rows that a SELECT reads, as its WITH, FROM and JOIN say.

    Raises: UnsupportedQueryError if they name what is not declared, or rows of several units would meet in one.
    """
    known = tables
    checked(select)
    if select.args.get("with_") is not None:
        for table in checked(select.args["with_"]).expressions:
            checked(table)
            known = replace(known, tables={**known.tables, table.alias: _derived(table.this, known)})
    source = select.args.get("from_")
    if source is None:
        raise UnsupportedQueryError(f"the query needs FROM and a table. Known tables: {', '.join(tables.tables)}.")
    joins = [checked(join) for join in select.args.get("joins") or ()]
    items = [_item(node, known) for node in (checked(source).this, *(join.this for join in joins))]
    if not joins:
        return RowScope(items[0].source, items, known.values, known.keys)
    items = _prefixed(items)
    tree: TableExpression = Renamed(items[0].source, items[0].prefix)
    for number, join in enumerate(joins, 1):
        with placed(join):
            tree, items[number] = _joined(tree, items[: number + 1], join, known)
    return RowScope(tree, items, known.values, known.keys)


def _item(node: exp.Expr, known: Known) -> Item:
    with placed(node):
        if isinstance(node, exp.Subquery):
            alias = checked(node).alias or "subquery"
            return Item((alias,), _derived(node.this, known))
        if not isinstance(node, exp.Table):
            raise UnsupportedQueryError(f"FROM takes the name of a table or a subquery, got {spoken(node)}.")
        if not isinstance(node.this, exp.Identifier):
            raise UnsupportedQueryError(
                f"FROM takes the name of a table, got a function. Known tables: {', '.join(known.tables)}."
            )
        name = checked(node).name
        tables = known.tables
        table_name = (
            name if name in tables else next((key for key in tables if key.casefold() == name.casefold()), None)
        )
        if table_name is None:
            raise UnsupportedQueryError(
                f"there is no table {name!r}.{did_you_mean(name, tables)} Known tables: {', '.join(tables)}. Files "
                "cannot be named in a query: give them to connect() or to a policy."
            )
        held = tables[table_name]
        aliases = (checked(node.args["alias"]).name, table_name) if node.args.get("alias") else (table_name,)
        return Item(aliases, held if isinstance(held, TableExpression) else Scan(held))


def _derived(select: exp.Expr, known: Known) -> TableExpression:
    """Return the rows of a subquery, of those that its WHERE keeps.

    Columns are computed row by row, or by unit and group.
    """
    if isinstance(select, exp.Union):
        return Union(tuple(_derived(_bare(part), known) for part in (checked(select).this, select.expression)))
    if not isinstance(select, exp.Select):
        raise UnsupportedQueryError(f"a subquery is a SELECT, got {spoken(select)}.")
    scope = read_from(select, known)
    tree = scope.source
    where = select.args.get("where")
    if where is not None:
        tree = FilteredRows(tree, condition(checked(where).this, scope, "WHERE"))
    totals = any(node.find(exp.AggFunc) for node in select.expressions)
    if not totals and not any(select.args.get(word) for word in ("group", "having")):
        _check_unordered(select)
        columns = _columns(select, scope, scope.items)
        if select.args.get("distinct") is None:
            return Project(tree, columns)
        checked(select.args["distinct"])
        kept = GroupedRows(tree, tuple(columns.values()), ())
        return Project(kept, {name: kept.column(f"key {index}") for index, name in enumerate(columns)})
    if select.args.get("distinct") is not None:
        raise UnsupportedQueryError("DISTINCT beside aggregates is not supported: GROUP BY gives each group once.")
    return aggregated(select, scope, tree)


def aggregated(select: exp.Select, scope: RowScope, tree: TableExpression) -> Project:
    """Return the rows of a subquery that aggregates, by unit and group.

    The rows of a table expression are aggregated.
    """
    _check_unordered(select)
    group, having = select.args.get("group"), select.args.get("having")
    listed = checked(group).expressions if group is not None else ()
    keys = tuple(translate(meant_key(node, select, scope), scope) for node in listed)
    totals = TotalScope(scope, keys)
    columns = _columns(select, totals, ())
    totals.aliases = columns
    chosen = None if having is None else condition(checked(having).this, totals, "HAVING")
    made = GroupedRows(tree, keys, tuple(totals.totals))
    return Project(made if chosen is None else FilteredRows(made, chosen), columns)


def _check_unordered(select: exp.Select) -> None:
    for clause in ("order", "limit"):
        if select.args.get(clause) is not None:
            raise UnsupportedQueryError(
                f"{clause.upper()} in a subquery would choose rows by those of other units. Use it in the outer SELECT."
            )


def _bare(node: exp.Expr) -> exp.Expr:
    return _bare(checked(node).this) if isinstance(node, exp.Subquery) else node


def _columns(select: exp.Select, scope: Scope, items: Sequence[Item]) -> dict[str, Expression]:
    """The SELECT list of a subquery; a star stands for the columns of `items`."""
    columns: dict[str, Expression] = {}
    for number, node in enumerate(select.expressions, 1):
        if isinstance(node, exp.Star):
            every = [(name, item) for item in items for name in item.source.names if item.shows(name)]
            columns |= {name: item.column(name) for name, item in every}
            if len(columns) < len(every):
                raise UnsupportedQueryError("several tables have a column of one name. List the columns instead of *.")
            continue
        body = checked(node).this if isinstance(node, exp.Alias) else node
        name = node.alias if isinstance(node, exp.Alias) else getattr(body, "name", "") or f"column_{number}"
        if any(name.casefold() == other.casefold() for other in columns):
            raise UnsupportedQueryError(f"two columns of the subquery are called {name!r}. Name one with AS.")
        columns[name] = translate(body, scope)
    return columns


def _prefixed(items: list[Item]) -> list[Item]:
    """Return items whose columns have names of their own.

    Names are those of the tables, numbered where one table stands twice.
    """
    seen: Counter[str] = Counter()
    prefixed = []
    for item in items:
        base = item.aliases[-1]
        seen[base] += 1
        prefixed.append(replace(item, prefix=f"{base}{'' if seen[base] == 1 else f'#{seen[base]}'}."))
    return prefixed


def _joined(left: TableExpression, items: list[Item], join: exp.Join, known: Known) -> tuple[TableExpression, Item]:
    """One more item joined, and the item, which shows no column twice."""
    item = items[-1]
    kind, side = (str(join.args.get(word) or "").upper() for word in ("kind", "side"))
    if kind not in ("", "INNER", "OUTER") or side not in ("", "LEFT") or join.args.get("method"):
        raise UnsupportedQueryError("tables are joined by JOIN or LEFT JOIN, with ON or USING.")
    right = Renamed(item.source, item.prefix)
    before, after = RowScope(left, items[:-1]), RowScope(right, items[-1:])
    pairs: list[tuple[Expression, Expression]] = []
    names = [str(name.name) for name in join.args.get("using") or ()]
    for name in names:
        node = exp.column(name)
        pairs.append((before.column(node), after.column(node)))
    if join.args.get("on") is not None:
        pairs += (
            [_pair(node, before, after) for node in join.args["on"].flatten()]
            if isinstance(join.args["on"], exp.And)
            else [_pair(join.args["on"], before, after)]
        )
    if not pairs:
        raise UnsupportedQueryError("JOIN needs ON or USING: the columns that both tables share.")
    merged = frozenset(name.casefold() for name in names)
    outer = side == "LEFT"
    return known.joined(left, right, tuple(pairs), outer=outer), replace(item, merged=merged, outer=outer)


def _pair(node: exp.Expr, before: RowScope, after: RowScope) -> tuple[Expression, Expression]:
    """Two columns that a condition of ON compares, that of the tables before first."""
    node = checked(node.unnest())
    if not isinstance(node, exp.EQ):
        raise UnsupportedQueryError("ON takes equal columns: ON a.id = b.id AND ...; other conditions go to WHERE.")
    last: UnsupportedQueryError | None = None
    for one, other in ((node.this, node.expression), (node.expression, node.this)):
        try:
            return translate(one, before), translate(other, after)
        except UnsupportedQueryError as error:
            last = last or error
    assert last is not None
    raise last

"""FROM: names of declared tables, joins of them and subqueries, as one relation and the names that its columns have."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from deniable.errors import UnsupportedQueryError
from deniable.query.allowlist import checked, placed, spoken
from deniable.query.catalog import Table, did_you_mean
from deniable.query.expression import Expression
from deniable.query.relation import Filter, Join, Project, Relation, Renamed, Scan
from deniable.query.scope import Item, RowScope
from deniable.query.sql import condition, translate

Known = Mapping[str, Table | Relation]


def read_from(select: exp.Select, tables: Known) -> RowScope:
    """The rows that a SELECT reads, as its WITH, FROM and JOIN say.

    Raises: UnsupportedQueryError if they name what is not declared, or rows of several units would meet in one.
    """
    known = dict(tables)
    checked(select)
    if select.args.get("with_") is not None:
        for table in checked(select.args["with_"]).expressions:
            checked(table)
            known[table.alias] = _derived(table.this, known)
    source = select.args.get("from_")
    if source is None:
        raise UnsupportedQueryError(f"the query needs FROM and a table. Known tables: {', '.join(tables)}.")
    joins = [checked(join) for join in select.args.get("joins") or ()]
    items = [_item(node, known) for node in (checked(source).this, *(join.this for join in joins))]
    if not joins:
        return RowScope(items[0].relation, items)
    items = _prefixed(items)
    relation: Relation = Renamed(items[0].relation, items[0].prefix)
    for number, join in enumerate(joins, 1):
        with placed(join):
            relation, items[number] = _joined(relation, items[: number + 1], join)
    return RowScope(relation, items)


def _item(node: exp.Expr, known: Known) -> Item:
    with placed(node):
        if isinstance(node, exp.Subquery):
            alias = checked(node).alias or "subquery"
            return Item((alias,), _derived(node.this, known))
        if not isinstance(node, exp.Table):
            raise UnsupportedQueryError(f"FROM takes the name of a table or a subquery, got {spoken(node)}.")
        if not isinstance(node.this, exp.Identifier):
            raise UnsupportedQueryError(
                f"FROM takes the name of a table, got a function. Known tables: {', '.join(known)}."
            )
        name = checked(node).name
        found = name if name in known else next((key for key in known if key.casefold() == name.casefold()), None)
        if found is None:
            raise UnsupportedQueryError(
                f"there is no table {name!r}.{did_you_mean(name, known)} Known tables: {', '.join(known)}. Files "
                "cannot be named in a query: give them to connect() or to a policy."
            )
        held = known[found]
        aliases = (checked(node.args["alias"]).name, found) if node.args.get("alias") else (found,)
        return Item(aliases, held if isinstance(held, Relation) else Scan(held))


def _derived(select: exp.Expr, known: Known) -> Relation:
    """The rows of a subquery: columns computed row by row, of the rows that its WHERE keeps."""
    if not isinstance(select, exp.Select):
        raise UnsupportedQueryError(f"a subquery is a SELECT, got {spoken(select)}.")
    for clause in ("group", "having", "order", "limit", "distinct"):
        if select.args.get(clause) is not None:
            raise UnsupportedQueryError(
                f"{clause.upper()} in a subquery is not supported yet: its columns are computed row by row."
            )
    scope = read_from(select, known)
    relation, where = scope.relation, select.args.get("where")
    if where is not None:
        relation = Filter(relation, condition(checked(where).this, scope, "WHERE"))
    columns: dict[str, Expression] = {}
    for number, node in enumerate(select.expressions, 1):
        if isinstance(node, exp.Star):
            columns |= {name: item.column(name) for item in scope.items for name in item.relation.names}
            continue
        body = checked(node).this if isinstance(node, exp.Alias) else node
        name = node.alias if isinstance(node, exp.Alias) else getattr(body, "name", "") or f"column_{number}"
        if any(name.casefold() == other.casefold() for other in columns):
            raise UnsupportedQueryError(f"two columns of the subquery are called {name!r}. Name one with AS.")
        columns[name] = translate(body, scope)
    return Project(relation, columns)


def _prefixed(items: list[Item]) -> list[Item]:
    """Items whose columns have names of their own: those of the tables, numbered where one table stands twice."""
    seen: Counter[str] = Counter()
    found = []
    for item in items:
        base = item.aliases[-1]
        seen[base] += 1
        found.append(replace(item, prefix=f"{base}{'' if seen[base] == 1 else f'#{seen[base]}'}."))
    return found


def _joined(left: Relation, items: list[Item], join: exp.Join) -> tuple[Relation, Item]:
    """One more item joined, and the item, which shows no column twice."""
    item = items[-1]
    kind, side = (str(join.args.get(word) or "").upper() for word in ("kind", "side"))
    if kind not in ("", "INNER", "OUTER") or side not in ("", "LEFT") or join.args.get("method"):
        raise UnsupportedQueryError("tables are joined by JOIN or LEFT JOIN, with ON or USING.")
    right = Renamed(item.relation, item.prefix)
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
    return Join(left, right, tuple(pairs), outer=side == "LEFT"), replace(item, merged=merged)


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

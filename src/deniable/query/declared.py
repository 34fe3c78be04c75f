"""Tables with the expressions that their declarations are about.

The text of each declaration is parsed once, where a table is made.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlglot import exp

from deniable.errors import CatalogError, UnsupportedQueryError
from deniable.query.catalog import DeclaredTable, changed, did_you_mean, each_row, listed
from deniable.query.declarations import Declaration
from deniable.query.expression import Expression, Kind
from deniable.query.scope import Item, RowScope
from deniable.query.statement import read_statement
from deniable.query.table_expression import Scan
from deniable.query.translation import translate


def declared_table(
    *, name: str, schema: Mapping[str, Kind | None], columns: Mapping[str, Declaration], **promise: Any
) -> DeclaredTable:
    """Return a table, with the expressions that `columns` declares beside its columns.

    Args:
        name: of the table in questions.
        schema: the kind of each column; None for a type that questions cannot use.
        columns: what is declared, by the name of a column, or by the text of an expression or of several columns.
        promise: the other fields of `DeclaredTable`: unit, relation, rows, groups, ...

    Raises: CatalogError if a name is neither a column nor an expression that a question may hold.
    """
    expressions = _expressions(name, schema, columns)
    return DeclaredTable(name=name, schema=schema, columns=columns, declared_expressions=expressions, **promise)


def redeclared(table: DeclaredTable, columns: Mapping[str, Declaration]) -> DeclaredTable:
    """Return a table with other declarations.

    Raises: CatalogError if a name is neither a column nor an expression that a question may hold.
    """
    return replace(table, columns=columns, declared_expressions=_expressions(table.name, table.schema, columns))


def stated(tables: Mapping[str, DeclaredTable], columns: Mapping[str, Any] | None) -> Mapping[str, DeclaredTable]:
    """Return the tables with public facts that one question states.

    They stand in place of those declared.

    Args:
        tables: by name.
        columns: as `connect` takes it: by column, or of several tables, such a mapping for each.

    Raises: CatalogError if it names no table, or is none of these.
    """
    several: Mapping[str, Mapping[str, Declaration]] = (
        (columns or {}) if len(tables) > 1 else {name: columns or {} for name in tables}
    )
    for name, said in several.items():
        if name not in tables or not isinstance(said, Mapping):
            raise CatalogError(
                f"columns takes a mapping for each of the tables {listed(tables)}, as in "
                f"{{{next(iter(tables))!r}: {{...}}}}, got {name!r}."
            )
    if not any(several.values()):
        return tables
    return changed(tables, lambda table: redeclared(table, {**table.columns, **several.get(table.name, {})}))


def _expressions(
    name: str, schema: Mapping[str, Kind | None], columns: Mapping[str, Declaration]
) -> dict[str, tuple[Expression, ...]]:
    """Return what each declared name that is not a column means.

    An expression, or several together.
    """
    others = {text: declared for text, declared in columns.items() if text not in schema}
    known = {column: declared for column, declared in columns.items() if column in schema}
    plain = DeclaredTable(name=name, schema=schema, unit=each_row(), columns=known, public=True)
    return {text: _declared(text, declared, plain) for text, declared in others.items()}


def _declared(text: str, declared: Declaration, table: DeclaredTable) -> tuple[Expression, ...]:
    """Return the expressions that a declaration names: as many as its keys have parts."""
    reason = ""
    expressions: tuple[Expression, ...] = ()
    try:
        expressions = _parsed(text, table)
    except UnsupportedQueryError as error:
        reason = f" As an expression: {error}"
    if len(expressions) != declared.parts:
        raise CatalogError(
            f"columns declares {text!r}, which {table.name} does not have.{did_you_mean(text, table.schema)} "
            f"Its columns: {listed(table.schema)}.{reason}"
        )
    return expressions


def _parsed(text: str, table: DeclaredTable) -> tuple[Expression, ...]:
    """Return the row expressions in a text, one or several.

    None if it is not a list of them, or one name.

    Raises: UnsupportedQueryError if one is an expression that a question could not hold.
    """
    try:
        select = read_statement(f"SELECT\n{text}\n")
    except UnsupportedQueryError:
        return ()
    if [name for name, value in select.args.items() if value] != ["expressions"]:
        return ()
    never = (exp.Alias, exp.Literal, exp.Star, *([exp.Column] if len(select.expressions) == 1 else []))
    if any(isinstance(node.unnest(), never) for node in select.expressions):
        return ()
    try:
        scope = RowScope(Scan(table), [Item((table.name,), Scan(table))])
        return tuple(translate(node, scope) for node in select.expressions)
    except RecursionError:
        raise UnsupportedQueryError("it is too deeply nested.") from None

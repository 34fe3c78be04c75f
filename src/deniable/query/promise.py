"""Several tables of one promise, and joins along their key paths.

Some hold the unit; others lead to it through another table.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from deniable.errors import CatalogError
from deniable.privacy import PrivacyUnit
from deniable.query.catalog import DeclaredTable, Path, did_you_mean, listed
from deniable.query.declarations import Declaration
from deniable.query.declared import declared_table
from deniable.query.expression import Kind
from deniable.query.table_expression import Pairs, TableExpression


def declared_tables(
    names: Iterable[str],
    *,
    schema: Callable[[str], Mapping[str, Kind | None]],
    columns: Mapping[str, Mapping[str, Declaration]],
    public: Collection[str],
    unit: PrivacyUnit,
    promise: Mapping[str, Any],
    paths: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> dict[str, DeclaredTable]:
    """Several tables of one promise, by name; the rows of `public` ones are nobody's.

    Args:
        paths: for tables whose rows reach the unit through another table, their column and that table, as in
            {"items": ("order_id", "orders")}; then the column there, if it is called otherwise.

    Raises: CatalogError if they differ by case alone, none is private, or something is declared of another table.
    """
    every = list(names)
    for said, word in ((columns, "columns"), (public, "public"), (paths, "paths")):
        for name in said:
            if name not in every:
                raise CatalogError(
                    f"{word} names the table {name!r}, which is not there.{did_you_mean(name, every)} The tables: "
                    f"{listed(every)}. Of several tables, columns takes one mapping each: "
                    '{"orders": {"amount": dn.Number(...)}}.'
                )
    if len({name.casefold() for name in every}) < len(every):
        raise CatalogError("two tables differ only by case. Rename one of them.")
    private = [name for name in every if name not in public]
    if unit.column is None and len(private) > 1:
        raise CatalogError("several tables need a column that says whose row it is: unit='customer_id'.")
    if not set(private) - set(paths):
        raise CatalogError("one table at least is private and holds the unit: do not list all in public or paths.")
    made: dict[str, DeclaredTable] = {}
    nobody = PrivacyUnit(column=None, noun="row")

    def declared(name: str, below: tuple[str, ...] = ()) -> DeclaredTable:
        if name not in made:
            path = _path(name, paths[name], private, below, declared) if name in paths else None
            said = columns.get(name, {})
            held = declared_table(name=name, schema=schema(name), unit=nobody, columns=said, public=True)
            made[name] = held if name in public else replace(held, public=False, unit=unit, path=path, **promise)
        return made[name]

    return {name: declared(name) for name in every}


def of_one_table(columns: Mapping[str, Any], name: str) -> Mapping[str, Declaration]:
    """Return declarations of a single table, given directly or under its name.

    Raises: CatalogError if it stands under another name, or is not a declaration.
    """
    example = 'columns={"age": dn.Number(lower=0, upper=120), "ward": dn.Keys(["a", "b"])}'
    if not isinstance(columns, Mapping):
        raise CatalogError(f"columns is a mapping from names to declarations, got {type(columns).__name__}: {example}.")
    if any(isinstance(said, Mapping) for said in columns.values()):
        if [each.casefold() for each in columns] != [name.casefold()]:
            raise CatalogError(
                f"columns has a mapping for {listed(columns)}, and the one table here is {name!r}. Declare its "
                f"columns: {example}."
            )
        (columns,) = columns.values()
    for each, said in columns.items():
        if not isinstance(said, Declaration):
            raise CatalogError(f"columns declares {each!r} as {type(said).__name__}. Write a declaration: {example}.")
    return columns


def _path(
    name: str,
    said: Sequence[str],
    private: Sequence[str],
    below: tuple[str, ...],
    declared: Callable[..., DeclaredTable],
) -> Path:
    if isinstance(said, str) or len(said) not in (2, 3) or not all(isinstance(word, str) for word in said):
        raise CatalogError(f'the path of {name} is its key and another table, ("order_id", "orders"), got {said!r}.')
    if name not in private or said[1] not in private or said[1] in (name, *below):
        raise CatalogError(
            f"the path of {name} leads to {said[1]!r}. It must lead from a private table to another one that holds the "
            f"unit or has a path of its own. The private tables: {listed(private)}."
        )
    return Path(said[0], declared(said[1], (name, *below)), said[-1] if len(said) == 3 else said[0])


def along_paths(left: TableExpression, right: TableExpression, on: Pairs) -> Pairs:
    """Return the pairs of a join, and the units where it follows a key path.

    The units are those of both sides, the path one of private tables.

    A row at the end of a path has every unit that holds its key, so equal units single out the one of its partner.
    """
    if not left.private or not right.private or left.unit is None or right.unit is None:
        return on
    for one, other in on:
        ends = [_end(side.base_column(key)) for side, key in ((left, one), (right, other))]
        if (
            ends[0] is not None
            and ends[0] == ends[1]
            and (left.base_column(one), right.base_column(other)) != tuple(ends)
        ):
            return (*on, (left.unit_expression, right.unit_expression))
    return on


def _end(column: tuple[DeclaredTable, str] | None) -> tuple[DeclaredTable, str] | None:
    """Return the table and column at the end of a path."""
    while column is not None and column[0].path is not None and column[0].path.key == column[1]:
        column = column[0].path.parent, column[0].path.parent_key
    return column

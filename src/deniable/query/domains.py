"""Declared domains of columns, and tables of them, from public facts alone."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil, comb, floor

from deniable.errors import CatalogError, InvalidParameterError
from deniable.numbers.rationals import positive_integer, shown, whole_number
from deniable.query.catalog import DeclaredTable
from deniable.query.engines.base import ARROW
from deniable.query.expression import Facts, Kind
from deniable.synthesis.domain import Attribute, Binned, DeclaredDomain, Listed

MAX_TABLES = 10_000  # of one question


def domain_of(table: DeclaredTable, columns: Sequence[str] | None, bins: int) -> tuple[DeclaredDomain, tuple[str, ...]]:
    """Return the domain of columns, and names of those that have none.

    Args:
        table: whose columns they are.
        columns: names; None for all columns of the table.
        bins: of a column of numbers, at most.

    Raises: CatalogError if a named column has no domain, or no column has one.
    """
    if columns is not None and (isinstance(columns, str) or not all(isinstance(name, str) for name in columns)):
        raise InvalidParameterError(f'columns is a list of names, such as ["age", "ward"], got {shown(columns)}.')
    whose = table.unit.column
    if table.auto:
        raise InvalidParameterError("rows='auto' is for SQL and frames; tables and rows need rows=... of the table.")
    attributes, left_out = [], []
    for name in table.schema if columns is None else columns:
        known = columns is not None or table.schema[name] is not None
        attribute = attribute_of(name, table.column(name).facts, bins) if known and name != whose else None
        if attribute is not None:
            attributes.append(attribute)
        elif columns is not None:
            raise CatalogError(
                f"{name} has no declared domain. Declare {name}: dn.Keys([...]), or dn.Number, dn.Date or "
                "dn.Timestamp with bounds; the column that says whose row it is has none."
            )
        elif name != whose:
            left_out.append(name)
    if not attributes:
        raise CatalogError("synthetic rows need columns with a declared domain: dn.Keys([...]), or bounds.")
    return DeclaredDomain(tuple(attributes)), tuple(left_out)


def max_rows_of(table: DeclaredTable) -> int:
    """Return the most rows of one unit that count, in all groups together."""
    return table.rows * table.groups if table.total_rows is None else table.total_rows


def named_tables(
    table: DeclaredTable, tables: int | Sequence[str | Sequence[str]], columns: Sequence[str] | None, bins: int
) -> tuple[list[tuple[str, ...]], DeclaredDomain, tuple[str, ...]]:
    """Return the columns of each table, their domain, and names without one.

    Args:
        table: whose rows are counted.
        tables: lists of names; or a number k, for all tables of at most k columns.
        columns: of which columns, where `tables` is a number.
        bins: of a column of numbers, at most.

    Raises: InvalidParameterError for other tables, or too many.
    """
    if not isinstance(tables, list | tuple | str):
        width = whole_number("tables", tables, lower=0)
        domain, left_out = domain_of(table, columns, bins)
        sizes = range(min(width, len(domain)) + 1)
        if sum(comb(len(domain), size) for size in sizes) > MAX_TABLES:
            raise InvalidParameterError(
                f"tables={width} of {len(domain)} columns are more than {MAX_TABLES:,} tables. Name fewer columns, or "
                "the tables that matter."
            )
        return [each for size in sizes for each in combinations(domain.names, size)], domain, left_out
    if columns is not None:
        raise InvalidParameterError("columns goes with a number of tables: marginals(2, columns=[...]).")
    if isinstance(tables, str) or not tables or not all(isinstance(each, str | list | tuple) for each in tables):
        raise InvalidParameterError(
            f'tables is a number, or a list of lists of names like [["ward"], ["ward", "age"]], got {shown(tables)}.'
        )
    names = [(each,) if isinstance(each, str) else tuple(each) for each in tables]
    used = list(dict.fromkeys(name for each in names for name in each))
    return names, domain_of(table, used or None, bins)[0], ()


def attribute_of(name: str, facts: Facts, bins: int) -> Attribute | None:
    """Return the levels that public facts leave to a column.

    None if they leave too many to list.
    """
    max_bins = positive_integer("bins", bins)
    if facts.kind not in ARROW:
        return None
    kind = ARROW[facts.kind]
    if facts.kind is Kind.BOOLEAN:
        return Listed(name, kind, (False, True))
    if facts.keys is not None and facts.kind not in (Kind.REAL, Kind.TIMESTAMP):
        return Listed(name, kind, tuple(key for key in facts.keys if key is not None))
    if facts.lower is None or facts.upper is None or facts.kind is Kind.TEXT:
        return None
    if facts.kind not in (Kind.INTEGER, Kind.DATE):
        return Binned(name, kind, facts.lower, facts.upper, max_bins)
    lower = Fraction(ceil(facts.lower))
    upper = Fraction(floor(facts.upper))
    if lower > upper:
        return None
    return Binned(name, kind, lower, upper, min(max_bins, int(upper - lower) + 1))

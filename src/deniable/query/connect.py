"""Open private tables for questions.

A source, public facts and a budget make a database.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from deniable.arguments import in_words
from deniable.errors import CatalogError, InvalidParameterError
from deniable.ledger import Ledger
from deniable.ledger.source import Source
from deniable.privacy import AddRemove, Budget, PrivacyUnit, Relation
from deniable.query.catalog import DeclaredTable
from deniable.query.database import Database
from deniable.query.declarations import Declaration
from deniable.query.declared import declared_table
from deniable.query.policy import limits, read_policy
from deniable.query.promise import declared_tables, of_one_table
from deniable.query.source import noted, open_policy, open_source, open_sources, table_name


@in_words
def connect(
    source: object,
    *,
    name: str | None = None,
    unit: str | tuple[str, str] | PrivacyUnit | None = None,
    budget: Budget | None = None,
    columns: Mapping[str, Declaration] | Mapping[str, Mapping[str, Declaration]] | None = None,
    public: Collection[str] = (),
    paths: Mapping[str, Sequence[str]] = MappingProxyType({}),
    rows: int | str | None = None,
    groups: int | str | None = None,
    total_rows: int | None = None,
    relation: Relation | str = AddRemove,
    ledger: str | Path | None = None,
    moved: bool = False,
    table: str | Mapping[str, str] | None = None,
    memory: str | None = None,
    threads: int | None = None,
    analyst: str | None = None,
) -> Database:
    """Open a private table for questions.

    Reads the schema of the source and no row.

    Args:
        source: a dataframe (pandas, Polars, Arrow, Spark), the URL of a PostgreSQL server, or the path of a .parquet or
            .duckdb file, of a .csv file that was imported (`import_csv`), of a folder or pattern of .parquet files, or
            of a policy (.toml), which states everything else; or several of these by table, {"orders": ...,
            "customers": ...}.
        name: the table's name in SQL; by default that of the file. A frame or several tables with a ledger in a file
            need one.
        unit: the column that identifies the unit of a row, or `each_row("person")` if every row is one person; or the
            column and one of dates, ("user", "day"), to protect one user's rows of one day, which is much weaker.
        budget: the most that may ever be spent; needed unless the ledger exists.
        columns: public facts by column: `Number(lower=0, upper=120)`, `Keys(["a", "b"])`, ...; of several tables, such
            a mapping for each: {"orders": {"amount": ...}, "customers": {"region": ...}}.
        public: of several tables, those whose rows belong to no unit. All others hold the column `unit` or a path.
        paths: of tables that reach the unit through another table, their column and that table, {"items": ("order_id",
            "orders")}; then the column there, if it has another name. A row belongs to every unit that holds its key.
        rows: the most rows of one unit that count in one group; 1 by default, and answers then say so. "auto" has it
            estimated privately, for a quarter of the price of the first question that needs it.
        groups: the most groups of one GROUP BY in which a unit counts; likewise.
        total_rows: in place of `rows` and `groups`: the most rows of one unit that count, in whatever groups.
        relation: which tables are neighbours: dn.AddRemove, or dn.Replace where the number of units is public.
        ledger: the file that keeps what was spent, or for many hosts a schema of a PostgreSQL database:
            "postgresql://user@host/database?schema=visits". None keeps it in memory: it ends with this process.
        moved: whether the same data are at another location now, or have other columns: the ledger notes that.
        table: the table inside a .duckdb file or on a server; several of a server by the names that they get here, as
            in {"orders": "shop.orders"}.
        memory: a limit such as "2GB"; beyond it intermediate results go to disk.
        threads: of the engine; all cores by default.
        analyst: name of the analyst in the history, "owner" by default. All analysts spend one budget, and none gets
            the stored answers of another.

    Raises: SourceError, CatalogError or LedgerError, in the user's words.

    >>> import deniable as dn
    >>> db = dn.connect(dn.datasets.visits(), name="visits", unit="patient", rows=2, budget=dn.Budget(epsilon=1))
    >>> answer = db.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.5)
    >>> print(db.budget)
    budget epsilon=1; left epsilon=0.5
    """
    bounding = {"rows": rows, "groups": groups, "total_rows": total_rows}
    if isinstance(source, str | Path) and str(source).endswith(".toml"):
        given = {"unit": unit, "budget": budget, "columns": columns, "name": name, "ledger": ledger, "table": table}
        extra = [word for word, value in (given | bounding).items() if value is not None]
        if extra or relation is not AddRemove:
            raise InvalidParameterError(
                f"a policy states everything: put {', '.join(extra) or 'relation'} into the file."
            )
        return _connect_policy(Path(source), moved, memory, threads, analyst)
    related = Relation(relation)
    if unit is None:
        raise CatalogError(
            'say who is protected: unit="column" for the column that identifies the unit, or '
            'unit=dn.each_row("person") if every row is one person.'
        )
    if name is None and not isinstance(source, str | Path):
        if ledger is not None:
            raise CatalogError(
                'a ledger knows a frame, or several tables, by one name: give it, such as name="visits", and the same '
                "one ever after."
            )
        name = "data"
    if isinstance(table, Mapping):
        source = {each: (source, there) for each, there in table.items()}
        table = None
    whose = unit if isinstance(unit, PrivacyUnit) else _whose(unit)
    promise = {"relation": related, **limits(bounding)}
    declared: Mapping[str, Any] = columns or {}
    if isinstance(source, Mapping):
        engine = open_sources(source, columns=declared, unit=whose.column, memory=memory, threads=threads)
        tables = declared_tables(
            source, schema=engine.schema, columns=declared, public=public, unit=whose, promise=promise, paths=paths
        )
        held = noted(engine, tables)
    else:
        known = name or table or (table_name(Path(source)) if isinstance(source, str | Path) else "")
        declared = of_one_table(declared, known)
        engine = open_source(source, table=table, columns=declared, unit=whose.column, memory=memory, threads=threads)
        called = name or engine.table or table_name(Path(str(source)))
        tables = {called: declared_table(name=called, schema=engine.schema(), unit=whose, columns=declared, **promise)}
        held = noted(engine)
    first = next(each for each in tables.values() if not each.public)
    return Database(engine, tables, _open_ledger(first, budget, ledger, held, moved=moved, name=name, analyst=analyst))


def _whose(unit: str | tuple[str, str]) -> PrivacyUnit:
    if not isinstance(unit, str) and (not isinstance(unit, tuple | list) or len(unit) != 2):
        raise CatalogError(f'unit is a column, or a column and one of dates, as in ("user", "day"), got {unit!r}.')
    column, period = (unit, None) if isinstance(unit, str) else unit
    return PrivacyUnit(column=column, noun=column, period=period)


def _connect_policy(path: Path, moved: bool, memory: str | None, threads: int | None, analyst: str | None) -> Database:
    policy = read_policy(path)
    engine, tables, source = open_policy(policy, memory=memory, threads=threads)
    first = tables[policy.name]
    return Database(
        engine, tables, _open_ledger(first, policy.budget, policy.ledger, source, moved=moved, analyst=analyst)
    )


def _open_ledger(
    table: DeclaredTable,
    budget: Budget | None,
    path: str | Path | None,
    source: Source,
    *,
    moved: bool,
    name: str | None = None,
    analyst: str | None = None,
) -> Ledger:
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidParameterError(
            f"budget must be a Budget, got {type(budget).__name__}. Write dn.Budget(epsilon=1)."
        )
    opened = Ledger.open(
        path,
        budget=budget,
        relation=table.relation,
        unit=table.unit,
        dataset=name or table.name,
        source=source,
        moved=moved,
    )
    return opened if analyst is None else opened.asked_by(analyst)

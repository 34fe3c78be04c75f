"""Catalogue of Spark, for the owner's first policy. No row is read."""

from contextlib import suppress

from deniable.errors import SourceError
from deniable.query.engines.runner import Described
from deniable.query.engines.spark.runner import SparkRunner, session_in_hand


def readable() -> list[str]:
    """The tables and views of the current database, as "database.table".

    Raises: SourceError if there is none, or the catalogue cannot be asked.
    """
    schema = None
    with suppress(Exception):
        listed = session_in_hand().catalog.listTables()
        schema = [".".join((*each.namespace, each.name)) for each in listed if each.namespace and not each.isTemporary]
    if not schema:
        raise SourceError("Spark's current database has no table that can be listed. Name one, as database.table.")
    return schema


def describe(runner: SparkRunner) -> Described:
    """Return the catalogue's description of the table that a runner has opened.

    Raises: SourceError if the catalogue cannot be asked.
    """
    described = None
    with suppress(Exception):
        catalog = runner.session.catalog
        comment = catalog.getTable(runner.table).description
        columns = catalog.listColumns(runner.table)
        parts = ", ".join(column.name for column in columns if column.isPartition)
        described = Described(
            notes=(*([f"comment: {comment}"] if comment else []), *([f"partitioned by: {parts}"] if parts else [])),
            comments={column.name: column.description for column in columns if column.description},
        )
    if described is None:
        raise SourceError(f"Spark's catalogue cannot be asked about {runner.table!r}.")
    return described

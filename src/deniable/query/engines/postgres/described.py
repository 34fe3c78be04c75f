"""Catalogue of a server, for the owner's first policy. No row is read."""

from collections.abc import Sequence

from deniable.errors import SourceError, redacted
from deniable.query.engines.postgres.runner import PostgresRunner, Rows, answer, attempt
from deniable.query.engines.runner import Described

READABLE = """
SELECT nspname || '.' || relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
WHERE relkind IN ('r', 'p', 'v', 'm') AND NOT relispartition AND nspname !~ '^(pg_|information_schema$)'
AND strpos(relname, '.') = 0 AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
ORDER BY nspname, relname
"""
TABLE = """
SELECT 'comment: ' || obj_description(%s::regclass, 'pg_class') AS said, ' ' AS kind UNION ALL
SELECT pg_get_constraintdef(oid), contype::text FROM pg_constraint
WHERE conrelid = %s::regclass AND contype IN ('p', 'u', 'f', 'c') ORDER BY kind DESC, said
"""
COLUMNS = """
SELECT attname, col_description(attrelid, attnum),
       ARRAY(SELECT enumlabel::text FROM pg_enum WHERE enumtypid = atttypid ORDER BY enumsortorder)
FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""


def readable(url: str) -> list[str]:
    """The tables and views that this user may read, as "schema.table".

    Raises: SourceError if there is none, or the server cannot be asked.
    """
    (rows,) = _asked(url, (READABLE, None))
    if not rows:
        raise SourceError(
            f"at {redacted(url)} this user may read no table. It needs USAGE on a schema and SELECT on a table."
        )
    return [name for (name,) in rows]


def describe(runner: PostgresRunner) -> Described:
    """Return the catalogue's description of the table that a runner has opened.

    Raises: SourceError if the server cannot be asked.
    """
    source = runner.source
    table, columns = _asked(runner.server, (TABLE, (source, source)), (COLUMNS, (source,)))
    return Described(
        notes=tuple(said for said, _ in table if said),
        comments={name: comment for name, comment, _ in columns if comment},
        labels={name: labels for name, _, labels in columns if labels},
    )


def _asked(url: str, *statements: tuple[str, Sequence[object] | None]) -> list[Rows]:
    answers, cause = attempt(url, lambda connection: [answer(connection, *each) for each in statements])
    if answers is None:
        raise SourceError(f"{redacted(url)} cannot be asked: {cause or 'check that the server runs.'}")
    return answers

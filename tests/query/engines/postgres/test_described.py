"""What a catalogue says of tables, asked by a role with SELECT alone."""

import pytest

from deniable.errors import SourceError
from deniable.query.engines.postgres.described import describe, readable
from deniable.query.engines.postgres.runner import PostgresRunner
from tests.postgres import as_reader

TABLES = """
CREATE SCHEMA hidden; CREATE TABLE hidden.t (x int);
CREATE TYPE mood AS ENUM ('so-so', 'fine');
CREATE TABLE "a ""b" (m mood, x int CHECK (x > 0), y int, gone int, UNIQUE (x, y));
ALTER TABLE "a ""b" DROP COLUMN gone; COMMENT ON COLUMN "a ""b".y IS 'words';
CREATE TABLE parts (x int) PARTITION BY RANGE (x); CREATE TABLE low PARTITION OF parts DEFAULT;
CREATE TABLE "with.dot" (x int); CREATE TABLE closed (x int); REVOKE ALL ON closed FROM reader
"""


def test_tables_that_a_role_may_read_and_what_is_said_of_them(postgres: str) -> None:
    import psycopg

    url = as_reader(postgres)
    with pytest.raises(SourceError, match=r"may read no table\. It needs USAGE"):
        readable(url)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(TABLES.encode())
    assert readable(url) == ['public.a "b', "public.parts"]
    said = describe(PostgresRunner(url, 'public.a "b'))
    assert said.notes == ("UNIQUE (x, y)", "CHECK ((x > 0))")
    assert (said.comments, said.labels) == ({"y": "words"}, {"m": ["so-so", "fine"]})

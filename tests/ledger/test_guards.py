import pytest

from deniable.errors import LedgerTamperedError
from deniable.ledger import guards
from tests.ledger.conftest import a_schema, open_ledger
from tests.postgres import Server

pytest.importorskip("psycopg")


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("DROP TRIGGER rows_guard ON records", "trigger.records.rows_guard"),
        ("ALTER TABLE records DISABLE TRIGGER table_guard", "trigger.records.table_guard"),
        ("CREATE OR REPLACE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'", "function"),
        ("CREATE RULE lose AS ON INSERT TO keys DO INSTEAD NOTHING", "rule.keys.lose"),
        ("ALTER TABLE keys SET UNLOGGED", "relation.keys"),
        ("ALTER TABLE head ADD COLUMN more TEXT", "head.more"),
        ("ALTER TABLE records DROP CONSTRAINT records_entry_key", "constraint.records_entry_key"),
        ("DROP INDEX questions", "relation.questions"),
        ("DELETE FROM migrations; INSERT INTO migrations VALUES (1, 'other')", "migrations"),
    ],
)
def test_what_guards_a_ledger_is_known_and_a_change_of_it_is_noticed(
    request: pytest.FixtureRequest, postgres_server: Server, statement: str, name: str
) -> None:
    url = a_schema(request)
    ledger = open_ledger(url)
    with ledger._storage.transaction(write=False) as connection:
        assert {fact for (fact,) in connection.execute(guards.FACTS).fetchall()} == guards.GUARDED
    database, schema = url.split("/")[3].split("?")[0], url.rpartition("=")[2]
    postgres_server.execute(f"SET search_path = {schema}; {statement}", database=database)
    for attempt in (ledger.verify, lambda: open_ledger(url)):
        with pytest.raises(LedgerTamperedError, match=name):
            attempt()

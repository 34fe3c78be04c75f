"""Tables about a database: what is declared, what was charged, and what the owner alone may see."""

import pytest

import deniable as dn
from deniable.query.listings import list_columns, list_history, print_findings
from tests.query.conftest import frame
from tests.query.test_database import COLUMNS, COUNT, database


def test_columns_of_several_tables_stand_under_their_names() -> None:
    one = database()
    assert list_columns(one.tables)[0]["column"] == "person (unit)"
    two = dn.connect({"t": frame(), "w": frame()}, unit="person", columns={"t": COLUMNS}, budget=dn.Budget(epsilon=1))
    assert {row["column"].partition(".")[0] for row in list_columns(two.tables)} == {"t", "w"}


def test_the_history_names_analysts_where_there_are_several() -> None:
    db = database()
    assert str(list_history(db.ledger)) == "nothing was asked yet"
    db.sql(COUNT, epsilon="0.1")
    assert "asked by" not in list_history(db.ledger)[0]
    db.ledger = db.ledger.asked_by("ada")
    other = dn.Database(db._engine, db.tables, db.ledger)
    other.sql(COUNT, epsilon="0.1")
    assert [row["asked by"] for row in list_history(db.ledger)] == ["owner", "ada"]


def test_findings_are_printed_under_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    db = database()
    print_findings(db._engine, db.tables)
    printed = capsys.readouterr().out
    assert "not private" in printed.lower() or "exact" in printed.lower()
    assert "rows in the source" in printed

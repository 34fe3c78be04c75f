"""A ledger is about one source, and moves only where the owner says so."""

from pathlib import Path

import pytest

from deniable.errors import LedgerError
from deniable.ledger.source import Source, SourceTable
from tests.ledger.conftest import entry, key, open_ledger


def about(place: Path | None, table: str | None = None, **columns: str) -> Source:
    return Source(path=None if place is None else str(place), table=table, columns={"id": "integer", **columns})


def test_a_ledger_is_opened_for_one_source_alone(path: Path) -> None:
    first = about(path.with_name("two.duckdb"), "a")
    open_ledger(path, source=first).store(open_ledger(path).reserve(entry(1)), "1")
    before = path.read_bytes()
    for other, moves in [
        (about(path.with_name("two.duckdb"), "b"), False),
        (about(path.with_name("other.duckdb"), "a"), True),
        (about(None), True),
        (about(path.with_name("two.duckdb"), "a", age="real"), True),
    ]:
        with pytest.raises(LedgerError, match=r"was opened for .*, not (for|with)|without 'age'") as refusal:
            open_ledger(path, source=other)
        assert ("moved=True" in str(refusal.value)) == moves
    assert path.read_bytes() == before
    with pytest.raises(LedgerError, match="'a', not for the table 'b'"):
        open_ledger(path, source=about(path.with_name("two.duckdb"), "b"), moved=True)
    moved = open_ledger(path, source=about(path.with_name("other.duckdb"), "a"), moved=True)
    assert moved.recall(key(1)) == "1"
    moved.verify()
    with pytest.raises(LedgerError):
        open_ledger(path, source=first)


def test_a_ledger_moves_with_its_data(path: Path) -> None:
    open_ledger(path, source=about(path.with_name("survey.csv")))
    (path.parent / "elsewhere").mkdir()
    there = path.rename(path.parent / "elsewhere" / path.name)
    open_ledger(there, source=about(there.with_name("survey.csv")))
    with pytest.raises(LedgerError, match=r"the file 'survey.csv', not for the file '\.\./survey.csv'"):
        open_ledger(there, source=about(path.with_name("survey.csv")))


def several(place: Path, **parts: tuple[str, str]) -> Source:
    tables = {name: SourceTable(path=str(place.with_name(file)), role=role) for name, (file, role) in parts.items()}
    return Source(columns={"a.id": "integer", "b.id": "integer"}, tables=tables)


def test_a_ledger_of_several_tables_knows_where_each_is_and_whose(path: Path) -> None:
    first = several(path, a=("a.csv", "private"), b=("b.csv", "private"))
    open_ledger(path, source=first).store(open_ledger(path).reserve(entry(1)), "1")
    for other, moves in [
        (several(path, a=("a.csv", "private"), b=("c.csv", "private")), True),
        (several(path, a=("b.csv", "private"), b=("a.csv", "private")), True),
        (several(path, a=("a.csv", "private"), b=("b.csv", "public")), False),
        (several(path, a=("a.csv", "private")), True),
    ]:
        with pytest.raises(LedgerError, match="was opened for") as refusal:
            open_ledger(path, source=other)
        assert ("moved=True" in str(refusal.value)) == moves
    with pytest.raises(LedgerError, match="rows that are private, not for rows that are public"):
        open_ledger(path, source=several(path, a=("a.csv", "private"), b=("b.csv", "public")), moved=True)
    assert open_ledger(path, source=first).recall(key(1)) == "1"


def test_a_ledger_that_noted_no_tables_opens_and_notes_them(path: Path) -> None:
    """Earlier versions knew the columns of several tables, and nothing else."""
    open_ledger(path, source=Source(columns={"a.id": "integer", "b.id": "integer"}))
    open_ledger(path, source=several(path, a=("a.csv", "private"), b=("b.csv", "private"))).verify()
    with pytest.raises(LedgerError, match=r"'b\.csv', not for the file 'c\.csv'"):
        open_ledger(path, source=several(path, a=("a.csv", "private"), b=("c.csv", "private")))

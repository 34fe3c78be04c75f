"""`connect`: what a source, public facts, a budget and a ledger must be to make a database."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.errors import CatalogError, InvalidParameterError, LedgerError, SourceError
from deniable.privacy import Budget
from tests.query.conftest import frame
from tests.query.test_database import COUNT, database


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"t": {"age": dn.Number(lower=0, upper=9)}}, None),
        ({"T": {"age": dn.Number(lower=0, upper=9)}}, None),
        ({"x": {"age": dn.Number(lower=0, upper=9)}}, "the one table here is 't'"),
        ({"t": {}, "age": dn.Number()}, "the one table here is 't'"),
        ({"t": {"age": (0, 9)}}, "declares 'age' as tuple"),
        ({"age": "integer"}, "declares 'age' as str"),
        (["age"], "a mapping from names to declarations, got list"),
    ],
)
def test_columns_of_one_table_may_stand_under_its_name(columns: Any, words: str | None) -> None:
    if words is None:
        assert "0 to 9" in str(database(columns=columns).columns)
    else:
        with pytest.raises(CatalogError, match=words):
            database(columns=columns)


def test_an_argument_that_connect_does_not_take_is_named() -> None:
    connect: Any = dn.connect
    with pytest.raises(InvalidParameterError, match="connect takes no ids"):
        connect(frame(), unit="person", ids=4)


BAD_DECLARATIONS: dict[str, Callable[[], object]] = {
    "no unit": lambda: database(unit=None),
    "unit that is no column": lambda: database(unit="persom"),
    "column that is none": lambda: database(columns={"agee": dn.Number(lower=0, upper=1)}),
    "reversed bounds": lambda: dn.Number(lower=1, upper=0),
    "half a bound": lambda: dn.Number(lower=1),
    "endless bound": lambda: dn.Number(lower=0, upper=float("inf")),
    "huge bound": lambda: dn.Number(lower=0, upper=1e30),
    "no keys": lambda: dn.Keys([]),
    "keys twice": lambda: dn.Keys(["a", "a"]),
    "keys of two kinds": lambda: dn.Keys(["a", 1]),
    "keys that are fractions": lambda: dn.Keys([0.5]),  # type: ignore[list-item]
    "text for keys": lambda: dn.Keys("abc"),
    "no rows": lambda: database(rows=0),
    "rows of nobody": lambda: database(unit=dn.each_row("person"), rows=2),
    "budget that is a number": lambda: database(budget=1),
    "no budget": lambda: database(budget=None),
    "a frame that is none": lambda: database([1, 2, 3]),
    "a file that is none": lambda: database("nowhere.parquet"),
    "a server": lambda: database("postgresql://host/db"),
    "names that differ by case": lambda: database(pa.table({"person": [1], "Person": [2]})),
    "a policy and more": lambda: database("policy.toml"),
}


@pytest.mark.parametrize("name", BAD_DECLARATIONS)
def test_a_bad_declaration_is_refused(name: str) -> None:
    with pytest.raises((CatalogError, InvalidParameterError, SourceError, LedgerError)):
        BAD_DECLARATIONS[name]()


def test_a_unit_that_is_no_column_is_explained() -> None:
    with pytest.raises(CatalogError, match=r"each_row\('respondent'\)"):
        database(unit="respondent")


def test_a_ledger_outlives_the_process_and_knows_its_data(tmp_path: Path) -> None:
    path = tmp_path / "survey.ledger"
    first = database(ledger=path).sql(COUNT, epsilon=0.5)
    second = database(ledger=path, budget=None)
    assert second.sql(COUNT, epsilon=0.5).scalar() == first.scalar()
    assert second.ledger.spent().epsilon == Fraction(1, 2)
    second.ledger.verify()
    with pytest.raises(LedgerError):
        database(ledger=path, budget=Budget(epsilon=2))
    with pytest.raises(LedgerError):
        database(ledger=path, unit=dn.each_row())
    with pytest.raises(LedgerError, match="columns"):
        database(frame().drop_columns(["big"]), ledger=path)
    with pytest.raises(CatalogError, match='name="visits"'):
        database(ledger=path, name=None)


def test_two_tables_of_one_file_never_share_a_ledger(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "two.duckdb") as connection:
        for name in ("a", "b"):
            connection.execute(f"CREATE TABLE {name} AS SELECT 1 AS person")
    settings = {"name": "t", "columns": {}, "ledger": tmp_path / "t.ledger"}
    database(tmp_path / "two.duckdb", table="a", **settings).sql(COUNT, epsilon=0.5)
    for moved in (False, True):
        with pytest.raises(LedgerError, match="the table 'a', not for the table 'b'"):
            database(tmp_path / "two.duckdb", table="b", moved=moved, **settings)


def test_a_moved_file_is_refused_until_it_is_said(tmp_path: Path) -> None:
    pq.write_table(frame(), tmp_path / "t.parquet")
    ledger = tmp_path / "kept" / "t.ledger"
    ledger.parent.mkdir()
    first = database(tmp_path / "t.parquet", ledger=ledger).sql(COUNT, epsilon=0.5)
    there = (tmp_path / "t.parquet").rename(tmp_path / "kept" / "t.parquet")
    with pytest.raises(LedgerError, match=r"'\.\./t\.parquet', not for the file 't\.parquet'.*moved=True"):
        database(there, ledger=ledger)
    for moved in (True, False):
        assert database(there, ledger=ledger, moved=moved).sql(COUNT, epsilon=0.5).scalar() == first.scalar()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"relation": "replaced"}, r'dn.AddRemove or dn.Replace, in text "add/remove" or "replace", got .replaced.'),
        ({"unit": "persom"}, r"unit='persom' names no column of t. Did you mean 'person'\?"),
        ({"columns": {"rgeion": dn.Text()}}, r"'rgeion', which t does not have. Did you mean 'region'\?"),
        (
            {"columns": {"note": dn.Number(lower=0, upper=9)}},
            r"'note' as a Number, .* kind text.*integer=True.*dn.Text\(\)",
        ),
    ],
)
def test_errors_speak_of_what_was_written(options: dict[str, object], words: str) -> None:
    with pytest.raises((CatalogError, InvalidParameterError), match=words):
        database(**options)


def test_a_relation_may_be_text() -> None:
    assert database(relation="replace")._table.relation is dn.Replace
    plan = dn.statistics.plan(dn.statistics.mean, bounds=(0, 1), epsilon=1, relation="replace")
    assert plan.privacy_loss.relations == {dn.Replace}

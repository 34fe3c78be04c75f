"""What goes wrong beside the rows: one sentence that quotes nothing, the budget as charged, and the next answer right.

`make spark` asks the same of Spark.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.errors import CatalogError, ExecutionError, SourceError
from deniable.noise.bits import DeterministicBits
from tests.postgres import Server, as_reader

ROWS = pa.table({"who": list(range(4000)) * 2, "secret": ["swordfish"] * 8000, "k": [1, 2] * 4000})
TEXT = "SELECT COUNT(*) AS n, SUM(k) AS s FROM t WHERE secret LIKE 'sword%'"


@dataclass
class Case:
    """A table that is whole, and others at which an engine stops while it reads them: a damaged page, a disk that is
    full. What makes the whole one unreadable, and readable again; what changes its columns.
    """

    whole: dict[str, Any]
    stopping: list[dict[str, Any]]
    change: Callable[[], object]
    stop: Callable[[], object] | None = None
    start: Callable[[], object] | None = None

    def open(self, options: dict[str, Any]) -> dn.Database:
        columns = {"k": dn.Number(lower=0, upper=5), "secret": dn.Text()}
        db = dn.connect(**options, name="t", unit="who", rows=2, columns=columns, budget=dn.Budget(epsilon=1))
        db._bits = DeterministicBits(1)
        return db


def on_files(folder: Path) -> Case:
    for name in ("whole", "damaged"):
        pq.write_table(ROWS, folder / f"{name}.parquet", compression="none", use_dictionary=False)
    with (folder / "damaged.parquet").open("r+b") as file:
        file.seek(4)
        file.write(b"\xff" * 999)
    whole, away = folder / "whole.parquet", folder / "away.parquet"
    return Case(
        {"source": whole},
        [{"source": folder / "damaged.parquet"}],
        lambda: pq.write_table(ROWS.set_column(2, "k", ROWS["k"].cast(pa.string())), whole),
        lambda: whole.rename(away),
        lambda: away.rename(whole),
    )


def on_a_server(server: Server, url: str) -> Case:
    import psycopg

    def run(statement: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement.encode())

    columns = "n % 4000 AS who, 'swordfish' AS secret, n / 4000 + 1 AS k"
    for name, last in (("whole", 7999), ("damaged", 7999), ("large", 239_999)):
        run(f"CREATE TABLE {name} AS SELECT {columns} FROM generate_series(0, {last}) AS n")
    run("ALTER ROLE reader SET temp_file_limit = '3MB'; ALTER ROLE reader SET work_mem = '64kB'; CHECKPOINT")
    with psycopg.connect(url) as connection:
        ((place,),) = connection.execute("SELECT pg_relation_filepath('damaged')").fetchall()
    server.stop()
    with (server.folder / "data" / place).open("r+b") as file:
        file.write(b"\xff" * 999)
    server.start()
    return Case(
        {"source": as_reader(url), "table": "whole"},
        [{"source": as_reader(url), "table": "damaged"}, {"source": as_reader(url), "table": "large"}],
        lambda: run("ALTER TABLE whole ALTER k TYPE text"),
        server.stop,
        server.start,
    )


@pytest.fixture(scope="module", params=["DuckDB", "PostgreSQL"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    if request.param == "DuckDB":
        yield on_files(tmp_path_factory.mktemp("trouble"))
        return
    server: Server = request.getfixturevalue("postgres_server")
    with server.database() as url:
        yield on_a_server(server, url)
        server.execute("ALTER ROLE reader RESET ALL")


def assert_paid_in_vain(case: Case) -> None:
    """An engine that stops over the rows says so in one constant text; what was paid stays paid, and is listed."""
    for options in case.stopping:
        db = case.open(options)
        with pytest.raises(ExecutionError) as failure:
            db.sql(TEXT, epsilon=0.5)
        assert str(failure.value) == str(ExecutionError())
        assert failure.value.__cause__ is None
        assert failure.value.__context__ is None
        assert [entry.answered for entry in db.ledger.entries()] == [False]
        assert "left epsilon=0.5" in str(db.budget)


def assert_refused_unpaid(db: dn.Database) -> None:
    with pytest.raises(SourceError, match=r"Connect again|cannot be reached") as failure:
        db.sql(TEXT, epsilon=0.5)
    assert failure.value.__cause__ is None
    assert "sword" not in str(failure.value)
    assert db.ledger.entries() == []


def assert_answered(db: dn.Database) -> None:
    """The sum of 8,000 rows, and noise: 40 standard deviations are 320."""
    (row,) = db.sql(TEXT, epsilon=0.5).to_dicts()
    assert abs(row["n"] - 8000) < 320
    assert abs(row["s"] - 12000) < 1000


def test_an_engine_that_stops_over_the_rows_is_paid(case: Case) -> None:
    assert_paid_in_vain(case)


def test_a_source_that_is_gone_is_not_paid_and_may_come_back(case: Case) -> None:
    db = case.open(case.whole)
    assert case.stop is not None
    assert case.start is not None
    case.stop()
    try:
        assert_refused_unpaid(db)
    finally:
        case.start()
    assert_answered(db)


def test_columns_that_change_under_a_question_are_seen_before_it_is_paid(case: Case) -> None:
    db = case.open(case.whole)
    case.change()
    assert_refused_unpaid(db)
    with pytest.raises(CatalogError, match="column of kind text"):
        case.open(case.whole)

"""Folders and patterns of files, tables and views, by public facts alone."""

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.errors import CatalogError, SourceError
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.expression import Kind


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two months of 500 rows, in folders of a year, with the columns in another order."""
    for month, columns in ((1, ["person", "x"]), (2, ["x", "person"])):
        place = tmp_path / "data" / "year=2024" / f"m{month}.parquet"
        place.parent.mkdir(parents=True, exist_ok=True)
        table = pa.table({"person": list(range(500)), "x": [float(month)] * 500})
        pq.write_table(table.select(columns), place)
    return tmp_path / "data"


@pytest.mark.parametrize("path", [".", "*/*.parquet", "**/*.parquet", "year=2024/m?.parquet"])
def test_many_files_are_one_table_whatever_the_order_of_their_columns(folder: Path, path: str) -> None:
    db = dn.connect(folder / path, unit=dn.each_row(), budget=dn.Budget(epsilon=100), name="t")
    assert set(next(iter(db.tables.values())).schema) == {"person", "x"}
    columns = {"x": dn.Number(lower=0, upper=2)}
    db = dn.connect(folder / path, unit=dn.each_row(), budget=dn.Budget(epsilon=100), name="t", columns=columns)
    row = db.sql("SELECT COUNT(*) AS n, SUM(x) AS s FROM t", epsilon=100).to_dicts()[0]
    assert abs(row["n"] - 1000) < 10  # P < 1e-200
    assert abs(row["s"] - 1500) < 10


def test_a_file_that_comes_later_is_not_read(folder: Path) -> None:
    db = dn.connect(folder, unit=dn.each_row(), budget=dn.Budget(epsilon=100))
    pq.write_table(pa.table({"person": [1] * 5000, "x": [0.0] * 5000}), folder / "later.parquet")
    assert abs(db.sql("SELECT COUNT(*) AS n FROM data", epsilon=50).to_dicts()[0]["n"] - 1000) < 10


@pytest.mark.parametrize(
    "other", [{"person": [1]}, {"person": ["a"], "x": [1.0]}, {"person": [1], "x": [1.0], "y": [1]}]
)
def test_a_file_with_other_columns_is_named(folder: Path, other: dict[str, list[object]]) -> None:
    pq.write_table(pa.table(other), folder / "odd.parquet")
    with pytest.raises(SourceError, match=r"odd.*same columns"):
        DuckDBEngine.from_file(folder)


def test_folders_are_columns_only_if_asked(folder: Path) -> None:
    assert "year" not in DuckDBEngine.from_file(folder).schema()
    assert DuckDBEngine.from_file(folder, partitions=True).schema()["year"] is Kind.TEXT


def test_no_other_file_can_be_reached(folder: Path) -> None:
    engine = DuckDBEngine.from_file(folder)
    pq.write_table(pa.table({"person": [1], "x": [1.0]}), folder / "later.parquet")
    with pytest.raises(duckdb.Error):
        engine._connection.execute(f"SELECT * FROM '{folder}/later.parquet'")


def test_what_holds_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="holds no"):
        DuckDBEngine.from_file(tmp_path)
    (tmp_path / "a.csv").write_text("a\n")
    with pytest.raises(SourceError, match="finds 'a"):
        DuckDBEngine.from_file(tmp_path / "*")
    pq.write_table(pa.table([[1], [2]], names=["a", "A"]), tmp_path / "t.parquet")
    with pytest.raises(CatalogError, match="two columns"):
        DuckDBEngine.from_file(tmp_path / "t.parquet")


def test_a_table_is_called_by_its_own_name(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "two.duckdb")) as connection:
        connection.execute("CREATE TABLE visits AS SELECT 1 AS person")
    db = dn.connect(tmp_path / "two.duckdb", unit="person", rows=1, groups=1, budget=dn.Budget(epsilon=1))
    assert list(db.tables) == ["visits"]
    assert db._engine.source_name == str(tmp_path / "two.duckdb")

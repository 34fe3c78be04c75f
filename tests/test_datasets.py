"""The tables that come with the package: the same everywhere, as they are described, and written whole."""

import hashlib
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from deniable import datasets
from deniable.errors import InvalidParameterError

# What readers of the guide see depends on every row: a change of the generator changes the guide.
DIGESTS = {
    "visits": "b9b684aca21a03f226605831b7ccf39d8e9cd72a201a2bfa35d0518e75ab427b",
    "bids": "3c36a50ac6360dec3c9a8f56ce53ed16be4101eded1d04746af9cda9bb506325",
    "survey": "78c0fbc67abd6c5fa1697e5cfaaf851fa237b82105901bd087a1241a9a176190",
}


@pytest.mark.parametrize("name", datasets.TABLES)
def test_a_table_is_the_same_on_every_machine(name: str, tmp_path: Path) -> None:
    written = datasets.path(f"{name}.csv", tmp_path).read_bytes()
    assert hashlib.sha256(written).hexdigest() == DIGESTS[name]


@pytest.mark.parametrize("name", datasets.TABLES)
@pytest.mark.parametrize("ending", [".csv", ".parquet", ""])
def test_a_file_holds_the_table_and_is_written_once(name: str, ending: str, tmp_path: Path) -> None:
    place = datasets.path(name + ending, tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == [place.name]
    table = datasets.TABLES[name]()
    read = pyarrow.csv.read_csv(place) if ending == ".csv" else pq.read_table(place)
    assert read.column_names == table.column_names
    assert read.cast(table.schema).equals(table)
    place.write_text("mine")
    assert datasets.path(name + ending, tmp_path).read_text() == "mine"


def test_columns_are_as_described() -> None:
    visits, survey = datasets.visits(), datasets.survey()
    assert set(visits["ward"].to_pylist()) == set(datasets.WARDS)
    assert set(survey["department"].to_pylist()) == set(datasets.DEPARTMENTS)
    several = "SELECT AVG((n > 1)::INTEGER), MAX(n) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY patient)"
    assert duckdb.sql(several).fetchall() == [(pytest.approx(0.52, abs=0.01), 5)]
    assert 40 < visits["cost"].null_count < 80
    ages = duckdb.sql("SELECT MIN(age), MAX(age), MIN(cost), MAX(cost), MIN(day)::TEXT, MAX(day)::TEXT FROM visits")
    assert ages.fetchall() == [(0, 95, 20.0, 918.5, "2025-01-01", "2025-12-31")]
    ends = "SELECT MIN(age), MAX(age), MIN(years), MIN(age - years) >= 17, MAX(overtime) FROM survey"
    assert duckdb.sql(ends).fetchall() == [(18, 66, 0, True, 15.5)]
    assert pa.types.is_boolean(survey.schema.field("leaving").type)


@pytest.mark.parametrize("name", ["clinic", "visits.xlsx", "nowhere/visits.csv", ""])
def test_what_there_is_not_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"visits, survey, bids.*\.csv and \.parquet"):
        datasets.path(name, tmp_path)
    assert list(tmp_path.iterdir()) == []

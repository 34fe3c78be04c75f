"""Exact counts of trouble, compared with counts by Python over the same rows."""

import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from deniable.privacy import PrivacyUnit
from deniable.query.catalog import DeclaredTable
from deniable.query.declarations import Declaration, Keys, Number
from deniable.query.engines.doctor import Doctor
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.expression import Column
from tests.query.conftest import COLUMNS, TROUBLE, frame


def findings(path: Path, columns: dict[str, Declaration], *, unit: str | None = "person") -> dict[str, int | None]:
    engine = DuckDBEngine.from_file(path)
    table = DeclaredTable(
        name="t", schema=engine.schema(), unit=PrivacyUnit(column=unit, noun="person"), columns=columns
    )
    return {
        f"{found.subject}: {found.what.split(';')[0].split(':')[0]}": found.count
        for found in Doctor(engine).examine(table)
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pq.write_table(frame(), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_units_are_counted(path: Path) -> None:
    found = findings(path, dict(COLUMNS))
    assert found["rows: rows in the source"] == 10
    assert found["person: rows without a unit"] == 1
    assert found["person: units"] == 5
    assert found["person: most rows of one unit"] == 3
    assert found["person: units with more than rows=1 rows"] == 3
    # Unit 1 is in north and south; 4 is in south and north; 2 has one row in north, the other elsewhere.
    assert found["person: units in more than groups=1 groups of region"] == 2
    assert found["person: units with more than rows=1 rows in one group of region"] == 1
    # Nine rows of five units are known, and one of each counts; in groups, one of the two that unit 3 has in one.
    assert found["person: rows beyond rows=1, which do not count without GROUP BY"] == 4
    assert found["person: groups of region beyond groups=1, whose rows do not count"] == 2
    assert found["person: rows beyond rows=1 in one group of region, which do not count"] == 1


def test_units_that_are_bounded_in_all_are_counted_in_all(path: Path) -> None:
    engine = DuckDBEngine.from_file(path)
    unit = PrivacyUnit(column="person", noun="person")
    table = DeclaredTable(name="t", schema=engine.schema(), unit=unit, columns=COLUMNS, total_rows=2)
    found = [
        finding
        for finding in Doctor(engine).examine(table)
        if finding.subject == "person" and ("more than" in finding.what or "beyond" in finding.what)
    ]
    assert [(finding.what, finding.count) for finding in found] == [
        ("units with more than total_rows=2 rows; each row of theirs counts less", 1),
        ("rows beyond total_rows=2, which do not count", 1),
    ]


def test_values_are_counted(path: Path) -> None:
    found = findings(path, {**COLUMNS, "note": Number(lower=0, upper=10, integer=False)})
    income = TROUBLE["income"][1]
    numbers = [value for value in income if isinstance(value, float) and not math.isnan(value)]
    assert found["income: missing values"] == sum(value is None for value in income)
    assert found["income: values that are NaN"] == sum(isinstance(v, float) and math.isnan(v) for v in income)
    assert found["income: values above upper=100"] == sum(value > 100 for value in numbers)
    assert found["income: values below lower=0"] == sum(value < 0 for value in numbers)
    assert found["age: values below lower=0"] == 1
    assert found["region: values that are not among the declared keys"] == 1
    assert found["region: missing values"] == 1
    assert found["note: values that cannot be read as real"] == 5  # x, "", a date, a%b, Ärger
    assert found["note: values that are NaN"] == 1
    assert found["note: values above upper=10"] == 3  # 12, inf, 1e400


def test_rows_without_a_unit_column_have_no_findings_about_units(path: Path) -> None:
    assert not [what for what in findings(path, {}, unit=None) if what.startswith("person: rows without a unit")]


def test_a_key_for_missing_values_makes_them_a_group(path: Path) -> None:
    found = findings(path, {"region": Keys(["north", "south", "elsewhere"], null=True)})
    assert found["region: values that are not among the declared keys"] == 0


def test_a_part_that_fails_does_not_stop_the_others(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    value = Doctor._value

    def failing(self: Doctor, asked: Column) -> str:
        return "error('the page of age is damaged')" if asked.name == "age" else value(self, asked)

    monkeypatch.setattr(Doctor, "_value", failing)
    engine = DuckDBEngine.from_file(path)
    table = DeclaredTable(
        name="t", schema=engine.schema(), unit=PrivacyUnit(column="person", noun="person"), columns=COLUMNS
    )
    found = list(Doctor(engine).examine(table))
    (stopped,) = [finding for finding in found if finding.count is None]
    assert stopped.subject == "age"
    assert stopped.odd
    assert "the engine stopped" in stopped.what
    assert [finding for finding in found if finding.subject == "income"]

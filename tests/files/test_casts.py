"""A field is read as its type says, or is missing; nothing is half read."""

from datetime import date, datetime

import duckdb
import pytest

from deniable.files.casts import cast, given
from deniable.files.declaration import Csv, CsvColumn

WHOLE, REAL, DAY, MOMENT = (CsvColumn(type=kind) for kind in ("integer", "real", "date", "timestamp"))
EURO = CsvColumn(type="real", sign="€")
GERMAN = {"decimal": ",", "thousands": "."}
NEVER = ["", "x", "nan", "0x1F", "0b1", "1_000", "1__0", "1e", "--1", "1 2", "١", "1,5", "€5", "NULL", "\n", "1\n2"]
READ: list[tuple[CsvColumn, dict[str, object], str, object]] = [
    (WHOLE, {}, " 12 ", 12),
    (WHOLE, {}, "-7", -7),
    (WHOLE, {}, "+7", 7),
    (WHOLE, {}, "3.0", 3),
    (WHOLE, {}, "3.5", None),
    (WHOLE, {}, "1e3", None),
    (WHOLE, {}, "99999999999999999999", None),
    (REAL, {}, "1e3", 1000.0),
    (REAL, {}, "-inf", float("-inf")),
    (REAL, {}, ".5", 0.5),
    (REAL, GERMAN, "1.234,50", 1234.5),
    (REAL, GERMAN, "1.5", None),
    (REAL, GERMAN, "1.234.567", 1234567.0),
    (REAL, {"decimal": ","}, "12,5", 12.5),
    (REAL, {"decimal": ","}, "12.5", None),
    (WHOLE, {"thousands": ","}, "12,34,567", 1234567),
    (WHOLE, {"thousands": ","}, "1,23", None),
    (REAL, {"thousands": " ", "decimal": ","}, "1\u202f234,5", 1234.5),
    (EURO, {"thousands": ","}, "-€ 1,234.50", -1234.5),
    (EURO, {}, "5 €", 5.0),
    (EURO, {}, "5€5", None),
    (EURO, {}, "$5", None),
    (DAY, {}, "2025-01-31", date(2025, 1, 31)),
    (DAY, {}, "0025-01-31", None),
    (DAY, {}, "2025-02-30", None),
    (DAY, {}, "infinity", None),
    (DAY, {}, "epoch", None),
    (CsvColumn(type="date", format="%d/%m/%Y"), {}, " 31/1/2025", date(2025, 1, 31)),
    (CsvColumn(type="date", format="%d/%m/%Y"), {}, "31/01/25", None),
    (CsvColumn(type="date", format="%d/%m/%y"), {}, "31/01/25", date(2025, 1, 31)),
    (MOMENT, {}, "2025-01-31T10:00:00.5+02:00", datetime(2025, 1, 31, 8, 0, 0, 500000)),
    (MOMENT, {}, "2025-01-31", datetime(2025, 1, 31)),
    (MOMENT, {}, "now", None),
    (CsvColumn(type="timestamp", format="%d.%m.%Y %H:%M"), {}, "31.01.2025 23:59", datetime(2025, 1, 31, 23, 59)),
    (CsvColumn(type="boolean"), {"true": ["JA"], "false": []}, " ja", True),
    (CsvColumn(type="boolean"), {"true": ["JA"], "false": []}, "nein", None),
    (CsvColumn(), {"null": ["NA"]}, "NA", None),
    (CsvColumn(), {"null": ["NA"]}, " NA", " NA"),
]


def read(value: str, column: CsvColumn, csv: Csv) -> object:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        row = connection.execute(
            f"SELECT {cast('v', column, csv)} FROM (SELECT {given('v', csv)} AS v FROM (SELECT ?::VARCHAR AS v))",
            [value],
        ).fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize(("column", "fields", "value", "wanted"), READ)
def test_fields_are_read_as_declared(column: CsvColumn, fields: dict[str, object], value: str, wanted: object) -> None:
    found = read(value, column, Csv(**fields))  # type: ignore[arg-type]
    assert (found, type(found)) == (wanted, type(wanted))


@pytest.mark.parametrize("column", [WHOLE, REAL, DAY, MOMENT, CsvColumn(type="date", format="%m/%d/%Y")])
@pytest.mark.parametrize("fields", [{}, {"decimal": ","}, {"thousands": "'"}])
def test_what_is_of_no_type_is_missing(column: CsvColumn, fields: dict[str, object]) -> None:
    found = {value: read(value, column, Csv(**fields)) for value in NEVER}  # type: ignore[arg-type]
    readable = {"1,5": 1.5} if (column, fields) == (REAL, {"decimal": ","}) else {}
    assert {value: number for value, number in found.items() if number is not None} == readable

"""A way to import bytes as declared, and to see what came of it."""

import csv
from pathlib import Path

import pyarrow.parquet as pq

from deniable.files.declaration import Csv, CsvColumn
from deniable.files.write import import_csv

PLAIN = Csv(columns={"id": CsvColumn(type="integer"), "x": CsvColumn(type="real")})
Row = tuple[object, ...]


def imported(path: Path, content: bytes, form: Csv) -> tuple[list[Row], list[tuple[int, str]]]:
    """The rows of the import, and the lines and columns of its report."""
    path.write_bytes(content)
    done = import_csv(path, form)
    table = pq.read_table(done.path)
    with done.report.open(encoding="utf-8", newline="") as file:
        report = [(int(row["line"]), row["column"]) for row in csv.DictReader(file)]
    assert sum(done.losses.values()) == len(report)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True)), report

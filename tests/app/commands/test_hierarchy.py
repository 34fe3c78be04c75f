"""Counts of a hierarchy from the command line."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.app.conftest import Call, spent

ASK = ("hierarchy", "policy.toml", "--levels", "region", "--epsilon", "0.5", "--output")


def test_counts_and_measurements_are_written_and_other_levels_are_free(call: Call, place: Path) -> None:
    asked = ("--count", "old=age >= 60", "--measurements", "noisy.json", "--shares", "all=1,region=3")
    result = call(*ASK, "regions.parquet", *asked)
    assert result.exit_code == 0, result.stderr
    rows = pq.read_table(place / "regions.parquet")
    assert (rows.num_rows, rows.column_names[:3]) == (4, ["region", "old", "count"])
    assert len(json.loads((place / "noisy.json").read_text(encoding="utf-8"))["rows"]) == (1 + 2) * (1 + 2)
    assert "region: 2 units, 75.0% of the price" in result.stdout
    again = call(*ASK, "all.csv", *asked[:2], *asked[4:], "--level", "all", "--query", "total")
    assert again.exit_code == 0, again.stderr
    counts = (place / "all.csv").read_text(encoding="utf-8").splitlines()
    assert int(counts[1].split(",")[0]) == sum(rows["count"].to_pylist())
    assert [entry["cost"] for entry in spent(call)["entries"]] == ["epsilon=0.5"]


def test_public_totals_of_a_file_are_held(call: Call, place: Path) -> None:
    (place / "totals.csv").write_text("region,count\nnorth,250\nsouth,150\n", encoding="utf-8")
    result = call(*ASK, "regions.csv", "--invariants", "totals.csv")
    assert result.exit_code == 0, result.stderr
    assert "outside of the cost" in result.stdout
    rows = (place / "regions.csv").read_text(encoding="utf-8").splitlines()
    assert [row.split(",")[:2] for row in rows[1:]] == [['"north"', "250"], ['"south"', "150"]]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("counts.xlsx",), "written as .parquet, .csv, .json"),
        (("policy.toml",), "written as .parquet"),
        (("survey.parquet",), "would replace"),
        (("counts.csv", "--measurements", "noisy.txt"), "written as .parquet"),
        (("counts.csv", "--level", "town"), "--level is one of all, region"),
        (("counts.csv", "--query", "age"), "columns of this hierarchy: none"),
        (("counts.csv", "--count", "income"), "public list of groups"),
        (("counts.csv", "--shares", "region"), "--shares takes weights"),
        (("counts.csv", "--shares", "region=much"), "weight"),
        (("counts.csv", "--invariants", "no.csv"), "cannot be read"),
        (("no/counts.csv",), "cannot be written"),
    ],
)
def test_mistakes_cost_nothing(call: Call, options: tuple[str, ...], text: str) -> None:
    result = call(*ASK, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr
    assert spent(call)["entries"] == []

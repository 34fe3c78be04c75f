"""Synthetic rows from the command line."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.app.conftest import Call, spent

ASK = ("synthesize", "policy.toml", "--epsilon", "0.5", "--output")


def test_rows_and_a_report_are_written_and_other_rows_are_free(call: Call, place: Path) -> None:
    result = call(*ASK, "rows.parquet", "--size", "50", "--report", "page.html")
    assert result.exit_code == 0
    rows = pq.read_table(place / "rows.parquet")
    assert (rows.num_rows, rows.column_names) == (50, ["age", "region"])
    assert (place / "page.html").read_text(encoding="utf-8").count("<svg") == 2
    assert "2 tables" in result.stdout.replace("2 tables of columns", "2 tables")
    again = call(*ASK, "more.csv", "--size", "70", "--seed", "4")
    assert again.exit_code == 0
    assert len((place / "more.csv").read_text(encoding="utf-8").splitlines()) == 71
    assert [entry["cost"] for entry in spent(call)["entries"]] == ["epsilon=0.5"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("rows.xlsx",), ".parquet or .csv"),
        (("policy.toml",), ".parquet or .csv"),
        (("survey.parquet",), "would replace"),
        (("rows.csv", "--report", "page.pdf"), "--report in .html"),
        (("rows.csv", "--columns", "income"), "no declared domain"),
        (("no/rows.csv",), "cannot be written"),
    ],
)
def test_mistakes_cost_nothing(call: Call, options: tuple[str, ...], text: str) -> None:
    result = call(*ASK, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr
    assert spent(call)["entries"] == []

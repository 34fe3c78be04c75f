"""A stranger's file: Latin-1, semicolons, decimal commas, quoted line breaks, days before months."""

import csv
import io
import json
from pathlib import Path

import duckdb
import pytest

from tests.app.conftest import Call


def strangers_file() -> bytes:
    rows: list[list[str]] = [["patient", "note", "cost", "day", "ward"]]
    for index in range(400):
        note = f'first line\nsecond; "Rumpelstiltskin" {index}' if index % 3 == 0 else "Zoë"
        cost = f"1.{index % 90:03},50 CHF"
        rows.append(
            [f"p{index // 2}", note, cost, f"{1 + index % 28:02}/{1 + index % 12:02}/2025", ("Süd", "Nord")[index % 2]]
        )
    written = io.StringIO()
    csv.writer(written, delimiter=";").writerows(rows)
    return written.getvalue().encode("latin-1")


def policy_of(text: str) -> str:
    for line, filled in (
        ('# unit = "..." ', 'unit = "patient" '),
        ("groups = 1 ", "groups = 2 "),
        ("epsilon = 1.0 ", "epsilon = 10.0 "),
        ('sign = "CHF"\n# lower = 0\n# upper = 100', 'sign = "CHF"\nlower = 1000\nupper = 1100'),
        ('[columns.ward]\ntype = "text"\n# keys = ["north", "south"]', '[columns.ward]\nkeys = ["Süd", "Nord"]'),
    ):
        assert line in text
        text = text.replace(line, filled)
    return text


def test_a_strangers_file_is_answered_after_init_and_import(call: Call, place: Path) -> None:
    (place / "visits.csv").write_bytes(strangers_file())
    proposed = call("init", "visits.csv").stdout
    assert "Rumpelstiltskin" not in proposed
    (place / "visits.toml").write_text(policy_of(proposed), encoding="utf-8")
    sql = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits WHERE day >= '2025-01-13' GROUP BY ward"
    refused = call("query", "visits.toml", sql, "--epsilon", "10")
    assert (refused.exit_code, "deniable import" in refused.stderr) == (2, True)
    done = call("import", "visits.toml")
    assert "400 rows of visits.csv imported to visits.csv.parquet; nothing was lost" in done.stdout
    assert done.stdout.startswith("FOR THE OWNER OF THE DATA ALONE")
    answered = call("query", "visits.toml", sql, "--epsilon", "10", "--json")
    assert answered.exit_code == 0, answered.stderr
    rows = {row["ward"]: row for row in json.loads(answered.stdout)["rows"]}
    exact = duckdb.sql(
        "SELECT ward, count(*), avg(cost) FROM 'visits.csv.parquet' WHERE day >= DATE '2025-01-13' GROUP BY 1"
    ).fetchall()
    assert sum(row[1] for row in exact) > 350
    for ward, count, cost in exact:  # scales: 0.25 rows, and 0.5 CHF of an average; P < 1e-10
        assert abs(rows[ward]["n"] - count) < 10
        assert abs(rows[ward]["cost"] - cost) < 20
    assert "cannot be read" not in call("doctor", "visits.toml").stdout


def test_a_changed_file_or_declaration_asks_for_a_new_import(call: Call, place: Path) -> None:
    (place / "visits.csv").write_bytes(strangers_file())
    (place / "visits.toml").write_text(policy_of(call("init", "visits.csv").stdout), encoding="utf-8")
    assert call("import", "visits.toml").exit_code == 0
    question = ("explain", "visits.toml", "SELECT COUNT(*) FROM visits", "--epsilon", "1")
    assert call(*question).exit_code == 0
    text = (place / "visits.toml").read_text(encoding="utf-8")
    (place / "visits.toml").write_text(text.replace("row_lines = 10", "row_lines = 1"), encoding="utf-8")
    assert "another declaration" in call(*question).stderr
    lost = call("import", "visits.toml").stdout
    assert "a quoted field that does not end as it should" in lost
    assert "Rumpelstiltskin" not in lost + (place / "visits.csv.report.csv").read_text()
    (place / "visits.csv").write_bytes(strangers_file() + b"p;;;;\n")
    assert "was changed" in call(*question).stderr


@pytest.mark.parametrize("name", ["policy.toml", "survey.parquet"])
def test_what_is_no_text_file_is_not_imported(call: Call, name: str) -> None:
    result = call("import", name)
    assert (result.exit_code, result.stdout) == (2, "")

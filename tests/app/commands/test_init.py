"""A stranger's file becomes a policy, and the policy an answer."""

import json
from pathlib import Path

import duckdb
import pytest

from deniable.query.policy import read_policy
from tests.app.conftest import SECRETS, Call

CSV = "patient;region;cost;day;note\n" + "".join(
    f"p{index // 2};{('north', 'south')[index % 2]};{index % 90}.5;2025-03-{1 + index % 28:02};Rumpelstiltskin\n"
    for index in range(400)
)


def test_a_parquet_file_gives_names_and_types_and_no_value(call: Call, place: Path) -> None:
    result = call("init", "survey.parquet")
    assert (result.exit_code, result.stderr) == (0, "")
    (place / "new.toml").write_text(result.stdout.replace('# unit = "..."', 'unit = "person"'))
    policy = read_policy(place / "new.toml")
    assert list(policy.columns) == ["person", "age", "region", "income", "day"]
    assert "guessed" not in result.stdout
    assert not [secret for secret in SECRETS if secret in result.stdout]


def test_a_strangers_csv_is_answered_by_editing_text(call: Call, place: Path) -> None:
    (place / "visits.csv").write_text(CSV, encoding="utf-8")
    text = call("init", "visits.csv").stdout
    assert "The types are guesses" in text
    assert "Rumpelstiltskin" not in text
    bounds = "# lower = 0\n# upper = 100"
    for line, filled in (
        ('# unit = "..." ', 'unit = "patient" '),
        ("rows = 1 ", "rows = 2 "),
        (f'[columns.cost]\ntype = "real"\n{bounds}', '[columns.cost]\ntype = "real"\nlower = 0\nupper = 90'),
        ('[columns.region]\ntype = "text"\n# keys', '[columns.region]\ntype = "text"\nkeys'),
    ):
        assert line in text
        text = text.replace(line, filled)
    (place / "visits.toml").write_text(text, encoding="utf-8")
    assert "deniable import" in call("query", "visits.toml", "SELECT COUNT(*) FROM visits", "--epsilon", "1").stderr
    assert call("import", "visits.toml").exit_code == 0
    sql = "SELECT region, COUNT(*) AS n, AVG(cost) AS cost FROM visits WHERE day < '2026-01-01' GROUP BY region"
    result = call("query", "visits.toml", sql, "--epsilon", "1", "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert [row["region"] for row in told["rows"]] == ["north", "south"]
    assert all(abs(row["n"] - 200) < 200 for row in told["rows"])  # P[|noise| >= 200] < 1e-21


def test_a_table_of_a_duckdb_file_is_named_in_the_policy(call: Call, place: Path) -> None:
    with duckdb.connect(str(place / "many.duckdb")) as connection:
        connection.execute("CREATE TABLE first (x INTEGER); CREATE TABLE second (person INTEGER, y DATE)")
    result = call("init", "many.duckdb", "--table", "second")
    (place / "many.toml").write_text(result.stdout.replace('# unit = "..."', 'unit = "person"'))
    assert read_policy(place / "many.toml").table == "second"
    result = call("query", "many.toml", "SELECT COUNT(*) FROM second", "--epsilon", "1")
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("name", ["lost.parquet", "policy.toml", "broken.parquet", "headless.csv", "many.duckdb"])
def test_what_is_no_table_is_refused(call: Call, place: Path, name: str) -> None:
    (place / "broken.parquet").write_bytes(b"PAR1 nothing PAR1")
    (place / "headless.csv").write_text("\n1,2\n")
    with duckdb.connect(str(place / "many.duckdb")) as connection:
        connection.execute("CREATE TABLE first (x INTEGER); CREATE TABLE second (x INTEGER)")
    result = call("init", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("deniable: ")

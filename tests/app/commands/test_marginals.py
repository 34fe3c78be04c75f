"""Tables of counts from the command line."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.app.conftest import Call, spent

ASK = ("marginals", "policy.toml", "--epsilon", "0.5")
TABLES = ("--table", "region", "--table", "region, age", "--table", "")


def test_tables_are_explained_written_and_free_the_second_time(call: Call, place: Path) -> None:
    explained = call(*ASK, *TABLES, "--explain", "--output", "never.csv")
    assert (explained.exit_code, spent(call)["entries"]) == (0, [])
    assert "region: 3 counts" in explained.stdout
    assert not (place / "never.csv").exists()
    result = call(*ASK, *TABLES, "--output", "tables.parquet", "--nonnegative")
    assert result.exit_code == 0
    kept = pq.read_table(place / "tables.parquet")
    assert {"region", "age", "count", "count_lower", "count_upper", "nonnegative"} <= set(kept.column_names)
    assert "3 noisy tables of 2 columns" in result.stdout
    again = call(*ASK, *TABLES)
    assert again.exit_code == 0
    assert "all" in again.stdout
    assert [entry["cost"] for entry in spent(call)["entries"]] == ["epsilon=0.5"]
    every = call(*ASK, "--ways", "1", "--columns", "region")
    assert every.exit_code == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((), "name the tables"),
        (("--ways", "1", "--table", "region"), "name the tables"),
        (("--ways", "1", "--output", "tables.xlsx"), "--output takes a name"),
        (("--ways", "1", "--output", "policy.toml"), "--output takes a name"),
        (("--table", "income"), "no declared domain"),
        (("--ways", "1", "--objective", "best"), "objective must be"),
        (("--ways", "1", "--output", "no/tables.csv"), "cannot be written"),
    ],
)
def test_mistakes_cost_nothing(call: Call, options: tuple[str, ...], text: str) -> None:
    result = call(*ASK, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr
    assert spent(call)["entries"] == []

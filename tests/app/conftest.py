"""A private table with its policy in a folder of its own, and a way to run commands there."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from deniable.app.cli import app

SECRETS = ("Rumpelstiltskin", "8675309", "2024-02-29")  # in the rows; they must never be in a message
POLICY = """
[data]
source = "survey.parquet"
name = "survey"
[privacy]
unit = "person"
rows = 2
[budget]
epsilon = 1.0
[columns.age]
type = "integer"
lower = 0
upper = 100
[columns.region]
keys = ["north", "south"]
"""

Call = Callable[..., Result]


def private_table() -> pa.Table:
    """300 people with two rows each, and one row of nobody."""
    people = [index // 2 for index in range(600)]
    return pa.table(
        {
            "person": pa.array([*people, None], type=pa.int64()),
            "age": pa.array([20 + index % 50 for index in range(600)] + [8675309], type=pa.int64()),
            "region": ["north", "south", "north"] * 200 + ["Rumpelstiltskin"],
            "income": pa.array([1.5, float("nan"), 8675309.0] * 200 + [None]),
            "day": pa.array([date(2024, 2, 29)] * 601),
        }
    )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with survey.parquet and policy.toml in it."""
    pq.write_table(private_table(), tmp_path / "survey.parquet")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(place: Path) -> Call:
    """call("query", "policy.toml", ...) runs the command; an exit that is no exit is an error of the test."""

    def run(*arguments: str) -> Result:
        result = CliRunner().invoke(app, list(arguments))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return run


def spent(call: Call) -> dict[str, Any]:
    """What the ledger says, as data."""
    result = call("budget", "policy.toml", "--json")
    assert result.exit_code == 0, result.stderr
    told: dict[str, Any] = json.loads(result.stdout)
    return told

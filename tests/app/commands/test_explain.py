"""Explaining costs nothing, reads no row and makes no file."""

import json
from pathlib import Path

import pytest

from deniable.query.engines.duckdb.engine import DuckDBEngine
from tests.app.conftest import Call

SQL = "SELECT region, COUNT(*) AS n, AVG(age) AS age FROM survey GROUP BY region"


@pytest.fixture(autouse=True)
def no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("a row was read")

    monkeypatch.setattr(DuckDBEngine, "exact", refuse)


def test_a_plan_in_words(call: Call, place: Path) -> None:
    before = sorted(place.iterdir())
    result = call("explain", "policy.toml", SQL, "--epsilon", "0.1")
    assert (result.exit_code, result.stderr) == (0, "")
    for word in ("one person of survey", "at most 2 rows", "Laplace noise", "epsilon=0.1", "left"):
        assert word in result.stdout
    assert sorted(place.iterdir()) == before


def test_a_plan_as_data(call: Call) -> None:
    result = call("explain", "policy.toml", SQL, "--epsilon", "0.2", "--json")
    told = json.loads(result.stdout)
    assert told["groups"] == 2
    assert told["cost"]["epsilon"] == "1/5"
    assert all(noise["error_95"] > 0 for noise in told["noise"])


def test_more_than_what_is_left_can_be_explained(call: Call) -> None:
    assert call("explain", "policy.toml", SQL, "--epsilon", "5").exit_code == 0

"""Three files to the risks of a synthetic table."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.app.conftest import Call

DICE = np.random.default_rng(22)


@pytest.fixture
def tables(place: Path) -> Path:
    for name in ("original", "control", "fresh"):
        rows = {"age": DICE.integers(18, 90, 200), "pay": DICE.normal(size=200), "town": DICE.choice(list("abcd"), 200)}
        pq.write_table(pa.table(rows), place / f"{name}.parquet")
    return place


def test_a_copy_is_at_risk_and_fresh_rows_are_not(call: Call, tables: Path) -> None:
    words = ("control.parquet", "--attacks", "100", "--json")
    copied, fresh = (
        json.loads(call("attack", "synthetic", "original.parquet", f"{name}.parquet", *words).stdout)
        for name in ("original", "fresh")
    )
    assert list(copied) == [
        "singling out, 1 column", "singling out, 3 columns", "linkage",
        "inference of age", "inference of pay", "inference of town",
    ]  # fmt: skip
    # Fifty people share a town, the second half of the columns.
    assert [name for name, one in copied.items() if not one["succeeded"]] == ["linkage"]
    assert not any(one["succeeded"] for one in fresh.values())


def test_the_residual_risk_is_told(call: Call, tables: Path) -> None:
    words = ("original.parquet", "original.parquet", "control.parquet", "--plot", "risk.svg")
    result = call("attack", "synthetic", *words)
    assert result.exit_code == 0
    assert result.stdout.count("residual risk: ") == 6
    assert (tables / "risk.svg").exists()


def test_tables_that_do_not_fit_are_refused(call: Call, tables: Path) -> None:
    result = call("attack", "synthetic", "original.parquet", "survey.parquet", "control.parquet")
    assert (result.exit_code, "the synthetic table names no column of the table: person" in result.stderr) == (2, True)

"""Synthetic rows with their tables, cost and distances."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from deniable.errors import InvalidParameterError, UnsafeReleaseError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import compose
from deniable.synthesis import Synthesis
from tests.synthesis.tables import measuring, rows


def made(seed: int = 1, count: int = 3_000, *, safe: bool = True, rho: float = 1.0) -> Synthesis:
    plan = measuring(rho=rho)
    measured = plan.measure(rows(count), None, DeterministicBits(seed))
    return Synthesis(measured=measured, cost=compose([]), paid=plan.privacy_loss, safe=safe, protects="one person")


def test_rows_are_a_table_with_the_declared_types() -> None:
    one = made()
    table = one.rows(10, seed=3)
    assert table.schema == pa.schema([("ward", pa.string()), ("age", pa.int64()), ("ill", pa.bool_())])
    assert table == one.rows(10, seed=3)
    assert one.rows().num_rows == one.size == pytest.approx(3_000, abs=50)
    for size, seed in ((-1, 0), (3, -1)):
        for ask in (one.rows, one.distances):
            with pytest.raises(InvalidParameterError):
                ask(size, seed=seed)


def test_files_hold_the_rows_and_parquet_says_what_they_cost() -> None:
    one = made()
    kept = pa.parquet.read_table(io.BytesIO(one.to_bytes(".parquet", size=5)))
    assert kept.replace_schema_metadata() == one.rows(5)
    assert b"rho=1; protects one person" in kept.schema.metadata[b"deniable"]
    assert pa.csv.read_csv(io.BytesIO(one.to_bytes(".csv", size=5))) == one.rows(5)
    with pytest.raises(InvalidParameterError, match="written as"):
        one.to_bytes(".xlsx")


def test_rows_of_test_noise_are_not_handed_out_unmarked() -> None:
    with pytest.raises(UnsafeReleaseError):
        made(safe=False).rows()
    assert made(safe=False).rows(4, unsafe=True).num_rows == 4


def test_intervals_of_distances_hold() -> None:
    """72 intervals of 95%: fewer than 61 hold with a chance below 0.1% (binomial)."""
    held = 0
    for seed in range(12):
        one = made(seed, count=600, rho=0.05)
        drawn = pa.table(one.rows(600))
        levels = one.domain.encode([drawn.column(index) for index in range(3)])
        for distance in one.distances(600):
            indices = [one.domain.names.index(name) for name in distance.columns]
            maps = one.measured.bins if len(indices) == 2 else [np.arange(size) for size in one.domain.sizes]
            cells = [tuple(maps[i][table[i]] for i in indices) for table in (levels, rows(600))]
            size = max(int(np.max(part)) for cell in cells for part in cell) + 1
            counts = [np.bincount(cell[0] * size * (len(cell) > 1) + cell[-1], minlength=size**2) for cell in cells]
            truth = np.abs(counts[0] - counts[1]).sum() / 1_200
            held += distance.lower <= truth <= distance.upper
    assert held >= 61


def test_it_says_what_was_measured_and_that_rows_are_no_people() -> None:
    text = str(made())
    for part in ("3 tables of columns and 3 of pairs", "age: 21 levels", "protects one person", "not data of people"):
        assert part in text
    assert made()._repr_html_().startswith("<pre>")

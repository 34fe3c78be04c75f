"""Synthetic rows with their tables, cost and distances."""

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from deniable.errors import InvalidParameterError, UnsafeReleaseError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import compose
from deniable.release import Provenance
from deniable.synthesis import Synthesis
from tests.synthesis.tables import measuring, rows


def made(seed: int = 1, count: int = 3_000, *, safe: bool = True, rho: float = 1.0) -> Synthesis:
    plan = measuring(rho=rho)
    measured = plan.measure(rows(count), None, DeterministicBits(seed))
    origin = Provenance(paid=plan.privacy_loss)
    return Synthesis(measured=measured, cost=compose([]), provenance=origin, safe=safe, protects="one person")


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


def test_rows_have_given_values_and_none_that_cannot_be() -> None:
    one = made(rho=20)
    given = one.rows(300, given={"ward": "b", "ill": True})
    assert set(given["ward"].to_pylist()) == {"b"}
    assert set(given["ill"].to_pylist()) == {True}
    free, held = one.rows(3_000), one.rows(3_000, never=[{"ward": ["a", "b"], "ill": True}, {"age": 3}])
    assert held.num_rows == 3_000
    assert held == one.rows(3_000, never=[{"ward": ["a", "b"], "ill": True}, {"age": 3}])
    pairs = set(zip(held["ward"].to_pylist(), held["ill"].to_pylist(), strict=True))
    assert {("a", True), ("b", True)} & set(zip(free["ward"].to_pylist(), free["ill"].to_pylist(), strict=True))
    assert {("a", False), ("b", False), ("c", True)} <= pairs <= {("a", False), ("b", False), ("c", True), ("c", False)}
    assert 3 not in held["age"].to_pylist()
    # The others are as likely as before: shares of wards among the rows that can be.
    known = [row for row in free.to_pylist() if row["age"] != 3 and not (row["ward"] in "ab" and row["ill"])]
    share = np.mean([row["ward"] == "c" for row in known])
    assert np.mean([ward == "c" for ward in held["ward"].to_pylist()]) == pytest.approx(share, abs=0.05)
    assert one.rows(5, never=[{}]).num_rows == 5
    assert one.rows(0, never=[{"ill": True}]).num_rows == 0


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"given": {"ward": "z"}}, "a value of ward"),
        ({"given": {"ward": ["a", "b"]}}, "a value of ward"),
        ({"given": {"age": "old"}}, "a value of age"),
        ({"given": {"age": float("nan")}}, "a value of age"),
        ({"given": {"nobody": 1}}, "given names 'nobody'"),
        ({"given": "ward"}, "given maps names"),
        ({"never": ["ward"]}, "never maps names"),
        ({"never": [{"ill": []}]}, "a value of ill"),
        ({"never": [{"ill": [True, False, None]}]}, "leaves hardly any row"),
    ],
)
def test_values_that_are_not_in_the_domain_are_refused(asked: Any, text: str) -> None:
    with pytest.raises(InvalidParameterError, match=text):
        made().rows(10, **asked)


def test_counts_of_a_column_are_those_that_were_measured() -> None:
    one = made(rho=5)
    counts = one.counts("ward")
    assert list(counts["ward"]) == ["a", "b", "c", None]
    assert list(counts["count"]) == one.measured.counts[0].tolist()
    assert counts.intervals()["count"].lower[0] < 1_000 < counts.intervals()["count"].upper[0]
    with pytest.raises(InvalidParameterError, match="no column 'nobody'"):
        one.counts("nobody")


def test_a_plan_says_how_exactly_columns_are_counted() -> None:
    text = str(measuring(rho=1))
    assert text.startswith("noisy tables of 3 columns and of 3 pairs of them, on bins\n  ward: 4 levels, counts +-")
    assert text.endswith("cost rho=1")
    assert measuring(rho=1)._repr_html_().startswith("<pre>")

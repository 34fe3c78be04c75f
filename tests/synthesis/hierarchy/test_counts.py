"""Counts that are published: tables, files, and what is said of them."""

import io
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from deniable.errors import InvalidParameterError, UnsafeReleaseError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import compose
from deniable.release import Provenance
from deniable.synthesis.hierarchy import HierarchicalCounts
from deniable.synthesis.hierarchy.constraints import Constraints
from tests.synthesis.hierarchy.trees import CELLS, TREE, plan_of

EXACT = np.arange(30)


def made(seed: int = 1, *, held: bool = False, safe: bool = True, rho: object = 1) -> HierarchicalCounts:
    plan = plan_of(queries={"total": 1, "sex": 1, "cells": 1}, rho=rho)
    return HierarchicalCounts(
        measured=plan.measure(EXACT, DeterministicBits(seed)),
        constraints=Constraints(TREE, CELLS, totals={1: np.array([170, 265])} if held else {}),
        cost=compose([]),
        provenance=Provenance(paid=plan.loss),
        safe=safe,
        protects="one person",
    )


def test_counts_of_a_level_add_up_to_those_above() -> None:
    one = made()
    counties = one.counts("county").to_pandas()
    assert list(counties.columns) == ["state", "county", "age", "sex", "count", "estimate", "standard_deviation"]
    assert len(counties) == 30
    states = one.counts("state", "sex").to_pandas()
    summed = counties.groupby(["state", "sex"])["count"].sum()
    assert summed.to_dict() == states.set_index(["state", "sex"])["count"].to_dict()
    (total,) = one.counts("all", "total").to_pylist()
    assert total["count"] == counties["count"].sum()
    assert one.counts("county", "total").column_names == ["state", "county", "count", "estimate", "standard_deviation"]


def test_counts_stand_beside_the_keys_of_their_units() -> None:
    """With hardly any noise, counts are those of the declared leaves."""
    rows = made(rho=10**6).counts("county").to_pylist()
    keys = [(*path, age, sex) for path in TREE.paths for age in (0, 1, 2) for sex in ("f", "m")]
    found = {(row["state"], row["county"], row["age"], row["sex"]): row["count"] for row in rows}
    assert found == dict(zip(keys, EXACT.tolist(), strict=True))


def test_measurements_are_unbiased_with_their_variances() -> None:
    table = made(rho=10**6).measurements().to_pandas()
    assert table["variance"].max() < 1e-3
    assert len(table) == (1 + 2 + 5) * (1 + 2 + 6)
    assert table[table["level"] == "all"].query("query == 'total'")["value"].tolist() == [EXACT.sum()]
    noisy = [made(seed, rho="1/10").measurements().to_pandas() for seed in range(300)]
    errors = np.stack([each["value"] - table["value"] for each in noisy])
    deviations = np.sqrt(noisy[0]["variance"].to_numpy())
    assert np.abs(errors.mean(axis=0) / deviations * 300**0.5).max() < 4.5  # of 72: chance below 0.1%
    assert errors.std(axis=0) == pytest.approx(deviations, rel=0.2)


def test_intervals_of_estimates_hold() -> None:
    """72,000 intervals of 95%, those of one release dependent: their share is within 0.94 and 0.96."""
    truth = made(rho=10**6).counts("county")["count"].to_numpy()
    held = []
    for seed in range(400):
        table = made(seed, rho="1/10").counts("county")
        error = table["estimate"].to_numpy() - truth
        held.append(np.abs(error) <= 1.96 * table["standard_deviation"].to_numpy())
    assert 0.94 < np.mean(held) < 0.96


def test_files_say_what_they_cost() -> None:
    one = made()
    kept = pa.parquet.read_table(io.BytesIO(one.to_bytes(".parquet", level="state")))
    assert kept.replace_schema_metadata() == one.counts("state")
    assert json.loads(kept.schema.metadata[b"deniable"])["protects"] == "one person"
    data = json.loads(one.to_bytes(".json"))
    assert data["guarantee"] == "Protects one person at rho=1."
    assert len(data["rows"]) == 72
    assert pa.csv.read_csv(io.BytesIO(one.to_bytes(".csv", level="all"))).num_rows == 6
    with pytest.raises(InvalidParameterError, match=r"\.parquet, \.csv, \.json"):
        one.to_bytes(".xlsx")


def test_held_totals_take_the_place_of_the_plain_guarantee() -> None:
    one = made(held=True)
    assert one.counts("state", "total")["count"].to_pylist() == [170, 265]
    assert one.counts("state", "total")["standard_deviation"].to_pylist() == [0, 0]
    assert "outside of the cost" in one.guarantee
    assert "Protects one person" not in str(one)
    assert json.loads(one.to_bytes(".json"))["guarantee"] == one.guarantee
    assert "Protects one person at rho=1." in str(made())


def test_least_counts_are_outside_of_the_guarantee_too() -> None:
    least = Constraints(TREE, CELLS, minimum_totals={2: np.array([3, 0, 0, 0, 0])})
    assert replace(made(), constraints=least).guarantee.startswith(
        "The least counts of county were given and are met. If"
    )


def test_what_nothing_measured_determines_is_missing() -> None:
    """Levels below the only measured one, and noise so small that its variance is no number."""
    plan = plan_of(levels={"state": 1}, rho=10**15)
    measured = plan.measure(EXACT, DeterministicBits(1))
    one = HierarchicalCounts(measured=measured, constraints=Constraints(TREE, CELLS), cost=plan.loss)
    counties, states = one.counts("county"), one.counts("state", "total")
    assert counties["estimate"].null_count == counties["standard_deviation"].null_count == 30
    assert counties["count"].null_count == 0
    assert states["count"].to_pylist() == [102, 333]
    assert "Infinity" not in one.to_bytes(".json", level="county").decode()


def test_counts_of_test_noise_are_not_handed_out_unmarked() -> None:
    for ask in (lambda: made(safe=False).counts("state"), made(safe=False).measurements):
        with pytest.raises(UnsafeReleaseError):
            ask()
    assert made(safe=False).counts("state", unsafe=True).num_rows == 12


def test_it_says_what_was_measured() -> None:
    text = str(made())
    for part in ("8 units of 3 levels", "county: 5 units, 33.3% of the price: total +-", "too high where the truth"):
        assert part in text
    assert made()._repr_html_().startswith("<pre>")

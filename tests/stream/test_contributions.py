"""Contributions: clamped, placed, and limited for each unit, whatever rows hold."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import PrivacyUnit
from deniable.stream import StreamPlan
from deniable.stream.contributions import Arrivals, totals_of
from deniable.stream.state import StateFile

PERSON = PrivacyUnit(column="person", noun="person")


class Totals:
    """What rows add to the open step of a plan, one call after the other."""

    def __init__(self, **facts: Any) -> None:
        self.plan = StreamPlan(steps=20, rho=1, **facts)
        self.file = StateFile(None)
        with self.file.transaction() as connection:
            self.file.create(connection, "{}", True)

    def __call__(self, step: int = 1, *, values: Any = None, keys: Any = None, units: Any = None) -> list[int]:
        with self.file.transaction() as connection:
            columns = Arrivals(values, keys, units)
            totals = totals_of(self.plan, columns, step=step, connection=connection)
            return (totals // (self.plan.size if self.plan.bounds is None else 1)).tolist()


def test_values_are_clamped_and_what_is_no_number_does_not_count() -> None:
    odd = [1e308, -np.inf, np.nan, None, "text", 0.25, 2**80, b"x"]
    totals = Totals(bounds=(-1, 2))
    assert totals(values=odd)[0] * totals.plan.grid == pytest.approx(2 - 1 + 0.25 + 2)
    assert Totals(bounds=(-1, 2))(values=pa.array([5, None, 1]))[0] == 2**16 + 2**15
    assert Totals()(values=[1.0, None, 3.0]) == [2]


def test_rows_with_undeclared_keys_do_not_count() -> None:
    totals = Totals(keys=["a", "b"], bounds=(0, 1))
    assert totals(values=[1, 1, 1, 1], keys=["a", "c", None, "a"]) == [2**17, 0]


def test_a_unit_counts_in_so_many_rows_and_steps_so_far_apart() -> None:
    totals = Totals(unit=PERSON, rows=2, steps_per_unit=2, separation=3)
    assert totals(1, units=["ada", "ada", "ada", "bob", None]) == [3]
    assert totals(1, units=["ada", "bob", "bob"]) == [1]  # ada's two rows are used, bob has one left
    assert totals(3, units=["ada", "eve"]) == [1]  # too near to step 1
    assert totals(4, units=["ada", "eve"]) == [1]  # ada again; eve came in step 3
    assert totals(9, units=["ada", "eve"]) == [1]  # ada's steps are used; eve's second
    assert totals(19, units=["ada", "eve", "bob"]) == [1]


def test_equal_units_are_one_in_every_form() -> None:
    totals = Totals(unit=PERSON)
    assert totals(1, units=[1, 1.0, True, np.int64(1), "1"]) == [2]
    assert totals(2, units=pa.array([1, 2])) == [1]


@pytest.mark.parametrize("seed", range(5))
def test_a_unit_more_changes_what_its_own_rows_may_and_nothing_else(seed: int) -> None:
    """Random rows with and without one unit: step by step the difference is within the plan."""
    rng = np.random.default_rng(seed)
    facts: dict[str, Any] = {"unit": PERSON, "rows": 2, "steps_per_unit": 3, "separation": 2, "keys": ["a", "b", "c"]}
    one, other = Totals(**facts), Totals(**facts)
    used = []
    for step in range(1, 15):
        units = rng.integers(0, 4, 12)
        keys = rng.choice(["a", "b", "c", "d"], 12)
        without = units != 0
        moved = np.subtract(one(step, keys=keys, units=units), other(step, keys=keys[without], units=units[without]))
        assert np.linalg.norm(moved) * one.plan.size <= one.plan.uses.lattice
        assert moved.min() >= 0
        used += [step] if moved.any() else []
    assert len(used) == 3
    assert min(np.diff(used)) >= 2


@pytest.mark.parametrize(
    ("facts", "columns"),
    [
        ({}, {}),
        ({}, {"units": [1]}),
        ({"bounds": (0, 1)}, {}),
        ({"keys": ["a"]}, {"values": [1]}),
        ({"unit": PERSON}, {"values": [1], "units": [1, 2]}),
    ],
)
def test_columns_that_are_missing_or_too_many_are_refused(facts: Any, columns: Any) -> None:
    with pytest.raises(InvalidParameterError):
        Totals(**facts)(**columns)

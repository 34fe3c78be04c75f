"""Rows that nobody else shares."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable.attacks import measure_uniqueness
from deniable.attacks.linkage import expected_unique_share
from deniable.errors import InvalidParameterError

DICE = np.random.default_rng(0)
DATA = {
    "zip": [f"0213{digit}" for digit in DICE.integers(0, 4, size=200)],
    "birth": [None if year == 3 else float(year) for year in DICE.integers(0, 12, size=200)],
    "sex": ["fm"[bit] for bit in DICE.integers(0, 2, size=200)],
}
FRAMES = [pd.DataFrame(DATA), pl.DataFrame(DATA), pa.table(DATA)]


@pytest.mark.parametrize("frame", FRAMES, ids=["pandas", "polars", "arrow"])
def test_a_unique_row_is_one_whose_tuple_is_counted_once(frame: Any) -> None:
    for columns in (["zip"], ["birth", "sex"], ["zip", "birth", "sex"]):
        tuples = list(zip(*(DATA[name] for name in columns), strict=True))
        counts = Counter(tuples)
        result = measure_uniqueness(frame, columns)
        assert result.learned is not None
        assert result.learned.tolist() == [counts[one] == 1 for one in tuples]


def test_rows_are_positions_and_missing_is_a_value() -> None:
    frame = pd.DataFrame({"x": [1.0, np.nan, np.nan, 2.0]}, index=[9, 9, 4, 4])
    learned = measure_uniqueness(frame, ["x"]).learned
    assert learned is not None
    assert learned.tolist() == [True, False, False, True]
    assert measure_uniqueness(frame[1:2], ["x"]).success.right == 1


def test_the_curve_grows_with_every_column() -> None:
    result = measure_uniqueness(FRAMES[0], ["sex", "birth", "zip"], cells=96)
    (curve,) = result.curves
    assert curve.y[-1] == result.success.value
    assert (np.diff(curve.y) >= 0).all()
    assert result.facts is not None
    assert result.facts["unique if all combinations were equally likely"] == f"{(95 / 96) ** 199:.1%}"


@pytest.mark.parametrize(("people", "cells"), [(1, 3), (3, 4), (5, 2)])
def test_the_expected_share_is_that_over_all_assignments(people: int, cells: int) -> None:
    shares = [
        sum(count == 1 for count in Counter(one).values()) / people
        for one in itertools.product(range(cells), repeat=people)
    ]
    assert expected_unique_share(people, cells) == pytest.approx(np.mean(shares))


def test_bad_input_is_refused() -> None:
    for call in (
        lambda: measure_uniqueness(FRAMES[0][:0], ["zip"]),
        lambda: measure_uniqueness(FRAMES[0], []),
        lambda: measure_uniqueness(FRAMES[0], ["name"]),
        lambda: measure_uniqueness([1, 2], ["zip"]),
        lambda: expected_unique_share(0, 5),
        lambda: expected_unique_share(5, float("nan")),
    ):
        with pytest.raises(InvalidParameterError):
            call()

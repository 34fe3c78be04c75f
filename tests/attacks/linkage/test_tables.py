"""A table without names beside a roll that has them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from deniable.attacks import link_tables
from deniable.errors import InvalidParameterError


@pytest.mark.parametrize("seed", range(5))
def test_a_name_is_given_where_both_tables_have_the_tuple_once(seed: int) -> None:
    dice = np.random.default_rng(seed)
    people = pd.DataFrame({"zip": dice.integers(0, 6, 60), "birth": dice.integers(0, 9, 60), "name": np.arange(60)})
    people.loc[people["birth"] == 8, "birth"] = np.nan
    released, roll = people.iloc[10:].sample(frac=1, random_state=seed), people.iloc[:50]
    columns = ["zip", "birth"]
    result = link_tables(
        released.drop(columns="name"), pl.from_pandas(roll), columns=columns, name="name", truth=list(released["name"])
    )
    keys = [[tuple(np.nan_to_num(row, nan=-1)) for row in one[columns].to_numpy()] for one in (released, roll)]
    expected = [
        roll["name"].iloc[keys[1].index(key)] if keys[0].count(key) == keys[1].count(key) == 1 else None
        for key in keys[0]
    ]
    assert result.learned is not None
    assert result.learned.tolist() == expected
    assert result.success.right == sum(one == two for one, two in zip(expected, released["name"], strict=True))
    assert result.baseline == 1 / 50


def test_coarser_values_give_fewer_names() -> None:
    dice = np.random.default_rng(0)
    birth = dice.integers(0, 20_000, size=400)
    exact = pl.DataFrame({"birth": birth, "name": np.arange(400)})
    years = exact.with_columns(birth=pl.col("birth") // 365)
    truth = list(range(400))
    fine = link_tables(exact, exact, columns=["birth"], name="name", truth=truth)
    coarse = link_tables(years, years, columns=["birth"], name="name", truth=truth)
    assert fine.success.value > 0.95
    assert coarse.success.value < 0.05


def test_bad_input_is_refused() -> None:
    frame = pl.DataFrame({"x": [1, 2], "name": ["a", "b"]})
    for wrong in (
        {"columns": ["y"]},
        {"columns": []},
        {"name": "who"},
        {"truth": ["a"]},
        {"released": frame.clear()},
    ):
        given = {"released": frame, "roll": frame, "columns": ["x"], "name": "name", "truth": None} | wrong
        with pytest.raises(InvalidParameterError):
            link_tables(given.pop("released"), given.pop("roll"), **given)  # type: ignore[arg-type]

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.order.base import OrderStatistic
from deniable.statistics.order.extremes import Maximum, Minimum
from deniable.statistics.order.interquartile_range import InterquartileRange
from deniable.statistics.order.quantile import Median
from deniable.statistics.order.quantiles import Quantiles

BITS = DeterministicBits(1)


@pytest.mark.parametrize("interval", [0, 1, 0.9999, True, "0.95", float("nan")])
def test_an_interval_is_a_level_or_none(interval: object) -> None:
    with pytest.raises(InvalidParameterError, match="interval"):
        Median(bounds=(0, 1), epsilon=1, interval=interval)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [{"bounds": (1, 0)}, {"bounds": (0.1, 0.2), "step": 1}, {"bounds": "auto", "step": 0}]
)
def test_wrong_grids_are_refused_when_the_statistic_is_made(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError, match=r"bounds|step"):
        Median(epsilon=1, **wrong)  # type: ignore[arg-type]


def test_missing_values_are_left_out_or_stand_in_the_middle() -> None:
    values = [1.0, np.nan, 3.0, np.inf]
    column, grid = Median(bounds=(0, 10), step=1, epsilon=1)._on_grid(values, None, BITS)
    assert column.tolist() == [1.0, 3.0, np.inf]
    assert grid.codes(column).tolist() == [1, 3, 10]
    column, _ = Median(bounds=(0, 10), step=1, epsilon=1, relation=Replace)._on_grid(values, None, BITS)
    assert column.tolist() == [1.0, 5.0, 3.0, np.inf]


def test_integers_stay_integers() -> None:
    for values in (np.array([2**63 - 1, 5]), np.array([2**64 - 1, 5], dtype=np.uint64)):
        column, grid = Median(bounds=(2**60, 2**60 + 1024), step=1, epsilon=1)._on_grid(values, None, BITS)
        assert column.dtype == np.int64
        assert grid.codes(column).tolist() == [1024, 0]


def test_rows_without_owner_do_not_count() -> None:
    column, _ = Median(bounds=(0, 10), epsilon=1)._on_grid([1, 2, 3], ["a", None, "a"], BITS)
    assert len(column) == 1


def test_found_bounds_make_the_grid_and_are_told() -> None:
    values = np.random.default_rng(1).uniform(0, 9, 1000)
    statistic = Median(bounds="auto", step=Fraction(1, 2), epsilon=1)
    _, grid = statistic._on_grid(values, None, DeterministicBits(1))
    assert (grid.value(0), grid.value(grid.size - 1)) == (0.0, 16.0)
    assert "[0, 16]" in statistic._notes(grid)[0]


def test_callers_keep_their_array() -> None:
    values = np.array([3.0, 1.0, 2.0])
    Median(bounds=(0, 10), epsilon=1)(values, bits=BITS)
    assert values.tolist() == [3.0, 1.0, 2.0]


@pytest.mark.parametrize("kind", [pa.array, pl.Series, lambda rows: pd.Series(rows, dtype="Int64"), list])
@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_a_null_does_not_change_the_other_rows(kind: Callable[[list[object]], object], relation: Relation) -> None:
    """Arrays with NULL come to numpy as floats, which do not hold 2^53 + 1."""
    bounds, rows = (2**53 - 8, 2**53 + 8), [2**53 + 1] * 99
    answers = [
        Median(bounds=bounds, step=1, epsilon=10, relation=relation)(kind([*rows, *more]), bits=DeterministicBits(1))[
            "median"
        ][0]
        for more in ([], [None])
    ]
    assert answers[0] == answers[1]
    assert answers[0] == (2**53 if kind is list else 2**53 + 1)


KINDS = [
    Median,
    Minimum,
    Maximum,
    InterquartileRange,
    partial(Quantiles, shares=["1/4", "1/2"]),
    partial(Quantiles, shares=[Fraction(q, 8) for q in range(1, 8)]),
]


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("kind", KINDS)
def test_by_default_all_of_the_price_buys_the_number_and_the_error_is_told(
    kind: Callable[..., OrderStatistic], relation: Relation
) -> None:
    """What a release says that an interval takes is what it takes."""
    plain = kind(bounds=(0, 10), epsilon=1, relation=relation)
    with_ends = kind(bounds=(0, 10), epsilon=1, relation=relation, interval=0.95)
    assert plain.privacy_loss.charge().epsilon == with_ends.privacy_loss.charge().epsilon == 1
    answer = plain(np.arange(11.0), bits=BITS)
    (said,) = answer.notes
    assert f"up to {plain.expected_error(10**9):.2g} ranks" in said
    assert np.isnan(answer.intervals()[answer.columns[-1]].lower).all()
    share = {"half": Fraction(1, 2), "a third": Fraction(1, 3), "a fifth": Fraction(1, 5)}
    left = 1 - share[said.partition("for ")[2].removesuffix(" of the price.")]
    assert spent_on_numbers(with_ends) == left * spent_on_numbers(plain)
    assert with_ends(np.arange(11.0), bits=BITS).notes == ()


def spent_on_numbers(statistic: OrderStatistic) -> Fraction:
    """Of the price, what does not go to intervals; up to a factor."""
    if isinstance(statistic, Quantiles):
        epsilon = statistic._prices[0].epsilon
        assert epsilon is not None
        return epsilon
    return statistic._draws[0].rate if isinstance(statistic, InterquartileRange) else statistic.epsilons[0]  # type: ignore[attr-defined, no-any-return]

"""What all statistics share."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable import statistics
from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.ledger import Ledger
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Budget, PrivacyUnit
from deniable.statistics import (
    anova,
    chi_squared_independence,
    count,
    covariance,
    key_counts,
    linear_regression,
    mann_whitney,
    mean,
    two_sample_t_test,
)
from deniable.statistics.count import Count
from deniable.statistics.histograms import Histogram
from deniable.statistics.means import Mean
from deniable.statistics.statistic import checked_bounds, without_rows
from tests.statistics.test_replay import ASKED, asked


def ledger() -> Ledger:
    return Ledger.open(None, budget=Budget(epsilon=1), relation=AddRemove, unit=PrivacyUnit(), dataset="test")


def test_a_ledger_pays_before_the_rows_are_read() -> None:
    book = ledger()

    class Unreadable:
        def __getitem__(self, rows: slice) -> object:
            assert rows == slice(0), "looked before paying"
            return np.empty(0)

        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            raise AssertionError("looked before paying")

    answer = count([1, 2], epsilon="1/4", ledger=book)
    assert str(answer.budget_left) == "epsilon=0.75"
    with pytest.raises(BudgetExceededError):
        count(Unreadable(), epsilon=1, ledger=book)
    assert book.spent().epsilon == Fraction(1, 4)


def test_bad_parameters_cost_nothing() -> None:
    book = ledger()
    for wrong in (
        {"epsilon": -1},
        {"epsilon": 1, "rows": 0},
        {"epsilon": 1, "relation": "replaced"},
        {"epsilon": 1, "rows": 2},
    ):
        with pytest.raises(InvalidParameterError):
            count([1], ledger=book, **wrong)  # type: ignore[arg-type]
    assert book.spent().epsilon == 0


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, pa.array, lambda x: pa.chunked_array([x])])
def test_columns_of_the_wrong_type_cost_nothing(kind: Any) -> None:
    book = ledger()
    if kind is not list:  # the type of a list is that of its values, which are not read before the ledger has paid
        with pytest.raises(InvalidParameterError, match="must be numbers"):
            mean(kind(["a", "b"]), bounds=(0, 1), epsilon=1, ledger=book)
    with pytest.raises(InvalidParameterError, match="one entry for each row"):
        mean(kind([1.0, 2.0]), bounds=(0, 1), epsilon=1, ledger=book, units=[1])
    assert book.spent().epsilon == 0
    assert mean(kind([1.0, 2.0]), bounds=(0, 3), epsilon=1, ledger=book, units=[1, 2]).scalar() >= 0
    assert book.spent().epsilon == 1


def test_a_tuple_of_numbers_is_a_column() -> None:
    assert mean((1.0, 2.0, 3.0), bounds=(0, 4), epsilon=1, ledger=ledger()).scalar() >= 0


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_the_wrong_columns_cost_nothing(frame: Any) -> None:
    book = ledger()
    with pytest.raises(InvalidParameterError):
        covariance(frame({"a": [1.0], "b": ["x"]}), bounds=[(0, 1), (0, 1)], epsilon=1, ledger=book)
    with pytest.raises(InvalidParameterError, match="rows must come in"):
        count(3, epsilon=1, ledger=book)
    assert book.spent().epsilon == 0


@pytest.mark.parametrize("size", [-5, "x", 2.5, None, True])
@pytest.mark.parametrize(
    "plan",
    [Mean(bounds=(0, 100), epsilon=1), Histogram(keys=["a"], epsilon=1)],
    ids=["mean", "histogram"],
)
def test_errors_are_expected_of_a_number_of_rows(plan: Any, size: Any) -> None:
    with pytest.raises(InvalidParameterError, match="size must be"):
        plan.expected_error(size)


def test_a_lazy_frame_is_to_be_collected() -> None:
    lazy = pl.LazyFrame({"age": [30.0]})
    for ask in (
        lambda: mean(lazy, bounds=(0, 100), epsilon=1),
        lambda: key_counts(lazy, epsilon=1, delta=1e-6),
        lambda: covariance(lazy, bounds=[(0, 100)], epsilon=1),
        lambda: anova(lazy, lazy, keys=[0, 1], bounds=(0, 100), epsilon=1),
    ):
        with pytest.raises(InvalidParameterError, match=r"Call .collect\(\) on it"):
            ask()


def test_a_release_from_a_test_stream_says_so() -> None:
    assert not count([1], epsilon=1, bits=DeterministicBits(1)).safe
    assert count([1], epsilon=1).safe


def test_a_statistic_reads_like_its_call() -> None:
    assert str(Count(epsilon=1, rows=2)) == "count(epsilon=1, rows=2)"
    assert count([1], epsilon=1).text == "count(epsilon=1)"


@pytest.mark.parametrize("wrong", [None, 3, (1,), (2, 1), (1, 1), (0, float("nan")), (0, float("inf")), ("a", 1)])
def test_bounds_are_checked(wrong: object) -> None:
    with pytest.raises(InvalidParameterError, match="bounds"):
        checked_bounds(wrong)


FOUR, THREE = np.arange(4.0), np.arange(3.0)
ENDS: dict[str, Any] = {"bounds": (0, 9), "epsilon": 1}


@pytest.mark.parametrize(
    "ask",
    [
        lambda **rest: linear_regression(FOUR, THREE, bounds=[(0, 9)], target_bounds=(0, 9), epsilon=1, **rest),
        lambda **rest: anova(FOUR, THREE, keys=[0, 1], **ENDS, **rest),
        lambda **rest: chi_squared_independence(FOUR, THREE, keys=[0, 1], other_keys=[0, 1], epsilon=1, **rest),
        lambda **rest: two_sample_t_test(FOUR, THREE, units=FOUR, **ENDS, **rest),
        lambda **rest: mann_whitney(FOUR, THREE, units=FOUR, epsilon=1, **rest),
        lambda **rest: mean(FOUR, units=THREE, **ENDS, **rest),
    ],
)
def test_columns_of_different_lengths_cost_nothing(ask: Any) -> None:
    book = ledger()
    with pytest.raises(InvalidParameterError, match="one entry for each row"):
        ask(ledger=book)
    assert book.spent().epsilon == 0
    with pytest.raises(InvalidParameterError, match="one entry for each row"):
        ask()


def test_samples_of_different_lengths_are_two_samples() -> None:
    assert two_sample_t_test(FOUR, THREE, units=np.arange(7), ledger=ledger(), **ENDS).safe


def test_infinite_keys_can_be_written() -> None:
    answer = key_counts(np.array([np.inf] * 100 + [-np.inf] * 100 + [1.0] * 100), epsilon=1, delta="1e-6")
    assert {row["key"] for row in answer.to_dicts()} == {"inf", "-inf", 1.0}
    assert '"-inf"' in answer.to_json()


def test_rows_are_left_out_by_place_and_not_by_label() -> None:
    """pandas 2 takes 0 for a label where the index is of floats, and `column[:0]` has rows."""

    class ByLabel(pd.Series):  # type: ignore[type-arg]
        def __getitem__(self, key: object) -> Any:
            raise AssertionError(f"rows were chosen by the label {key}")

    column = without_rows(ByLabel([1.0, 2.0], index=[-1.5, 0.5]))
    assert isinstance(column, pd.Series)
    assert not len(column)


def test_the_guide_has_the_unit_of_every_expected_error() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "statistics.md").read_text(encoding="utf-8")
    units = guide.partition("| function | unit of `expected_error` |")[2].partition("\n\n")[0]
    plannable = {name for name in statistics.__all__ if hasattr(getattr(statistics, name), "statistic")}
    assert len(plannable) > 20
    assert [name for name in sorted(plannable) if f"`{name}`" not in units] == []


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("level", [0.05, 0.95])
def test_every_interval_holds_its_own_estimate(name: str, level: float) -> None:
    rows, ask, _ = asked(name)
    answer: Any = ask(rows)
    for part, (lower, upper) in answer.intervals(level).items():
        values = np.asarray(answer[part], dtype=np.float64)
        outside = (values < lower) | (values > upper)  # neither is true of a value or an interval that is undefined
        assert not outside.any()


def test_text_in_a_list_is_read_as_the_number_that_it_is_one_by_one() -> None:
    plan = Mean(bounds=(0, 100), epsilon=1)
    numbers, texts = [20.0, 41.5, None, 60.0] * 9, ["20", " 41.5", "x", 6e1] * 9
    assert [plan(rows, bits=DeterministicBits(1)).scalar(unsafe=True) for rows in (texts, numbers)] == [
        plan(numbers, bits=DeterministicBits(1)).scalar(unsafe=True)
    ] * 2
    with pytest.raises(InvalidParameterError, match="must be numbers, got str"):
        plan(np.array(["20", "41.5"]))

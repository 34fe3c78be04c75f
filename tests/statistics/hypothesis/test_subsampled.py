import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics import subsampled_test
from deniable.statistics.hypothesis import subsampled
from deniable.statistics.hypothesis.subsampled import SubsampledTest
from tests.statistics.hypothesis.conftest import MOST

Rejections = Callable[[SubsampledTest, Callable[[np.random.Generator], object]], float]


def z_test(block: np.ndarray) -> float:
    """That the mean is 0, for a known standard deviation of 1."""
    return float(2 * stats.norm.sf(abs(block.sum()) / np.sqrt(len(block))))


def half(epsilon: str, relation: Relation = AddRemove) -> SubsampledTest:
    return SubsampledTest(test=z_test, blocks=25, epsilon=epsilon, relation=relation, simulations=199)


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_a_true_hypothesis_is_rejected_as_seldom_as_the_level_says(rejections: Rejections, relation: Relation) -> None:
    assert rejections(half("0.5", relation), lambda rng: rng.standard_normal(300)) <= MOST


def test_a_test_that_forgets_its_noise_rejects_too_often(
    rejections: Rejections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: the null law without noise."""
    monkeypatch.setattr(subsampled, "noise", lambda mechanism, shape, bits: np.zeros(shape))
    assert rejections(half("0.1"), lambda rng: rng.standard_normal(300)) > MOST


def test_a_false_hypothesis_is_found(rejections: Rejections) -> None:
    assert rejections(half("2"), lambda rng: rng.standard_normal(1000) + 0.3) > 0.9


def test_failures_and_warnings_of_the_inner_test_stay_inside() -> None:
    def broken(block: np.ndarray) -> float:
        warnings.warn(f"the block holds {block}", stacklevel=1)
        raise ValueError(block)

    for inner in (broken, lambda block: np.nan, lambda block: None, lambda block: -1.0):
        answer = subsampled_test([1.0, 2.0], test=inner, blocks=3, epsilon=1000, bits=DeterministicBits(1))
        assert answer["statistic"][0] == 0
    assert subsampled_test([], test=z_test, blocks=3, epsilon=1000, bits=DeterministicBits(1))["p_value"][0] > 0.4


@pytest.mark.parametrize("other", [None, "x", 10**400, [1, 2], 1j])
def test_one_row_changes_the_verdict_of_one_block(other: object) -> None:
    """Beside a text all numbers were texts, and beside a NULL objects, so that no block could be tested any more."""

    def count(rows: object) -> float:
        test = SubsampledTest(test=lambda block: stats.ttest_1samp(block, 0).pvalue, blocks=40, epsilon=1000)
        return float(test(rows, bits=DeterministicBits(1))["statistic"][0])

    numbers = (1 + np.arange(1200) / 1000).tolist()
    assert count(numbers) == 40
    assert count([*numbers, other]) >= 39
    assert count(np.array([*numbers, None], dtype=object)) >= 39


@pytest.mark.parametrize("odd", [[2.0], np.ones((2, 2)), np.ones(3), "a"], ids=str)
def test_a_row_of_a_list_changes_no_other_block(odd: object) -> None:
    """Neither by an error, whose type would tell of it, nor by the type of the other rows."""
    row = np.array([1, 2], dtype=np.int8)

    def seen(rows: list[object]) -> Counter[str]:
        blocks: list[str] = []
        test = SubsampledTest(test=lambda block: blocks.append(repr(block)) or 0.5, blocks=9, columns=2, epsilon=1)
        test(rows, units=np.arange(len(rows)), bits=DeterministicBits(1))
        return Counter(blocks)

    assert (seen([row] * 21) - seen([*[row] * 20, odd])).total() == 1


def test_rows_have_one_type_with_and_without_null() -> None:
    seen: set[str] = set()

    def inner(block: np.ndarray) -> float:
        seen.add(block.dtype.kind)
        return 1.0

    for rows in (
        pa.array([1, 2]),
        pa.array([1, None]),
        pl.Series([1, 2]),
        np.ma.masked_array([1, 2], mask=[True, False]),
    ):
        subsampled_test(rows, test=inner, blocks=1, epsilon=1, simulations=9)
    assert seen == {"f"}


def test_a_unit_lies_in_one_block_with_all_its_rows() -> None:
    seen: list[set[int]] = []

    def inner(block: np.ndarray) -> float:
        seen.append(set(block[:, 0].astype(int)))
        return 1.0

    units = np.repeat(np.arange(40), 5)
    table = np.column_stack([units, np.arange(200)])
    subsampled_test(table, test=inner, blocks=4, units=[*units[:-5], *[None] * 5], epsilon=1, bits=DeterministicBits(1))
    assert sorted(unit for block in seen for unit in block) == list(range(39))
    assert len(seen) == 4


def test_the_noise_is_that_of_one_count() -> None:
    assert half("1", Replace).sensitivity.l1 == 1
    assert half("1").expected_error(0) == half("1").mechanism.standard_deviation()
    assert half("1").privacy_loss.charge().epsilon == 1


@pytest.mark.parametrize("wrong", [{"test": 3}, {"blocks": 0}, {"inner_level": 0}, {"inner_level": 1}])
def test_bad_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        SubsampledTest(**{"test": z_test, "blocks": 4, "epsilon": 1, **wrong})  # type: ignore[arg-type]


def test_units_must_fit() -> None:
    with pytest.raises(InvalidParameterError, match="one entry for each row"):
        subsampled_test([1.0], test=z_test, blocks=2, units=[1, 2], epsilon=1)

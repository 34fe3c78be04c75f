import importlib
import itertools
from collections.abc import Callable

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics import mann_whitney
from deniable.statistics.hypothesis.mann_whitney import MannWhitney, _cut, _difference
from tests.statistics.hypothesis.conftest import LEVEL, MOST

Rejections = Callable[[MannWhitney, Callable[[np.random.Generator], object]], float]


def samples(shift: float) -> Callable[[np.random.Generator], object]:
    return lambda rng: (rng.standard_cauchy(90) + shift, rng.standard_cauchy(140))


def test_the_difference_counts_pairs() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 5, 20).astype(float), rng.integers(0, 5, 30).astype(float)
    assert _difference(first, second) == np.sign(first[:, np.newaxis] - second).sum()
    assert _difference(np.array([-np.inf, 2]), np.array([-np.inf])) == 1


def test_exchanging_a_row_moves_the_difference_by_twice_the_other_sample() -> None:
    """All samples of two and three values out of three, and all exchanges of one row."""
    largest = 0
    for values in itertools.product(range(3), repeat=5):
        for place, new in itertools.product(range(5), range(3)):
            other = [*values[:place], new, *values[place + 1 :]]
            a, b = (_difference(*np.split(np.array(data, dtype=float), [2])) for data in (values, other))
            largest = max(largest, abs(a - b))
    assert largest == 6


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_equal_laws_are_rejected_as_seldom_as_the_level_says(
    rejections: Rejections, relation: Relation, alternative: str
) -> None:
    test = MannWhitney(epsilon="0.5", relation=relation, alternative=alternative, simulations=199)  # type: ignore[arg-type]
    assert rejections(test, samples(0)) <= MOST


def test_a_test_that_forgets_its_noise_rejects_too_often(
    rejections: Rejections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: the null law without noise."""
    monkeypatch.setattr(
        importlib.import_module("deniable.statistics.hypothesis.mann_whitney"),
        "noise",
        lambda mechanism, shape, bits: np.zeros(shape),
    )
    assert rejections(MannWhitney(epsilon="0.1", simulations=199), samples(0)) > MOST


def test_a_shift_is_found(rejections: Rejections) -> None:
    assert rejections(MannWhitney(epsilon=2, relation=Replace, simulations=199), samples(1)) > 0.9
    less = MannWhitney(epsilon=2, relation=Replace, alternative="less", simulations=199)
    assert rejections(less, samples(1)) < LEVEL


def test_the_rows_of_a_unit_may_leave_one_sample_for_the_other() -> None:
    """Both leave a sample that is too large, where others take their place, and enter the other one: 3/2 of what two
    rows exchanged within a sample move, and up to twice that for more rows."""
    statistic = MannWhitney(epsilon=1, relation=Replace, rows=2)
    for cap in (5, 8, 12):
        first, second = np.full(cap - 2, 5.0), np.zeros(cap - 2)
        before = _difference(np.append(first, [9, 9]), second)  # a cut of first, the unit's 9, 9 and the others' -9, -9
        after = _difference(np.append(first, [-9, -9]), np.append(second, [99, 99]))
        assert before - after > 2 * cap * 2
        mechanism = statistic._mechanism(cap)
        assert isinstance(mechanism, Laplace)
        share = 4 / 5  # of the price
        assert (before - after) / mechanism.scale <= share


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}, {"rho": "1/8"}])
@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_the_price_is_kept(price: dict[str, object], relation: Relation) -> None:
    loss = MannWhitney(relation=relation, **price).privacy_loss  # type: ignore[arg-type]
    charge = loss.charge()
    if "rho" in price:
        assert charge.rho is not None
        assert charge.rho <= 1 / 8
    else:
        assert (charge.epsilon, float(charge.delta)) == (1, price.get("delta", 0))


def test_samples_are_cut_at_random() -> None:
    sample = np.arange(1000.0)
    assert _cut(sample, 1000, DeterministicBits(1)) is sample
    kept = _cut(sample, 100, DeterministicBits(1))
    assert len(set(kept)) == 100
    assert 350 < kept.mean() < 650  # five standard deviations of 28


def test_odd_data_get_an_answer() -> None:
    for relation in (AddRemove, Replace):
        for first, second in (([], []), ([1.0], []), ([np.nan, np.inf], [-np.inf, 1e300, 2.0])):
            answer = mann_whitney(
                first, second, epsilon="0.1", relation=relation, simulations=99, bits=DeterministicBits(2)
            )
            assert 0 < answer["p_value"][0] <= 1


def test_units_with_many_rows_count_up_to_the_bound() -> None:
    units = ["a"] * 50 + ["b"] * 50
    answer = mann_whitney(
        np.arange(50.0),
        np.arange(50.0) - 60,
        units=units,
        rows=3,
        epsilon=1000,
        simulations=99,
        bits=DeterministicBits(1),
    )
    assert 3 <= answer["statistic"][0] <= 15  # three rows each: nine pairs
    with pytest.raises(InvalidParameterError, match="leave units out"):
        mann_whitney([1.0], [2.0], units=[1, 2], epsilon=1, relation=Replace)


def test_the_expected_error_grows_with_the_samples() -> None:
    test = MannWhitney(epsilon=1, relation=Replace)
    assert test.expected_error(200) == pytest.approx(np.sqrt(2) * 200, rel=0.01)

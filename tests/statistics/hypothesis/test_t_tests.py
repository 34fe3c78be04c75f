import importlib
from collections.abc import Callable

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics import one_sample_t_test, two_sample_t_test
from deniable.statistics.hypothesis.base import HypothesisTest
from deniable.statistics.hypothesis.t_tests import OneSampleTTest, TwoSampleTTest, moments
from tests.statistics.hypothesis.conftest import LEVEL, MOST

Rejections = Callable[[HypothesisTest, Callable[[np.random.Generator], object]], float]


def one(epsilon: str, relation: Relation = AddRemove) -> OneSampleTTest:
    return OneSampleTTest(mean=40, bounds=(0, 100), epsilon=epsilon, relation=relation, simulations=199)


def two(epsilon: str, relation: Relation = AddRemove) -> TwoSampleTTest:
    return TwoSampleTTest(bounds=(0, 100), epsilon=epsilon, relation=relation, simulations=199)


def sample(mean: float, size: int = 120) -> Callable[[np.random.Generator], object]:
    return lambda rng: rng.normal(mean, 12, size)


def pair(shift: float) -> Callable[[np.random.Generator], object]:
    return lambda rng: (rng.normal(50 + shift, 8, 150), rng.normal(50, 16, 90))


def test_moments_are_those_of_the_rows() -> None:
    u = np.random.default_rng(1).random(1000)
    sums = np.array([((1 - u) ** 2).sum(), (2 * u * (1 - u)).sum(), (u**2).sum()])
    size, mean, variance = moments(sums)
    assert (size, mean, variance) == pytest.approx((1000, u.mean(), u.var()))
    assert [float(part) for part in moments(np.array([-5.0, 1.0, 2.0]))] == [2, 1, 1e-6]


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("epsilon", ["0.2", "2"])
def test_equal_means_are_rejected_as_seldom_as_the_level_says(
    rejections: Rejections, epsilon: str, relation: Relation
) -> None:
    assert rejections(one(epsilon, relation), sample(40)) <= MOST
    assert rejections(two(epsilon, relation), pair(0)) <= MOST


def test_tests_that_forget_their_noise_reject_too_often(
    rejections: Rejections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: the null law without noise."""
    module = importlib.import_module("deniable.statistics.hypothesis.t_tests")
    monkeypatch.setattr(module, "noise", lambda mechanism, shape, bits: np.zeros(shape))
    assert rejections(one("0.2"), sample(40)) > MOST
    assert rejections(two("0.2"), pair(0)) > MOST


def test_other_means_are_found(rejections: Rejections) -> None:
    assert rejections(one("1"), sample(45, size=400)) > 0.9
    assert rejections(two("1"), pair(12)) > 0.9
    less = OneSampleTTest(mean=40, bounds=(0, 100), epsilon=1, alternative="less", simulations=199)
    assert rejections(less, sample(45, size=400)) < LEVEL


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_bounds_may_be_searched(rejections: Rejections, relation: Relation) -> None:
    """Levels and power hold for bounds that are found, whether the stated mean lies between them or not."""
    for mean in (40, -90):
        plan = OneSampleTTest(mean=mean, bounds="auto", epsilon=2, relation=relation, simulations=199)
        assert rejections(plan, sample(mean, size=300)) <= MOST
    assert rejections(plan, sample(40, size=300)) > 0.9
    other = TwoSampleTTest(bounds="auto", epsilon=2, relation=relation, simulations=199)
    assert rejections(other, lambda rng: (rng.normal(50, 8, 300), rng.normal(50, 16, 200))) <= MOST
    assert rejections(other, lambda rng: (rng.normal(62, 8, 300), rng.normal(50, 16, 200))) > 0.9
    assert plan.privacy_loss.charge().epsilon == other.privacy_loss.charge().epsilon == 2
    notes = other(([50.0] * 3, [60.0] * 3), bits=DeterministicBits(1)).notes
    assert "estimated privately" in notes[1]
    assert "Declare bounds" in notes[2]


def test_odd_data_get_an_answer() -> None:
    for relation in (AddRemove, Replace):
        for values in ([], [50.0], [np.nan, np.inf, -np.inf, 1e300], [7.0] * 50):
            answer = one("0.1", relation)(values, bits=DeterministicBits(3))
            assert 0 < answer["p_value"][0] <= 1
            assert np.isfinite(answer["statistic"][0])
            answer = two("0.1", relation)((values, values), bits=DeterministicBits(3))
            assert 0 < answer["p_value"][0] <= 1


def test_a_unit_counts_so_many_rows() -> None:
    values, units = [90.0] * 60 + [10.0] * 2, ["a"] * 60 + ["b", "c"]
    answer = one_sample_t_test(
        values, mean=50, bounds=(0, 100), units=units, rows=2, epsilon=1000, bits=DeterministicBits(1)
    )
    assert abs(answer["statistic"][0]) < 0.1  # two rows of 90, two of 10
    again = two_sample_t_test(
        values[:60], values[60:], bounds=(0, 100), units=units, rows=2, epsilon=1000, bits=DeterministicBits(1)
    )
    assert again["statistic"][0] > 10


def test_the_noise_is_that_of_a_count() -> None:
    """One row moves the sums of all samples by one whole step in l1, two where it is exchanged."""
    assert two("1").sensitivity.l1 == 2**32
    assert two("1", Replace).sensitivity.l1 == 2**33
    assert two("1").privacy_loss.charge().epsilon == 1


def test_the_expected_error_is_that_of_the_statistic() -> None:
    rng = np.random.default_rng(5)
    values = rng.uniform(0, 100, 4000)
    test = OneSampleTTest(mean=50, bounds=(0, 100), epsilon="0.1", simulations=1)
    found = [test(values, bits=DeterministicBits(seed))["statistic"][0] for seed in range(400)]
    assert np.std(found) == pytest.approx(test.expected_error(4000), rel=0.3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"mean": 0},
        {"mean": 100},
        {"mean": 10**300, "bounds": "auto"},
        {"mean": 50, "bounds": (3, 2)},
        {"mean": 50, "alternative": 1},
    ],
)
def test_bad_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        OneSampleTTest(**{"bounds": (0, 100), "epsilon": 1, **wrong})  # type: ignore[arg-type]

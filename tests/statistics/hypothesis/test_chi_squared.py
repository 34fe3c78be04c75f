from collections.abc import Callable

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics import chi_squared_fit, chi_squared_independence
from deniable.statistics.hypothesis import chi_squared
from deniable.statistics.hypothesis.base import HypothesisTest
from deniable.statistics.hypothesis.chi_squared import ChiSquaredFit, ChiSquaredIndependence
from tests.statistics.hypothesis.conftest import MOST

Rejections = Callable[[HypothesisTest, Callable[[np.random.Generator], object]], float]
SHARES = np.array([0.1, 0.2, 0.7])


def fit(epsilon: str, relation: Relation = AddRemove) -> ChiSquaredFit:
    return ChiSquaredFit(keys=["a", "b", "c"], shares=[1, 2, 7], epsilon=epsilon, relation=relation, simulations=199)


def independence(epsilon: str, relation: Relation = AddRemove) -> ChiSquaredIndependence:
    return ChiSquaredIndependence(
        keys=[0, 1], other_keys=[0, 1, 2], epsilon=epsilon, relation=relation, simulations=199
    )


def letters(shares: np.ndarray) -> Callable[[np.random.Generator], object]:
    return lambda rng: rng.choice(np.array(["a", "b", "c"]), size=400, p=shares)


def columns(dependence: float) -> Callable[[np.random.Generator], object]:
    def make(rng: np.random.Generator) -> object:
        first, second = rng.choice(2, size=400, p=[0.3, 0.7]), rng.choice(3, size=400, p=SHARES)
        return first, np.where(rng.random(400) < dependence, first, second)

    return make


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_the_null_hypothesis_is_rejected_as_seldom_as_the_level_says(
    rejections: Rejections, epsilon: str, relation: Relation
) -> None:
    assert rejections(fit(epsilon, relation), letters(SHARES)) <= MOST
    assert rejections(independence(epsilon, relation), columns(0)) <= MOST


def test_tests_that_forget_their_noise_reject_too_often(
    rejections: Rejections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: the null law without noise."""
    monkeypatch.setattr(chi_squared, "noise", lambda mechanism, shape, bits: np.zeros(shape))
    assert rejections(fit("0.1"), letters(SHARES)) > MOST
    assert rejections(independence("0.1"), columns(0)) > MOST


def test_other_shares_and_dependence_are_found(rejections: Rejections) -> None:
    assert rejections(fit("1"), letters(np.array([0.2, 0.2, 0.6]))) > 0.9
    assert rejections(independence("1"), columns(0.4)) > 0.9


def test_rows_outside_the_categories_are_left_out() -> None:
    answer = chi_squared_fit(
        ["a", "b", None, "z"] * 50, keys=["a", "b"], shares=[1, 1], epsilon=100, bits=DeterministicBits(1)
    )
    assert answer["statistic"][0] < 1
    none = chi_squared_independence([], [], keys=[0, 1], other_keys=[0, 1], epsilon=1, bits=DeterministicBits(1))
    assert 0 < none["p_value"][0] <= 1


def test_no_rows_and_hardly_any_noise_reject_nothing() -> None:
    assert fit("1000")([], bits=DeterministicBits(1))["p_value"][0] == 1


def test_the_expected_error_is_that_of_one_count() -> None:
    assert fit("1").expected_error(0) == fit("1").mechanism.standard_deviation()


@pytest.mark.parametrize(
    "wrong",
    [
        {"keys": "ab", "shares": [1, 1]},
        {"keys": ["a"], "shares": [1]},
        {"keys": ["a", "a"], "shares": [1, 1]},
        {"keys": ["a", "b"], "shares": [1]},
        {"keys": ["a", "b"], "shares": [1, 0]},
    ],
)
def test_bad_categories_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError, match=r"keys|shares"):
        ChiSquaredFit(epsilon=1, **wrong)  # type: ignore[arg-type]


def test_columns_must_come_in_pairs_of_one_length() -> None:
    with pytest.raises(InvalidParameterError, match="pair"):
        independence("1")([0, 1])
    with pytest.raises(InvalidParameterError, match="one entry for each row"):
        independence("1")(([0, 1], [0]))

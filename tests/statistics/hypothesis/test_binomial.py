from collections.abc import Callable

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics import binomial_test
from deniable.statistics.hypothesis import binomial
from deniable.statistics.hypothesis.binomial import BinomialTest
from tests.statistics.hypothesis.conftest import LEVEL, MOST

Rejections = Callable[[BinomialTest, Callable[[np.random.Generator], object]], float]


def coins(share: float, size: int = 400) -> Callable[[np.random.Generator], object]:
    return lambda rng: rng.random(size) < share


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_a_true_share_is_rejected_as_seldom_as_the_level_says(
    rejections: Rejections, relation: Relation, alternative: str
) -> None:
    test = BinomialTest(share="0.3", alternative=alternative, relation=relation, epsilon="0.2", simulations=199)  # type: ignore[arg-type]
    assert rejections(test, coins(0.3)) <= MOST


def test_a_test_that_forgets_its_noise_rejects_too_often(
    rejections: Rejections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: the null law without noise."""
    monkeypatch.setattr(binomial, "noise", lambda mechanism, shape, bits: np.zeros(shape))
    assert rejections(BinomialTest(share="0.3", epsilon="0.05", simulations=199), coins(0.3)) > MOST


def test_a_wrong_share_is_found(rejections: Rejections) -> None:
    assert rejections(BinomialTest(share="0.3", epsilon=1, simulations=199), coins(0.42)) > 0.9
    assert rejections(BinomialTest(share="0.3", epsilon=1, alternative="less", simulations=199), coins(0.42)) < LEVEL


def test_the_expected_error_is_that_of_the_statistic() -> None:
    test = BinomialTest(share="0.3", epsilon=1, simulations=1)
    found = [test([], bits=DeterministicBits(seed))["statistic"][0] for seed in range(3000)]
    assert np.std(found) == pytest.approx(test.expected_error(0), rel=0.12)  # five standard errors


def test_what_is_no_number_is_left_out() -> None:
    answer = binomial_test([True, None, 1, float("nan"), 0], share="1/2", epsilon=1000, bits=DeterministicBits(1))
    assert answer["statistic"][0] == pytest.approx(0.5)
    assert answer.notes[0].startswith("null hypothesis")


@pytest.mark.parametrize("wrong", [{"share": 0}, {"share": 1}, {"share": "1/2", "alternative": "both"}])
def test_bad_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        BinomialTest(epsilon=1, **wrong)  # type: ignore[arg-type]

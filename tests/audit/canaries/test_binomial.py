"""The binomial test of one run."""

import numpy as np
import pytest
from scipy.stats import binom

from deniable.audit.canaries.binomial import epsilon_by_count, p_value


def test_the_published_example() -> None:
    """All of 100 guesses right: the q with q^100 = 0.05."""
    assert epsilon_by_count(100, 100, 100, level=0.05, delta=0) == pytest.approx(3.492965, abs=1e-6)
    assert epsilon_by_count(50, 100, 100, level=0.05, delta=0) == 0


def test_the_p_value_is_the_sum_that_the_theorem_states() -> None:
    chance = 1 / (1 + np.exp(-1.0))
    tail = sum(binom.pmf(k, 30, chance) for k in range(27, 31))
    near = max(sum(binom.pmf(k, 30, chance) for k in range(27 - i, 27)) / i for i in range(1, 28))
    assert p_value(27, 30, 40, epsilon=1, delta=0) == pytest.approx(tail)
    assert p_value(27, 30, 40, epsilon=1, delta=1e-3) == pytest.approx(tail + 0.08 * near)
    assert p_value(0, 30, 40, epsilon=1, delta=0.1) == 1


@pytest.mark.parametrize(("right", "guesses", "delta"), [(90, 100, 1e-5), (58, 60, 1e-3), (600, 1000, 1e-4)])
def test_the_p_value_grows_with_epsilon(right: int, guesses: int, delta: float) -> None:
    values = [p_value(right, guesses, 2 * guesses, epsilon=e, delta=delta) for e in np.linspace(0, 8, 401)]
    rejected = np.array(values) <= 0.05
    assert not np.any(np.diff(rejected.astype(int)) > 0)
    assert np.all(np.diff(np.array(values)[rejected]) >= 0)

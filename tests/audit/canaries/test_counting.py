"""Counts of right guesses: the binomial test, and bounds by a trade-off curve."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom, norm

from deniable.audit.canaries import counting
from deniable.audit.canaries.counting import by_count, p_value
from deniable.errors import InvalidParameterError
from deniable.privacy import ApproximateLoss, GaussianDPLoss, GaussianLoss, PureLoss


def approximate(epsilon: float, delta: float) -> counting.Inverse:
    """The curve of (epsilon, delta)-DP."""
    odds = math.exp(epsilon)
    return lambda hits: max(0.0, (hits - delta) / odds, 1 - delta - odds * (1 - hits))


def test_inverses_are_those_of_the_curves() -> None:
    hits = np.linspace(0.01, 0.99, 25)
    for family, loss in [
        (counting.gaussian(1e-6).inverse(1.5), GaussianDPLoss("1.5")),
        (approximate(1, 0.05), ApproximateLoss(epsilon=1, delta="0.05")),
    ]:
        certified = loss.tradeoff().false_negative_rates(1 - hits)
        ours = np.array([family(float(one)) for one in hits])
        assert np.all(certified.lower - 1e-9 <= ours)
        assert np.all(ours <= certified.upper + 1e-9)


def test_lines_stay_below_the_claimed_curve_and_near_it() -> None:
    loss = GaussianDPLoss(1)
    inverse = counting.shifted(loss, 1e-5).inverse(0.0)
    for hits in (1e-6, 0.01, 0.3, 0.7, 0.99, 1.0):
        truth = float(norm.cdf(norm.ppf(hits) - 1))
        assert truth - 1e-3 <= inverse(hits) <= truth + 1e-12


def test_a_larger_epsilon_makes_every_curve_lower() -> None:
    for family in (counting.shifted(PureLoss(epsilon=1), 0), counting.gaussian(1e-5)):
        one, other = family.inverse(family.start + 0.8), family.inverse(family.start + 1.3)
        assert all(one(hits) >= other(hits) for hits in np.linspace(0.01, 0.99, 33))
        assert family.epsilon(2.0) > family.epsilon(1.0)
    with pytest.raises(InvalidParameterError, match="must have a finite epsilon"):
        counting.shifted(GaussianLoss(noise_multiplier=1), 0)


@pytest.mark.parametrize("mu", [0.0, 1.0])
def test_independent_guesses_are_rarely_rejected(mu: float) -> None:
    """Coins told by Gaussian noise of this mu: at most 5% alarms; exactly, over all counts of right guesses."""
    count = 60
    chance = norm.cdf(mu / 2)  # of a right guess, where each canary has a release of its own
    inverse = counting.gaussian(1e-6).inverse(mu)
    reject = [counting.rejected(right, count, count, level=0.05, inverse=inverse) for right in range(count + 1)]
    assert reject == sorted(reject)  # more right guesses never speak for the claim
    assert binom.sf(reject.index(True) - 1, count, chance) <= 0.05
    weaker = counting.gaussian(1e-6).inverse(mu / 2 - 1)  # twin: a curve that promises more than there is
    broken = [counting.rejected(right, count, count, level=0.05, inverse=weaker) for right in range(count + 1)]
    assert binom.sf(broken.index(True) - 1, count, chance) > 0.05


def test_the_largest_rejected_parameter_is_found() -> None:
    test = partial(counting.rejected, 100, 100, 100, level=0.05)
    found = counting.last_rejected(lambda epsilon: test(inverse=approximate(epsilon, 0)), width=1e-4)
    assert found is not None
    assert found == pytest.approx(3.45, abs=0.1)  # 3.493 by the exact binomial test
    assert test(inverse=approximate(found, 0))
    assert not test(inverse=approximate(found + 2e-3, 0))
    assert counting.last_rejected(lambda _: False) is None
    shifted = counting.shifted(PureLoss(epsilon=2), 0)
    assert shifted.epsilon(shifted.start) == 0
    assert math.isclose(shifted.epsilon(0.0), 2)
    assert Fraction(0) == shifted.epsilon(-9.0)


def test_a_mechanism_that_publishes_everything_now_and_then_is_not_rejected() -> None:
    """With probability delta all coins are published, else nothing: (0, delta)-DP, and all guesses right that often."""
    inverse = approximate(0, 0.1)
    for guesses in (5, 20, 200):
        assert not counting.rejected(guesses, guesses, guesses, level=0.05, inverse=inverse)
        assert p_value(guesses, guesses, guesses, epsilon=0, delta=0.1) > 0.1
        blind = approximate(0, 0)
        assert counting.rejected(guesses, guesses, guesses, level=0.05, inverse=blind)


def test_the_published_example() -> None:
    """All of 100 guesses right: the q with q^100 = 0.05."""
    assert by_count(100, 100, 100, level=0.05, delta=0) == pytest.approx(3.492965, abs=1e-6)
    assert by_count(50, 100, 100, level=0.05, delta=0) == 0


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

"""The bound on right guesses by a trade-off curve."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom, norm

from deniable.audit.canaries import tradeoff
from deniable.audit.canaries.binomial import p_value
from deniable.errors import InvalidParameterError
from deniable.privacy import ApproximateLoss, GaussianDPLoss, GaussianLoss, PureLoss


def test_inverses_are_those_of_the_curves() -> None:
    hits = np.linspace(0.01, 0.99, 25)
    for family, loss in [
        (tradeoff.gaussian(1e-6).inverse(1.5), GaussianDPLoss("1.5")),
        (tradeoff.approximate(0.05).inverse(1.0), ApproximateLoss(epsilon=1, delta="0.05")),
    ]:
        certified = loss.tradeoff().false_negative_rates(1 - hits)
        ours = np.array([family(float(one)) for one in hits])
        assert np.all(certified.lower - 1e-9 <= ours)
        assert np.all(ours <= certified.upper + 1e-9)


def test_lines_stay_below_the_claimed_curve_and_near_it() -> None:
    loss = GaussianDPLoss(1)
    inverse = tradeoff.shifted(loss, 1e-5).inverse(0.0)
    for hits in (1e-6, 0.01, 0.3, 0.7, 0.99, 1.0):
        truth = float(norm.cdf(norm.ppf(hits) - 1))
        assert truth - 1e-3 <= inverse(hits) <= truth + 1e-12


def test_a_larger_epsilon_makes_every_curve_lower() -> None:
    for family in (tradeoff.shifted(PureLoss(epsilon=1), 0), tradeoff.approximate(0), tradeoff.gaussian(1e-5)):
        one, other = family.inverse(family.start + 0.8), family.inverse(family.start + 1.3)
        assert all(one(hits) >= other(hits) for hits in np.linspace(0.01, 0.99, 33))
        assert family.epsilon(2.0) > family.epsilon(1.0)
    with pytest.raises(InvalidParameterError, match="no finite epsilon"):
        tradeoff.shifted(GaussianLoss(noise_multiplier=1), 0)


@pytest.mark.parametrize("mu", [0.0, 1.0])
def test_independent_guesses_are_rarely_rejected(mu: float) -> None:
    """Coins told by Gaussian noise of this mu: at most 5% alarms; exactly, over all counts of right guesses."""
    count = 60
    chance = norm.cdf(mu / 2)  # of a right guess, where each canary has a release of its own
    inverse = tradeoff.gaussian(1e-6).inverse(mu)
    reject = [tradeoff.rejected(right, count, count, level=0.05, inverse=inverse) for right in range(count + 1)]
    assert reject == sorted(reject)  # more right guesses never speak for the claim
    assert binom.sf(reject.index(True) - 1, count, chance) <= 0.05
    weaker = tradeoff.gaussian(1e-6).inverse(mu / 2 - 1)  # twin: a curve that promises more than there is
    broken = [tradeoff.rejected(right, count, count, level=0.05, inverse=weaker) for right in range(count + 1)]
    assert binom.sf(broken.index(True) - 1, count, chance) > 0.05


def test_the_largest_rejected_parameter_is_found() -> None:
    family = tradeoff.approximate(0.0)
    test = partial(tradeoff.rejected, 100, 100, 100, level=0.05)
    found = tradeoff.largest_rejected(family, lambda inverse: test(inverse=inverse))
    assert found is not None
    assert found == pytest.approx(3.45, abs=0.1)  # 3.493 by the exact binomial test
    assert test(inverse=family.inverse(found))
    assert not test(inverse=family.inverse(found + 2e-3))
    assert tradeoff.largest_rejected(family, lambda inverse: False) is None
    shifted = tradeoff.shifted(PureLoss(epsilon=2), 0)
    assert shifted.epsilon(shifted.start) == 0
    assert math.isclose(shifted.epsilon(0.0), 2)
    assert Fraction(0) == shifted.epsilon(-9.0)


def test_a_mechanism_that_publishes_everything_now_and_then_is_not_rejected() -> None:
    """With probability delta all coins are published, else nothing: (0, delta)-DP, and all guesses right that often."""
    inverse = tradeoff.approximate(0.1).inverse(0.0)
    for guesses in (5, 20, 200):
        assert not tradeoff.rejected(guesses, guesses, guesses, level=0.05, inverse=inverse)
        assert p_value(guesses, guesses, guesses, epsilon=0, delta=0.1) > 0.1
        blind = tradeoff.approximate(0.0).inverse(0.0)
        assert tradeoff.rejected(guesses, guesses, guesses, level=0.05, inverse=blind)

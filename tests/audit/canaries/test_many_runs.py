"""Many runs: error rates of one attack, and what they show."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from deniable.audit import audit_counts
from deniable.audit.canaries.many_runs import by_rates
from deniable.errors import InvalidParameterError
from deniable.privacy import GaussianDPLoss


def test_both_directions_count() -> None:
    assert by_rates(0.1, 0.2, delta=0.01) == pytest.approx(math.log(0.79 / 0.1))
    assert by_rates(0.2, 0.1, delta=0.01) == pytest.approx(math.log(0.79 / 0.1))
    assert by_rates(0.5, 0.5, delta=0) == by_rates(1.0, 1.0, delta=0.5) == 0


def test_a_gaussian_bound_comes_near_the_truth_from_below() -> None:
    """mu = 1 has epsilon 4.886554 at delta = 1e-6."""
    assert GaussianDPLoss(1).epsilon("1e-6").lower == pytest.approx(4.886554, abs=1e-6)
    runs = 10**7
    hits, alarms = round(norm.sf(-0.5) * runs), round(norm.sf(0.5) * runs)
    found = audit_counts(
        hits, alarms, runs_with=runs, runs_without=runs, claim=GaussianDPLoss(1), delta=1e-6, gaussian=True
    )
    assert 4.86 < found.epsilon < 4.886554
    assert not found.violated
    assert "not Gaussian" in found.limits[0]


def test_runs_that_say_nothing_give_no_mu() -> None:
    """One direction, cut at 0: the absolute value of mu would report epsilons above 3 here."""
    found = audit_counts(5, 20, runs_with=1000, runs_without=1000, delta=1e-5, gaussian=True)
    assert found.epsilon == 0
    dice = np.random.default_rng(2)
    alarms = 0
    for _ in range(500):  # at nominal 5%: more than 40 alarms have chance 1e-3 at most
        hits, errors = dice.binomial(200, 0.3, size=2)
        alarms += audit_counts(int(hits), int(errors), runs_with=200, runs_without=200, epsilon=0).violated
    assert alarms <= 40


def test_what_is_shown_and_what_cannot_be() -> None:
    broken = audit_counts(1000, 0, runs_with=1000, runs_without=1000, epsilon=2)
    assert broken.violated
    assert f"above {broken.epsilon:.3g}" in broken.limits[0]
    assert broken.runs == 2000
    for said, given in [
        ("true_positives", (1001, 0)), ("false_positives", (0, -1)), ("confidence", (1, 1, {"confidence": 0})),
        ("delta must be > 0", (1, 1, {"gaussian": True})),
    ]:  # fmt: skip
        more = given[2] if len(given) == 3 else {}
        with pytest.raises(InvalidParameterError, match=said):
            audit_counts(given[0], given[1], runs_with=1000, runs_without=1000, **more)
    with pytest.raises(InvalidParameterError, match="number of runs must be >= 1"):
        audit_counts(0, 0, runs_with=0, runs_without=5)
    for gaussian in (False, True):
        few = audit_counts(5, 0, runs_with=5, runs_without=5, epsilon=3, delta=1e-5, gaussian=gaussian)
        assert "10 runs cannot certify so much" in few.sentence


def test_each_rate_is_over_the_runs_of_its_own_world() -> None:
    found = audit_counts(8, 30, runs_with=10, runs_without=1000, confidence=0.95).measured
    assert found is not None
    for rate, (errors, runs) in ((found.false_negative, (2, 10)), (found.false_positive, (30, 1000))):
        assert rate[0] == pytest.approx(binomtest(errors, runs).proportion_ci(0.95, method="exact").high)

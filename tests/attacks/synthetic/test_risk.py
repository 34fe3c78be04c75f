"""Wilson's score against its inversion, and the residual risk against all corners."""

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binomtest

from deniable.attacks.synthetic import Rate, residual_risk, wilson_rate
from deniable.attacks.synthetic.risk import judge
from deniable.errors import InvalidParameterError


@pytest.mark.parametrize(("right", "attempts"), [(0, 5), (5, 5), (37, 500), (1, 1)])
def test_wilson_inverts_the_score_test(right: int, attempts: int) -> None:
    rate = wilson_rate(right, attempts)
    other = binomtest(right, attempts).proportion_ci(0.95, method="wilson")
    assert (rate.lower, rate.upper) == pytest.approx((other.low, other.high))
    if 0 < right < attempts:
        share = right / attempts
        end = brentq(lambda p: (share - p) / (p * (1 - p) / attempts) ** 0.5 + 1.959963984540054, share, 0.9999)
        assert rate.upper == pytest.approx(end)


@pytest.mark.parametrize(("right", "attempts"), [(6, 5), (-1, 5), (0, 0)])
def test_more_successes_than_attempts_are_refused(right: int, attempts: int) -> None:
    with pytest.raises(InvalidParameterError, match="must be"):
        wilson_rate(right, attempts)


def test_the_residual_interval_holds_all_pairs_within_the_two() -> None:
    attack, control = wilson_rate(60, 100), wilson_rate(30, 80)
    risk = residual_risk(attack, control)
    corners = [max(0, (a - c) / (1 - c)) for a, c in itertools.product(attack, control)]
    assert (min(corners), max(corners)) == pytest.approx((risk.lower, risk.upper))
    assert risk.value == pytest.approx((attack.value - control.value) / (1 - control.value))


def test_a_control_that_always_succeeds_leaves_no_risk() -> None:
    risk = residual_risk(wilson_rate(50, 50), wilson_rate(50, 50))
    assert (risk.value, risk.lower) == (0, 0)
    assert residual_risk(Rate(1, 1, 1), Rate(1, 1, 1)) == (0, 0, 0)


def test_success_needs_more_than_the_controls_upper_end() -> None:
    """Twin: 40 of 100 lie above the control's 28, and not above its interval."""
    place = np.arange(100)
    close, far = (judge("a", "b", right=place < many, control=place < 28, chance=0.1) for many in (40, 60))
    assert (close.succeeded, far.succeeded) == (False, True)
    assert close.baseline == pytest.approx(wilson_rate(28, 100).upper)


def test_an_attack_below_blind_guesses_says_so() -> None:
    weak = judge("a", "b", right=np.arange(100) < 10, control=np.arange(100) < 9, chance=0.3)
    assert weak.facts is not None
    assert "caution" in weak.facts
    assert weak.baseline == 0.3

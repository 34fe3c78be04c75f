"""Bounds on expected utility: attained by randomized response, and never below what enumeration finds."""

import math
from fractions import Fraction
from itertools import product

import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.games import expected_utility, gain_bound
from deniable.numbers.interval import Interval
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    ExponentialMechanismLoss,
    FiniteLoss,
    GaussianLoss,
    LaplaceLoss,
    PureLoss,
    Replace,
)

# Two reports, three outcomes; the worst losses are ln 3 and ln 2.
P, Q = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], [Fraction(1, 6), Fraction(1, 2), Fraction(1, 3)]
WORTH = [Fraction(0), Fraction(1, 2), Fraction(1)]


def test_every_utility_of_three_outcomes_respects_the_bound_and_some_attain_it() -> None:
    loss, tightest = FiniteLoss(P, Q, relation=Replace), 1.0
    for utility in product(WORTH, repeat=3):
        before, after = (sum(u * mass for u, mass in zip(utility, law, strict=True)) for law in (Q, P))
        bound = expected_utility(loss, usual=before, bounds=(0, 1))
        assert bound.lower - 1e-9 <= after <= bound.upper + 1e-9
        tightest = min(tightest, bound.upper - float(after))
    assert tightest < 1e-6


def test_the_gain_is_the_total_variation() -> None:
    best = max(sum(u * (p - q) for u, p, q in zip(utility, P, Q, strict=True)) for utility in product(WORTH, repeat=3))
    assert gain_bound(FiniteLoss(P, Q, relation=Replace), width=1) == pytest.approx(float(best), abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 0.2, 1, 3])
def test_the_closed_forms(epsilon: float) -> None:
    assert gain_bound(PureLoss(epsilon), width=10) == pytest.approx(10 * math.tanh(epsilon / 2))
    assert gain_bound(ExponentialMechanismLoss(epsilon), width=1) == pytest.approx(math.tanh(epsilon / 4))
    assert gain_bound(PureLoss(epsilon), width=1) < math.expm1(epsilon)  # the textbook's


@pytest.mark.parametrize("usual", [0, "0.01", "0.3", "0.9", 1])
@pytest.mark.parametrize("delta", ["0", "0.01"])
def test_approximate_privacy_has_the_bounds_of_the_textbook_or_better(usual: str, delta: str) -> None:
    a, d = float(usual), float(delta)
    found = expected_utility(ApproximateLoss(1, delta), usual=usual, bounds=(0, 1))
    most = min(math.e * a + d, 1 - (1 - a - d) / math.e, 1.0)
    least = max((a - d) / math.e, 1 - math.e * (1 - a) - d, 0.0)
    assert (found.lower, found.upper) == pytest.approx((least, most), abs=1e-5)


def test_bounds_scale_with_money() -> None:
    small = expected_utility(PureLoss(1), usual="0.25", bounds=(0, 1))
    large = expected_utility(PureLoss(1), usual=50, bounds=(0, 200))
    assert (large.lower, large.upper) == pytest.approx((200 * small.lower, 200 * small.upper))


def test_a_coalition_needs_more_than_one_persons_bound() -> None:
    one, three = (gain_bound(PureLoss("0.5"), width=1, liars=k) for k in (1, 3))
    assert one < three <= math.tanh(0.75) + 1e-9  # three steps of 0.5
    wide, narrow = (expected_utility(PureLoss("0.5"), usual="0.5", bounds=(0, 1), people=k) for k in (3, 1))
    assert wide.lower < narrow.lower < narrow.upper < wide.upper


def test_a_loss_under_add_remove_counts_twice_for_another_report() -> None:
    loss = GaussianLoss(noise_multiplier=1)
    assert loss.relations == {AddRemove, Replace}
    mean = LaplaceLoss(1)
    stated = FiniteLoss(P, Q, relation=AddRemove)
    once, twice = (gain_bound(stated, width=1, relation=relation) for relation in (AddRemove, Replace))
    assert once < twice
    assert gain_bound(mean, width=1) > 0
    with pytest.raises(UnprovedError, match="add/remove"):
        gain_bound(FiniteLoss(P, Q, relation=Replace), width=1, relation=AddRemove)


def test_without_an_upper_bound_only_pure_privacy_promises_anything() -> None:
    found = expected_utility(PureLoss("0.1"), usual=1010, bounds=(10, None))
    assert (found.lower, found.upper) == pytest.approx((10 + 1000 * math.exp(-0.1), 10 + 1000 * math.exp(0.1)))
    with pytest.raises(UnprovedError, match="Give both bounds"):
        expected_utility(GaussianLoss(noise_multiplier=1), usual=1)


@pytest.mark.parametrize(
    "given",
    [
        {"usual": -1},
        {"usual": 3, "bounds": (0, 2)},
        {"usual": 1, "bounds": (1, 1)},
        {"usual": 1, "bounds": 2},
        {"usual": 1, "people": 0},
    ],
    ids=str,
)
def test_utilities_out_of_bounds_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        expected_utility(PureLoss(1), **given)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="loss"):
        gain_bound(0.5, width=1)  # type: ignore[arg-type]


def test_an_epsilon_beyond_all_floats_promises_nothing_and_fails_nowhere() -> None:
    assert expected_utility(PureLoss(1000), usual=1) == Interval(0.0, math.inf)
    assert expected_utility(PureLoss(1000), usual=-2, bounds=(-2, None)) == Interval(-2.0, -2.0)

"""The classic theorems against their published values and the exact composition."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import ApproximateLoss, PureLoss, compose
from deniable.privacy.composition.classic import (
    advanced_epsilon,
    advanced_epsilon_short,
    basic_epsilon,
    tanh_epsilon,
    total_delta,
)


def test_golden_value() -> None:
    """golden.md G29."""
    assert tanh_epsilon(["0.1"] * 100, slack="1e-6") == pytest.approx(5.7561055193357317006, rel=1e-12)


def test_the_four_forms_in_order() -> None:
    """errata.md E31: basic 20, DRV10 14.9411, tanh 12.5064, exact 10.6766; and where DRV10 is worse than basic."""
    assert basic_epsilon(["0.2"] * 100) == 20
    assert advanced_epsilon("0.2", count=100, slack="1e-6") == pytest.approx(14.9411, abs=1e-4)
    assert tanh_epsilon(["0.2"] * 100, slack="1e-6") == pytest.approx(12.5064, abs=1e-4)
    assert (PureLoss("0.2") * 100).epsilon("1e-6").upper == pytest.approx(10.6766, abs=1e-4)
    assert advanced_epsilon(1, count=1000, slack="1e-6") == pytest.approx(1884.5, abs=0.1)
    assert tanh_epsilon([1] * 1000, slack="1e-6") == pytest.approx(628.3, abs=0.1)
    assert (PureLoss(1) * 1000).epsilon("1e-6").upper == pytest.approx(591.1, abs=0.1)


def test_the_first_term_alone_is_no_bound() -> None:
    """errata.md E29: k = 10,000, epsilon 0.1: 52.57 is claimed, 96.57 exact, and delta(52.57) = 0.36."""
    run = PureLoss("0.1") * 10_000
    with mpmath.workdps(20):
        claimed = float(mpmath.sqrt(2 * 10_000 * mpmath.log(10**6)) / 10)
    assert claimed == pytest.approx(52.57, abs=0.01)
    assert run.epsilon("1e-6").lower == pytest.approx(96.57, abs=0.01)
    assert run.delta(claimed).lower == pytest.approx(0.36, abs=0.005)


def test_the_short_form_is_guarded() -> None:
    """errata.md E30: for k = 1000, epsilon 1 it would claim 332.45, where the truth is 591.08."""
    with pytest.raises(UnprovedError, match="tanh_epsilon"):
        advanced_epsilon_short(1, count=1000, slack="1e-6")
    assert (PureLoss(1) * 1000).delta("332.45").lower == pytest.approx(0.999996, abs=1e-6)
    short = advanced_epsilon_short("0.01", count=100, slack="1e-6")
    assert short == pytest.approx(0.01 * mpmath.sqrt(800 * mpmath.log(10**6)), rel=1e-12)
    assert (PureLoss("0.01") * 100).epsilon("1e-6").upper <= short


@given(
    st.lists(st.fractions(Fraction(1, 20), 2, max_denominator=20), min_size=1, max_size=6),
    st.sampled_from(["1e-2", "1e-6"]),
)
@settings(max_examples=25)
def test_none_is_below_the_exact_curve(limits: list[Fraction], slack: str) -> None:
    least = compose([PureLoss(limit) for limit in limits]).epsilon(slack, tolerance=0.05).lower
    assert least <= basic_epsilon(limits)
    assert least <= tanh_epsilon(limits, slack=slack)
    assert least <= min(basic_epsilon(limits), tanh_epsilon(limits, slack=slack))
    assert least <= advanced_epsilon(max(limits), count=len(limits), slack=slack)


def test_failures_add_to_the_slack() -> None:
    """errata.md E31 with delta: the exact composition of approximate losses is within the tanh form and its total."""
    run = ApproximateLoss("0.1", "1e-4") * 50
    claimed, total = tanh_epsilon(["0.1"] * 50, slack="1e-5"), total_delta(["1e-4"] * 50, slack="1e-5")
    assert run.delta(claimed).upper <= total
    assert total <= 50e-4 + 1e-5
    assert total == pytest.approx(1 - (1 - 1e-5) * (1 - 1e-4) ** 50, rel=1e-12)


@pytest.mark.parametrize("slack", [0, 1, -1, "x"])
def test_bad_slack_is_refused(slack: object) -> None:
    with pytest.raises(InvalidParameterError):
        tanh_epsilon([1], slack=slack)


def test_bad_counts_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="count"):
        advanced_epsilon(1, count=0, slack="1e-6")

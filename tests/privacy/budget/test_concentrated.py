"""Sums of rho and of failures."""

from fractions import Fraction

from deniable.privacy import ApproximateLoss, Budget
from tests.privacy.budget.conversation import failing, response, worst_delta


def test_failures_that_are_not_counted_are_caught() -> None:
    """The twin: the same game against a rule that lets four times the failures pass."""
    promised = Budget(rho="3/10", failure="1/20").rule().delta(2).upper
    assert (
        worst_delta(
            [response("1/2"), failing("1/4", "1/50"), failing("0", "1/25")], Budget(rho="3/10", failure="1/5"), 2.0, 4
        )
        > promised
    )


def test_a_pair_counts_as_half_its_square_and_its_delta() -> None:
    rule, half = Budget(rho=1, failure="1e-6").rule(), ApproximateLoss("1/2", "1e-7").charge()
    left = rule.left(half)
    assert (left.rho, left.failure) == (Fraction(7, 8), Fraction(9, 10**7))
    assert rule.admits(half * 8)
    assert not rule.admits(half * 9)
    assert not rule.admits(ApproximateLoss("1/100", "2e-6").charge())

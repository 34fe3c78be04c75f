import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from deniable.privacy import ApproximateLoss


@given(
    st.fractions(0, 10, max_denominator=100),
    st.fractions(0, Fraction(9, 10), max_denominator=100),
    st.fractions(0, 10, max_denominator=100),
)
def test_the_curve_is_that_of_the_worst_mechanism(limit: Fraction, failed: Fraction, epsilon: Fraction) -> None:
    """Enumeration of its four outcomes: two answers, and a revelation of either table."""
    keep, likely, unlikely = 1 - float(failed), 1 / (1 + math.exp(-limit)), 1 / (1 + math.exp(limit))
    pairs = [
        (keep * likely, keep * unlikely),
        (keep * unlikely, keep * likely),
        (float(failed), 0.0),
        (0.0, float(failed)),
    ]
    delta = sum(max(p - math.exp(epsilon) * q, 0.0) for p, q in pairs)
    found = ApproximateLoss(limit, failed).delta(epsilon)
    assert found.lower - 1e-12 <= delta <= found.upper + 1e-12


def test_its_own_point_lies_on_the_curve() -> None:
    loss = ApproximateLoss(1, "1e-6")
    assert loss.epsilon("1e-6").upper == 1
    assert loss.delta(5).contains(Fraction(1, 10**6))
    assert loss.epsilon("1e-7").lower == math.inf


def test_the_charge_is_the_pair_and_nothing_more() -> None:
    charge = ApproximateLoss("0.5", "1e-6").charge()
    assert (charge.epsilon, charge.delta) == (Fraction(1, 2), Fraction(1, 10**6))
    assert charge.rho is charge.mu_squared is None
    assert repr(ApproximateLoss("0.5", "1e-6")) == "ApproximateLoss(epsilon=0.5, delta=1e-06)"

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.privacy import PureLoss


@given(st.fractions(0, 20, max_denominator=100), st.fractions(0, 20, max_denominator=100))
def test_the_curve_is_that_of_randomised_response(limit: Fraction, epsilon: Fraction) -> None:
    """Enumeration of the two answers."""
    likely, unlikely = 1 / (1 + math.exp(-limit)), 1 / (1 + math.exp(limit))
    pairs = [(likely, unlikely), (unlikely, likely)]
    delta = sum(max(p - math.exp(epsilon) * q, 0.0) for p, q in pairs)
    found = PureLoss(limit).delta(epsilon)
    assert found.lower - 1e-12 <= delta <= found.upper + 1e-12
    assert found.width <= 3e-15 * found.upper


def test_golden_values_of_randomised_response() -> None:
    """golden.md G1 and G3: epsilon of a biased answer, read back from the curve."""
    for truth, epsilon in ((0.6, 0.40546510810816438198), (0.75, 1.0986122886681096914)):
        delta = Fraction(truth) - Fraction(1) + Fraction(truth)  # total variation: delta at epsilon = 0
        assert float(delta) == pytest.approx(PureLoss(epsilon).delta(0).upper, rel=1e-9)


def test_delta_is_zero_from_the_limit_on() -> None:
    assert PureLoss(1).delta(1).upper == 0
    assert PureLoss(1).epsilon(0).upper == 1
    assert PureLoss(0).delta(0).upper == 0


def test_the_charge_is_exact() -> None:
    charge = PureLoss(0.1).charge()
    assert (charge.epsilon, charge.delta, charge.rho) == (Fraction(1, 10), 0, Fraction(1, 200))
    assert repr(PureLoss(0.1)) == "PureLoss(epsilon=0.1)"

from fractions import Fraction

import pytest

from deniable.privacy import GaussianLoss


def test_golden_values() -> None:
    """golden.md G15 (mu = 1) and G7."""
    assert GaussianLoss(1).delta(1).upper == pytest.approx(0.1269367375066439458, rel=1e-9)
    assert GaussianLoss("3.7306316348159418322").epsilon("1e-5").upper == pytest.approx(1, rel=1e-9)


def test_the_interval_is_sharp_on_both_sides() -> None:
    found = GaussianLoss(2).epsilon(1e-6)
    assert 0 < found.width < 1e-11


def test_the_charge_has_rho_and_mu_and_no_epsilon() -> None:
    charge = GaussianLoss(2).charge()
    assert charge.epsilon is None
    assert (charge.delta, charge.rho, charge.mu_squared) == (0, Fraction(1, 8), Fraction(1, 4))
    assert repr(GaussianLoss(2)) == "GaussianLoss(noise_multiplier=2)"

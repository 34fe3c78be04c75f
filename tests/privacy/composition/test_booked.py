from fractions import Fraction

import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, DiscreteGaussianLoss, PrivacyLoss, PureLoss, of_count
from deniable.privacy.calibration.calibrate import gaussian_sigma_squared
from deniable.privacy.composition.booked import BookedStatement

ONE = of_count(rows=1, groups=1, relation=AddRemove)
GAUSS = DiscreteGaussianLoss(gaussian_sigma_squared(ONE, epsilon="0.1", delta="1e-6"), ONE)


def test_the_charge_is_what_was_asked() -> None:
    charge = GAUSS.stated(epsilon=0.1, delta=1e-6).charge()
    assert (charge.epsilon, charge.delta, charge.rho) == (Fraction(1, 10), Fraction(1, 10**6), GAUSS.rho)


def test_everything_else_is_that_of_the_loss() -> None:
    stated = GAUSS.stated(epsilon=0.1, delta=1e-6)
    assert stated.delta(0.05) == GAUSS.delta(0.05)
    assert stated.relations == GAUSS.relations
    assert (stated.pure_epsilon, stated.rho, stated.mu_squared) == (None, GAUSS.rho, GAUSS.mu_squared)
    assert (stated.failure, stated.infinite_mass) == (0, 0)
    assert PrivacyLoss.from_json(stated.to_json()) == stated


@pytest.mark.parametrize(("epsilon", "delta"), [("0.0999", "1e-6"), ("0.1", "0.99e-6"), ("0.1", "0")])
def test_a_pair_that_is_not_proved_is_refused(epsilon: str, delta: str) -> None:
    with pytest.raises(InvalidParameterError, match="above the stated delta"):
        GAUSS.stated(epsilon=epsilon, delta=delta)


def test_a_weaker_pair_may_be_stated() -> None:
    assert PureLoss(1).stated(epsilon=2, delta="0.1").charge().epsilon == 2


def test_only_losses_can_be_stated() -> None:
    with pytest.raises(InvalidParameterError, match="must be a PrivacyLoss"):
        BookedStatement(1, 1, 0)  # type: ignore[arg-type]

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Gaussian
from deniable.privacy import AddRemove, of_clipped_sum, of_count


def test_calibration_and_loss_are_inverse() -> None:
    reach = of_clipped_sum(lower=-5, upper=500, rows=3, groups=2, relation=AddRemove)
    mechanism = Gaussian.calibrated(reach, rho="0.1")
    assert mechanism.privacy_loss(reach).rho == Fraction(1, 10)
    pair = Gaussian.calibrated(reach, epsilon=1, delta="1e-6")
    assert Fraction(pair.privacy_loss(reach).delta(1).upper) <= Fraction(1, 10**6)


def test_the_loss_of_a_grouped_count() -> None:
    loss = Gaussian(sigma_squared=4).privacy_loss(of_count(rows=2, groups=3, relation=AddRemove))
    assert loss.charge().rho == Fraction(12, 8)


def test_the_error_bar_is_that_of_the_law() -> None:
    mechanism = Gaussian(sigma_squared=10_000)
    assert abs(mechanism.half_width(0.95) - 196) <= 1
    assert mechanism.standard_deviation() == pytest.approx(100)
    assert mechanism.quantile(np.array([0.025, 0.5])).tolist() == pytest.approx([-196, 0], abs=1)


@pytest.mark.parametrize("value", [0, -1, "much", True, float("nan"), Fraction(2**115), Fraction(1, 2**60), "1e400"])
def test_bad_variances_are_refused_before_anything_is_spent(value: object) -> None:
    with pytest.raises(InvalidParameterError, match="sigma_squared must be"):
        Gaussian(sigma_squared=value)

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace
from deniable.privacy import AddRemove, Replace, of_clipped_sum, of_count


def test_calibration_and_loss_are_inverse() -> None:
    reach = of_clipped_sum(lower=0, upper=500, rows=3, groups=2, relation=Replace)
    mechanism = Laplace.calibrated(reach, epsilon="0.1")
    assert mechanism.scale == 60000
    assert mechanism.privacy_loss(reach).pure_epsilon == Fraction(1, 10)


def test_the_loss_of_a_grouped_count() -> None:
    loss = Laplace(scale=4).privacy_loss(of_count(rows=2, groups=3, relation=AddRemove))
    assert loss.charge().epsilon == Fraction(6, 4)


def test_the_error_bar_is_that_of_the_law() -> None:
    """Golden: P[|X| > t] = 2 q^(t+1)/(1+q); query.md section 4.4."""
    mechanism = Laplace(scale=10)
    t = mechanism.half_width(0.95)
    q = np.exp(-0.1)
    assert 2 * q ** (t + 1) / (1 + q) <= 0.05 < 2 * q**t / (1 + q)
    assert mechanism.standard_deviation() == pytest.approx(np.sqrt(2 * q) / (1 - q))
    assert mechanism.quantile(np.array([0.5])).tolist() == [0.0]


@pytest.mark.parametrize("scale", [0, -1, "much", True, float("nan"), Fraction(2**58), Fraction(1, 2**60), "1e400"])
def test_bad_scales_are_refused_before_anything_is_spent(scale: object) -> None:
    with pytest.raises(InvalidParameterError, match="scale must be"):
        Laplace(scale=scale)

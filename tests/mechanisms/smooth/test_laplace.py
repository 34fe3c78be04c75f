import math
from itertools import product

import numpy as np
import pytest
from scipy import integrate

from deniable.errors import InvalidParameterError
from deniable.mechanisms.smooth import SmoothLaplace
from deniable.privacy import ApproximateLoss, Replace, of_count


def hockey_stick(epsilon: float, shift: float, dilation: float) -> float:
    """delta at epsilon of Laplace noise against itself moved and stretched, by quadrature, both ways."""
    z = np.linspace(-60, 60, 240_001)
    p = np.exp(-np.abs(z)) / 2
    q = np.exp(-np.abs(z - shift) * math.exp(-dilation) - dilation) / 2
    return max(integrate.trapezoid(np.maximum(a - math.exp(epsilon) * b, 0), x=z) for a, b in ((p, q), (q, p)))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (2, 1e-2), (4, 1e-4)])
def test_no_shift_and_dilation_within_the_bounds_exceeds_delta(epsilon: float, delta: float) -> None:
    mechanism = SmoothLaplace.calibrated(epsilon=epsilon, delta=delta, bounds=(0, 1))
    beta, shift = float(mechanism.beta), float(mechanism.shift)
    assert beta == pytest.approx(epsilon / (2 * math.log(2 / delta)), rel=1e-5)
    for share, dilation in product((0, 0.5, 1), (-beta, -beta / 2, 0, beta / 2, beta)):
        assert hockey_stick(epsilon, share * shift * min(1, math.exp(dilation)), dilation) <= delta * (1 + 1e-6)
    assert hockey_stick(epsilon, shift * math.exp(-beta), -beta) == pytest.approx(delta, rel=1e-6)  # attained
    assert hockey_stick(epsilon, 1.02 * shift * math.exp(-beta), -beta) > 1.02 * delta
    loss = mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace))
    assert loss == ApproximateLoss(epsilon, delta).under(Replace)


def test_delta_zero_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="delta must be > 0"):
        SmoothLaplace(epsilon=1, delta=0, beta="0.1", bounds=(0, 1))


@pytest.mark.parametrize("delta", [0, 1, 2, 3])
def test_a_delta_that_is_no_probability_is_refused(delta: int) -> None:
    """Also 2, where ln(2 / delta) is 0."""
    with pytest.raises(InvalidParameterError, match="delta must be"):
        SmoothLaplace.calibrated(epsilon=1, delta=delta, bounds=(0, 1))


def test_a_third_less_noise_than_the_classical_one() -> None:
    """Classical: scale 2 S / epsilon at beta = epsilon / (2 ln(2 / delta)); here 1.44 S / epsilon."""
    mechanism = SmoothLaplace.calibrated(epsilon=1, delta=1e-6, bounds=(0, 1))
    assert float(1 / mechanism.shift) == pytest.approx(1.4429, abs=1e-3)


def test_beta_that_fails_too_often_alone_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="shift of 0"):
        SmoothLaplace(epsilon=1, delta="1e-6", beta="0.2", bounds=(0, 1))

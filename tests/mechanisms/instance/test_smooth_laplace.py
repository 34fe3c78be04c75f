import math

import numpy as np
import pytest
from scipy import integrate

from deniable.errors import InvalidParameterError
from deniable.mechanisms import SmoothLaplace
from deniable.privacy import ApproximateLoss, Replace, Restricted, of_count


def hockey_stick(epsilon: float, shift: float, dilation: float) -> float:
    """delta at epsilon of Laplace noise against itself moved and stretched, by quadrature, both ways."""
    z = np.linspace(-60, 60, 240_001)
    p = np.exp(-np.abs(z)) / 2
    q = np.exp(-np.abs(z - shift) * math.exp(-dilation) - dilation) / 2
    return max(integrate.trapezoid(np.maximum(a - math.exp(epsilon) * b, 0), x=z) for a, b in ((p, q), (q, p)))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (2, 1e-2), (6, 1e-4)])
def test_no_shift_and_dilation_within_the_bounds_exceeds_delta(epsilon: float, delta: float) -> None:
    mechanism = SmoothLaplace.calibrated(epsilon=epsilon, delta=delta, lower=0, upper=1)
    beta, shift = float(mechanism.beta), float(mechanism.shift)
    assert beta == pytest.approx(epsilon / (2 * math.log(2 / delta)), rel=1e-5)
    for d in (0, shift / 2, shift):
        for dilation in (-beta, 0, beta):
            assert hockey_stick(epsilon, d, dilation) <= delta
    assert max(hockey_stick(epsilon, 2.5 * shift, q) for q in (-beta, beta)) > delta
    loss = mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace))
    assert loss == Restricted(ApproximateLoss(epsilon, delta), Replace)


def test_delta_zero_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="delta must be > 0"):
        SmoothLaplace(epsilon=1, delta=0, beta="0.1", lower=0, upper=1)


@pytest.mark.parametrize("delta", [0, 1, 2, 3])
def test_a_delta_that_is_no_probability_is_refused(delta: int) -> None:
    """Also 2, where ln(2 / delta) is 0."""
    with pytest.raises(InvalidParameterError, match="delta must be"):
        SmoothLaplace.calibrated(epsilon=1, delta=delta, lower=0, upper=1)

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from deniable.errors import InvalidParameterError
from deniable.mechanisms import SmoothGaussian
from deniable.privacy import ApproximateLoss, Replace, of_count
from deniable.privacy.around.restricted import Restricted


def hockey_stick(epsilon: float, shift: float, dilation: float) -> float:
    """delta at epsilon of a normal law against itself moved and stretched, by quadrature, both ways."""
    z = np.linspace(-30, 30, 60_001)
    p, q = stats.norm.pdf(z), stats.norm.pdf(z, loc=shift, scale=math.exp(dilation))
    return max(integrate.trapezoid(np.maximum(a - math.exp(epsilon) * b, 0), x=z) for a, b in ((p, q), (q, p)))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (1, 1e-6), (3, 1e-2), (8, 1e-4)])
@pytest.mark.parametrize("share", [0.2, 1, 1.5])
def test_no_shift_and_dilation_within_the_bounds_exceeds_delta(epsilon: float, delta: float, share: float) -> None:
    usual = SmoothGaussian.calibrated(epsilon=epsilon, delta=delta, lower=0, upper=1)
    assert float(usual.beta) == pytest.approx(epsilon / (4 * (1 + math.log(2 / delta))), rel=1e-5)
    mechanism = SmoothGaussian(epsilon=epsilon, delta=delta, beta=usual.beta * Fraction(share), lower=0, upper=1)
    beta, shift = float(mechanism.beta), float(mechanism.shift)
    found = [
        hockey_stick(epsilon, part * shift * min(1, math.exp(q)), q)
        for part in (0.5, 1)
        for q in np.linspace(-beta, beta, 9)
    ]
    assert max(found) <= delta * (1 + 1e-6)
    assert max(found) >= delta * (1 - 1e-3)  # the shift is rounded down, in its sixth digit
    assert max(found) == pytest.approx(hockey_stick(epsilon, shift * math.exp(-beta), -beta), rel=1e-4)
    assert max(hockey_stick(epsilon, 1.2 * shift * min(1, math.exp(q)), q) for q in (-beta, 0, beta)) > delta
    loss = mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace))
    assert loss == Restricted(ApproximateLoss(epsilon, delta), Replace)


def test_far_less_noise_than_the_classical_one() -> None:
    """Classical: standard deviation 5 sqrt(2 ln(2 / delta)) S / epsilon, 26.9 S at (1, 1e-6); here 5.9 S."""
    mechanism = SmoothGaussian.calibrated(epsilon=1, delta=1e-6, lower=0, upper=1)
    assert float(1 / mechanism.shift) == pytest.approx(5.90, abs=0.01)


@pytest.mark.parametrize(
    ("epsilon", "delta", "before"),
    [("1", "1e-6", 0.169466), ("0.1", "1e-3", 0.0479046), ("4", "0.05", 1.45654), ("0.1", "0.05", 0.152021)],
)
def test_no_more_noise_than_by_the_sum_of_two_divergences(epsilon: str, delta: str, before: float) -> None:
    """The shifts of the condition that was used before, which lost up to a factor of two in delta."""
    shift = SmoothGaussian.calibrated(epsilon=epsilon, delta=delta, lower=0, upper=1).shift
    assert shift > before
    assert shift < 1.5 * before


@pytest.mark.parametrize(
    ("epsilon", "delta", "beta"), [(0.1, 0.3, 0.01), (1, 0.4, 0.1), (0.1, 0.05, 0.02), (2, 0.3, 0.5)]
)
def test_it_is_private_where_the_condition_limits_the_shift_and_not_the_divergence(
    epsilon: float, delta: float, beta: float
) -> None:
    mechanism = SmoothGaussian(epsilon=epsilon, delta=delta, beta=beta, lower=0, upper=1)
    shift = float(mechanism.shift)
    assert shift**2 <= 2 * epsilon
    found = [hockey_stick(epsilon, shift * min(1, math.exp(q)), q) for q in np.linspace(-beta, beta, 21)]
    assert max(found) <= delta


def test_the_divergence_is_that_of_quadrature() -> None:
    from flint import arb

    mechanism = SmoothGaussian(epsilon=1, delta="0.01", beta="0.1", lower=0, upper=1)
    z = np.linspace(-30, 30, 60_001)
    p = stats.norm.pdf(z)
    for s in (0.3, 0.9, 2.0):
        other = stats.norm.pdf(z, s * math.exp(-0.1), math.exp(-0.1))
        truth = integrate.trapezoid(np.maximum(p - math.e * other, 0), x=z)
        assert float(mechanism._of_narrower(arb(s), arb(1))) == pytest.approx(truth, rel=1e-6, abs=1e-12)


def test_no_delta_and_too_large_a_beta_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="delta must be > 0"):
        SmoothGaussian(epsilon=1, delta=0, beta="0.01", lower=0, upper=1)
    with pytest.raises(InvalidParameterError, match="shift of 0"):
        SmoothGaussian(epsilon=1, delta="1e-6", beta="0.5", lower=0, upper=1)

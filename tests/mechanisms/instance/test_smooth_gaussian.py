import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from deniable.errors import InvalidParameterError
from deniable.mechanisms import SmoothGaussian
from deniable.privacy import ApproximateLoss, Replace, Restricted, of_count


def hockey_stick(epsilon: float, shift: float, dilation: float) -> float:
    """delta at epsilon of a normal law against itself moved and stretched, by quadrature, both ways."""
    z = np.linspace(-30, 30, 240_001)
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
    assert max(found) >= delta / 2  # the sum of two divergences loses a factor of two at most
    assert max(hockey_stick(epsilon, 1.2 * shift * min(1, math.exp(q)), q) for q in (-beta, 0, beta)) > delta
    loss = mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace))
    assert loss == Restricted(ApproximateLoss(epsilon, delta), Replace)


def test_far_less_noise_than_the_classical_one() -> None:
    """Classical: standard deviation 5 sqrt(2 ln(2 / delta)) S / epsilon, 26.9 S at (1, 1e-6); here 5.9 S."""
    mechanism = SmoothGaussian.calibrated(epsilon=1, delta=1e-6, lower=0, upper=1)
    assert float(1 / mechanism.shift) == pytest.approx(5.90, abs=0.01)


def test_the_divergences_are_those_of_quadrature() -> None:
    from flint import arb

    mechanism = SmoothGaussian(epsilon=1, delta="0.01", beta="0.1", lower=0, upper=1)
    for s in (0.3, 0.9, 2.0):
        pair = float(mechanism._of_narrower(arb(s), arb(1))), float(mechanism._of_wider(arb(s), arb(1)))
        z = np.linspace(-30, 30, 240_001)
        p = stats.norm.pdf(z)
        others = stats.norm.pdf(z, s * math.exp(-0.1), math.exp(-0.1)), stats.norm.pdf(z, s, math.exp(0.1))
        truth = [integrate.trapezoid(np.maximum(p - math.e * q, 0), x=z) for q in others]
        assert pair == pytest.approx(truth, rel=1e-6, abs=1e-12)
    undecided = mechanism._of_wider(arb(0.4, 0.4), arb(1, 1))
    assert undecided.contains(0)
    assert undecided.contains(1)


def test_no_delta_and_too_large_a_beta_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="delta must be > 0"):
        SmoothGaussian(epsilon=1, delta=0, beta="0.01", lower=0, upper=1)
    with pytest.raises(InvalidParameterError, match="shift of 0"):
        SmoothGaussian(epsilon=1, delta="1e-6", beta="0.5", lower=0, upper=1)

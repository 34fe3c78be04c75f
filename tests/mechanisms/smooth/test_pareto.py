import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms.smooth import SmoothPareto
from deniable.privacy import PureLoss, Replace, of_count

Z = np.concatenate([-np.geomspace(1e9, 1e-6, 4000), np.geomspace(1e-6, 1e9, 4000), [0.0]])


@pytest.mark.parametrize("share", [0.01, 0.25, 0.5, 0.95])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_shift_and_dilation_within_the_bounds_lose_epsilon_and_no_more(epsilon: float, share: float) -> None:
    """The log-ratio of densities on a grid. A statistic moves by at most the smaller one of both bounds."""
    mechanism = SmoothPareto.calibrated(epsilon=epsilon, beta=share * epsilon, bounds=(0, 1))
    beta, shift, g = float(mechanism.beta), float(mechanism.shift), float(mechanism.tail) + 1

    def loss(d: float, dilation: float) -> float:
        there = g * np.log1p(np.abs(Z - d) * math.exp(-dilation) / g) + dilation
        return float(np.abs(there - g * np.log1p(np.abs(Z) / g)).max())

    dilations = np.linspace(-beta, beta, 9)
    worst = max(loss(part * shift * min(1, math.exp(q)), q) for part in (0, 0.5, 1) for q in dilations)
    assert epsilon * (1 - 1e-3) <= worst <= epsilon * (1 + 1e-9)
    assert max(loss(1.01 * shift * min(1, math.exp(q)), q) for q in dilations) > epsilon


def test_a_small_beta_leaves_laplace_noise() -> None:
    mechanism = SmoothPareto.calibrated(epsilon=1, beta="1/10000", bounds=(0, 1))
    assert float(mechanism.shift) == pytest.approx(1, abs=2e-4)
    assert mechanism.tail == 10_000


def test_the_usual_beta_leaves_three_moments() -> None:
    mechanism = SmoothPareto.calibrated(epsilon="0.8", bounds=(0, 1))
    assert (mechanism.beta, mechanism.tail) == (Fraction(1, 5), 4)
    loss = mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace))
    assert loss == PureLoss("0.8").under(Replace)


def test_beta_of_epsilon_leaves_nothing() -> None:
    with pytest.raises(InvalidParameterError, match="shift of 0"):
        SmoothPareto(epsilon=1, beta=1, bounds=(0, 1))

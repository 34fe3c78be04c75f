import math

import numpy as np
import pytest
from scipy import integrate, stats

from deniable.mechanisms import SmoothLogNormal
from deniable.mechanisms.instance.smooth_log_normal import best_spread
from deniable.privacy import ConcentratedLoss, Replace, Restricted, of_count

_Y = np.linspace(-8, 8, 801)
_Z = np.concatenate([-np.geomspace(300, 1e-4, 1500), np.geomspace(1e-4, 300, 1500)])


def density(z: np.ndarray, spread: float) -> np.ndarray:
    """Of X e^(spread Y), averaged over Y."""
    rate = np.exp(-spread * _Y)
    return integrate.simpson(rate * np.exp(-rate * np.abs(z)[:, None]) / 2 * stats.norm.pdf(_Y), x=_Y, axis=1)


@pytest.mark.parametrize("dilation", [-1, 1])
@pytest.mark.parametrize("order", [1.5, 4])
def test_the_divergence_of_shift_and_dilation_is_within_rho(dilation: int, order: float) -> None:
    """Rényi divergence by quadrature; with six times the shift it is above."""
    mechanism = SmoothLogNormal.calibrated(rho="0.5", lower=0, upper=1)
    spread, beta, shift = float(mechanism.spread), float(mechanism.beta) * dilation, float(mechanism.shift)

    def divergence(d: float) -> float:
        p = density(_Z, spread)
        q = density((_Z - d) * math.exp(-beta), spread) * math.exp(-beta)
        return math.log(integrate.simpson(p**order * q ** (1 - order), x=_Z)) / (order - 1)

    assert divergence(shift) <= 0.5 * order
    assert divergence(6 * shift) > 0.5 * order
    loss = mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace))
    assert loss == Restricted(ConcentratedLoss("0.5"), Replace)


def test_the_spread_minimises_the_variance() -> None:
    """The variance is 2 e^(5 q^2) / (1 - share / q)^2 for sqrt(2 rho) = 1; statistics.md section 2."""
    for share in (0.01, 0.1, 0.5):
        q = np.linspace(share * 1.001, 3, 400_000)
        variance = np.exp(5 * q**2) / (1 - share / q) ** 2
        assert best_spread(share) == pytest.approx(q[variance.argmin()], abs=1e-4)

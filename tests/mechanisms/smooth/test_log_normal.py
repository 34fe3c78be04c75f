import math

import numpy as np
import pytest
from scipy import integrate, special

from deniable.mechanisms.smooth import SmoothLogNormal
from deniable.mechanisms.smooth.log_normal import spreads
from deniable.privacy import ConcentratedLoss, Replace, of_count

_Y = np.linspace(-20, 20, 801)
_HALF = np.geomspace(1e-5, 2000, 1500)
_Z = np.concatenate([-_HALF[::-1], _HALF])


def log_density(z: np.ndarray, spread: float) -> np.ndarray:
    """Of X e^(spread Y), averaged over Y."""
    rate = -spread * _Y
    parts = rate - np.exp(rate) * np.abs(z)[:, None] - _Y**2 / 2
    return special.logsumexp(parts, axis=1) + math.log((_Y[1] - _Y[0]) / math.sqrt(8 * math.pi))


def divergences(mechanism: SmoothLogNormal, dilation: float, *, times: float = 1) -> dict[float, float]:
    """Rényi divergences at the largest shift, over order times rho, by quadrature."""
    spread, shift = float(mechanism.spread), times * float(mechanism.shift) * min(1, math.exp(dilation))
    p = log_density(_Z, spread)
    q = log_density((_Z - shift) * math.exp(-dilation), spread) - dilation
    found = {}
    for order in (1.5, 2, 4, 10, 40):
        ratio = order * p + (1 - order) * q
        total = math.log(integrate.simpson(np.exp(ratio - ratio.max()), x=_Z)) + ratio.max()
        found[order] = total / (order - 1) / (order * float(mechanism.rho))
    return found


@pytest.mark.parametrize("rho", ["0.005", "0.05", "0.5", "2", "8"])
@pytest.mark.parametrize("share", [-1, -0.5, 0, 0.5, 1])
def test_the_divergence_of_shift_and_dilation_is_within_rho(share: float, rho: str) -> None:
    """Where squares are added (up to 2), and where losses are; with 15 times the shift it is above."""
    mechanism = SmoothLogNormal.calibrated(rho=rho, bounds=(0, 1))
    dilation = share * float(mechanism.beta)
    assert max(divergences(mechanism, dilation).values()) <= 1
    assert max(divergences(mechanism, dilation, times=15).values()) > 1
    loss = mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace))
    assert loss == ConcentratedLoss(rho).under(Replace)


def test_the_inequality_at_the_end_of_the_proof_holds() -> None:
    """cosh x + (b / 2) (sinh(x) / x - e^-x) <= e^(x^2 / 2 + x b / 2); with twice the second term it does not."""
    x, b = np.meshgrid(np.geomspace(1e-3, 20, 300), np.geomspace(1e-3, 3, 100))
    more, most = b / 2 * (np.sinh(x) / x - np.exp(-x)), np.exp(x**2 / 2 + x * b / 2)
    assert (np.cosh(x) + more <= most * (1 + 1e-12)).all()
    assert (np.cosh(x) + 2 * more > most).any()


@pytest.mark.parametrize(
    ("rho", "deviation", "before"), [("0.005", 1.792, 2.655), ("0.5", 1.998, 2.655), ("8", 2.655, 2.655)]
)
def test_less_noise_than_where_losses_are_added(rho: str, deviation: float, before: float) -> None:
    """Standard deviations in units of S / sqrt(2 rho)."""
    mechanism = SmoothLogNormal.calibrated(rho=rho, bounds=(0, 1))
    spread, scale = float(mechanism.spread), math.sqrt(2 * float(mechanism.rho)) / float(mechanism.shift)
    assert math.sqrt(2) * math.exp(spread**2) * scale == pytest.approx(deviation, abs=0.001)


def test_the_spreads_minimise_the_variance() -> None:
    """2 e^(5 q^2) / (1 - share / q)^2 for sqrt(2 rho) = 1, statistics.md section 2; and with squares."""
    for share in (0.01, 0.1, 0.5):
        q = np.linspace(share * 1.001, 3, 400_000)
        added, squared = spreads(share, 1)
        assert added == pytest.approx(q[(5 * q**2 - 2 * np.log(1 - share / q)).argmin()], abs=1e-4)
        allowed = q[(share <= 0.828 * q**2)]
        assert squared == pytest.approx(
            allowed[(5 * allowed**2 - np.log(1 - (share / allowed) ** 2)).argmin()], abs=1e-4
        )
    assert len(spreads(0.1, 3)) == 1

"""What draws with replacement attain: quadrature of moved noise, and laws that are cut."""

import math

import numpy as np
import pytest

from deniable.privacy import ExponentialMechanismLoss, GaussianLoss, Interval, LaplaceLoss, PrivacyLoss, PureLoss
from deniable.privacy.amplification.sampling.drawn_noise import TruncatedLaw, attained_laws
from deniable.privacy.pld.law import LossLaw
from deniable.privacy.pld.laws import NormalLaw

SHARES = [0.68, 0.2, 0.1, 0.02]  # of 0, 1, 2, 3 draws
WEIGHTS = [Interval(share, share) for share in (*SHARES, 0.0)]


def curve(law: LossLaw, epsilon: float) -> float:
    found = law.above(np.array([epsilon]))
    return float(found.p[0] - math.exp(epsilon) * found.q[0])


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4, 0.6])
def test_moved_laplace_noise_has_its_curve_by_quadrature(epsilon: float) -> None:
    """Noise of scale 2 around 0, 1, 2, 3: sums of densities on a fine line."""
    law, back = attained_laws(LaplaceLoss(2).statement, WEIGHTS)
    x = np.linspace(-60, 60, 240_001)
    q = np.exp(-np.abs(x) / 2) / 4
    p = sum(share * np.exp(-np.abs(x - j) / 2) / 4 for j, share in enumerate(SHARES))
    truth = float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * (x[1] - x[0]))
    assert curve(law, epsilon) == pytest.approx(truth, rel=1e-4, abs=1e-7)
    assert curve(law, epsilon) <= truth * (1 + 1e-5) + 1e-9
    assert curve(back, epsilon) <= curve(law, epsilon) or epsilon == 0.0


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4, 0.6])
def test_moved_geometric_noise_has_its_curve_by_enumeration(epsilon: float) -> None:
    law = attained_laws(PureLoss("1/2").statement, WEIGHTS)[0]
    k = np.arange(-300, 300)
    q = np.exp(-np.abs(k) / 2) * math.tanh(0.25)
    p = sum(share * np.exp(-np.abs(k - j) / 2) * math.tanh(0.25) for j, share in enumerate(SHARES))
    truth = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
    assert curve(law, epsilon) == pytest.approx(truth, rel=1e-6, abs=1e-12)


def test_counting_a_unit_once_only_is_seen() -> None:
    """A twin in which the unit counts once however often it is drawn reveals less."""
    often = attained_laws(LaplaceLoss(1).statement, WEIGHTS)[0]
    once = attained_laws(LaplaceLoss(1).statement, [WEIGHTS[0], Interval(0.32, 0.32), Interval(0.0, 0.0)])[0]
    assert curve(once, 0.2) < 0.95 * curve(often, 0.2)


@pytest.mark.parametrize("base", [GaussianLoss(1), ExponentialMechanismLoss(1), PureLoss(0)])
def test_every_law_is_that_of_a_pair(base: PrivacyLoss) -> None:
    for law in attained_laws(base.statement, WEIGHTS):
        places = np.linspace(-2, 2, 21)
        above, below = law.above(places), law.below(places)
        assert np.allclose(above.p + below.p, 1, rtol=1e-9)
        assert np.allclose(above.q + below.q, 1, rtol=1e-9)


def test_a_cut_law_lacks_its_top() -> None:
    law, cut = NormalLaw(1.0), TruncatedLaw(NormalLaw(1.0), 2.0)
    at = np.array([-1.0, 1.0, 1.9, 2.0, 5.0])
    whole, part = law.above(at), cut.above(at)
    gone = law.above(np.array([2.0]))
    assert np.allclose(part.p, np.maximum(whole.p - gone.p, 0), atol=1e-15)
    assert np.allclose(part.q, np.maximum(whole.q - gone.q, 0), atol=1e-15)
    assert np.all(part.error >= whole.error)
    assert cut.below(at).p[0] == law.below(at).p[0]

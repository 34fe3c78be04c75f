from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.mechanisms.smooth import SmoothStudentT
from deniable.privacy import PureLoss, Replace, of_count

Z = np.concatenate([-np.geomspace(1e6, 1e-3, 3000), np.geomspace(1e-3, 1e6, 3000)])


@pytest.mark.parametrize("degrees", [1, Fraction(3, 2), 3, 10])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("epsilon", [0.2, 1.5, 6])
def test_shift_and_dilation_within_the_bounds_lose_epsilon_and_no_more(
    degrees: Fraction, share: float, epsilon: float
) -> None:
    """The log-ratio of densities on a grid. A statistic moves by at most the smaller one of both bounds."""
    mechanism = SmoothStudentT(
        epsilon=epsilon, degrees=degrees, beta=Fraction(share * epsilon / float(degrees)), bounds=(0, 1)
    )
    beta, shift = float(mechanism.beta), float(mechanism.shift)
    law = stats.t(float(degrees))

    def loss(d: float, dilation: float) -> float:
        other = law.logpdf((Z - d) * np.exp(-dilation)) - dilation
        return float(np.abs(law.logpdf(Z) - other).max())

    dilations = np.linspace(-beta, beta, 9)
    worst = [loss(part * shift * min(1, np.exp(q)), q) for part in (0, 0.5, 1) for q in dilations]
    assert max(worst) <= epsilon * (1 + 1e-9)
    assert max(worst) >= epsilon * (1 - 1e-3)  # attained
    assert max(loss(1.01 * shift * min(1, np.exp(q)), q) for q in dilations) > epsilon


def test_cauchy_noise_is_eighteen_times_smaller_than_the_classical_one() -> None:
    """Where the smooth bound is in proportion to 1 / beta. Classical: scale 6 S / epsilon at beta = epsilon / 6."""
    mechanism = SmoothStudentT.calibrated(epsilon="0.01", bounds=(0, 10))
    assert mechanism.beta == Fraction("0.00707")
    assert 36 * float(mechanism.beta * mechanism.shift) / 0.01**2 == pytest.approx(18, abs=0.1)
    loss = mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace))
    assert loss == PureLoss("0.01").under(Replace)


@pytest.mark.parametrize("degrees", [1, 2, 3, 10])
def test_beta_has_the_least_noise_where_the_bound_is_in_proportion_to_its_inverse(degrees: int) -> None:
    def noise(beta: Fraction) -> float:
        mechanism = SmoothStudentT(epsilon="0.01", degrees=degrees, beta=beta, bounds=(0, 1))
        return 1 / float(mechanism.beta * mechanism.shift)

    best = SmoothStudentT.calibrated(epsilon="0.01", degrees=degrees, bounds=(0, 1)).beta
    assert noise(best) <= min(noise(best * share) for share in (Fraction(9, 10), Fraction(11, 10))) * 1.0001


@pytest.mark.parametrize("degrees", [0, "1/2", 101, "many"])
def test_bad_degrees_are_refused(degrees: object) -> None:
    with pytest.raises(InvalidParameterError, match="degrees"):
        SmoothStudentT(epsilon=1, degrees=degrees, beta="0.001", bounds=(0, 10))

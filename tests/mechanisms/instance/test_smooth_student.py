from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.mechanisms import SmoothStudentT
from deniable.privacy import PureLoss, Replace, Restricted, of_count

Z = np.concatenate([-np.geomspace(1e6, 1e-3, 3000), np.geomspace(1e-3, 1e6, 3000)])


@pytest.mark.parametrize("degrees", [1, Fraction(3, 2), 3, 10])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_no_shift_and_dilation_within_the_bounds_loses_more(degrees: Fraction, share: float) -> None:
    """The log-ratio of densities, on a grid; a shift a tenth longer exceeds epsilon when beta is small."""
    epsilon = 1.5
    mechanism = SmoothStudentT(
        epsilon=epsilon, degrees=degrees, beta=Fraction(share * epsilon / float(degrees)), lower=0, upper=1
    )
    beta, shift = float(mechanism.beta), float(mechanism.shift)
    law = stats.t(float(degrees))

    def loss(d: float, dilation: float) -> float:
        other = law.logpdf((Z - d) * np.exp(-dilation)) - dilation
        return float(np.abs(law.logpdf(Z) - other).max())

    worst = max(loss(d, q) for d in (0, shift / 2, shift) for q in np.linspace(-beta, beta, 9))
    assert worst <= epsilon * (1 + 1e-9)
    if share == 0.05:
        assert loss(1.1 * shift + 0.1, 0) > 0.9 * loss(shift, 0)
    if share == 0.95:
        assert loss(0, 1.2 * beta) > epsilon or loss(0, -1.2 * beta) > epsilon


def test_cauchy_noise_is_five_times_smaller_than_the_classical_one() -> None:
    """Classical: scale 6 S / epsilon at beta = epsilon / 6; here 6/5 S / epsilon."""
    mechanism = SmoothStudentT.calibrated(epsilon="0.6", lower=0, upper=10)
    assert mechanism.beta == Fraction(1, 10)
    assert float(mechanism.shift) == pytest.approx(0.5)
    assert mechanism.shift <= Fraction(1, 2)
    loss = mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace))
    assert loss == Restricted(PureLoss("0.6"), Replace)


@pytest.mark.parametrize("degrees", [0, "1/2", 101, "many"])
def test_bad_degrees_are_refused(degrees: object) -> None:
    with pytest.raises(InvalidParameterError, match="degrees"):
        SmoothStudentT(epsilon=1, degrees=degrees, beta="0.001", lower=0, upper=10)

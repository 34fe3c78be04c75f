import math

import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import GaussianDPLoss, GaussianLoss, PrivacyLoss


def test_it_has_the_curve_of_gaussian_noise() -> None:
    """golden.md G15."""
    loss = GaussianDPLoss(1)
    assert loss.delta(1).upper == pytest.approx(0.1269367375066439458, rel=1e-12)
    assert loss.delta("1/2") == GaussianLoss(1).delta("1/2")
    assert loss.statement.mu == 1


def test_ten_of_them_are_one() -> None:
    """golden.md G17: mu = 0.3 ten times at delta = 1e-6."""
    run = GaussianDPLoss("0.3") * 10
    assert run.epsilon("1e-6").upper == pytest.approx(4.602679009809174427, rel=1e-9)
    assert run.statement.normal_mu_squared == GaussianDPLoss(1).statement.normal_mu_squared * 9 / 10  # type: ignore[operator]
    assert math.isclose((GaussianDPLoss(3) + GaussianLoss("1/4")).delta(2).upper, GaussianDPLoss(5).delta(2).upper)


def test_it_is_sampled_and_written_like_others() -> None:
    loss = GaussianDPLoss("2/3")
    assert loss.poisson_sampled(rate="1/10").delta(1).upper < loss.delta(1).lower
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert loss != GaussianLoss("3/2")
    assert repr(loss) == "GaussianDPLoss(mu='2/3')"


@pytest.mark.parametrize("mu", [0, -1, "x", True])
def test_bad_mu_is_refused(mu: object) -> None:
    with pytest.raises(InvalidParameterError, match="mu must be"):
        GaussianDPLoss(mu)

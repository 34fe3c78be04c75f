from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.privacy import (
    AddRemove,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    Replace,
    gaussian_sigma_squared,
    laplace_scale,
    of_clipped_sum,
    of_count,
)
from deniable.privacy.concentrated import largest_rho
from deniable.privacy.gaussian_dp import largest_mu_squared

ONE = of_count(rows=1, groups=1, relation=AddRemove)


def test_published_laplace_scales() -> None:
    """query.md, section 8, examples 1 to 4."""
    assert laplace_scale(ONE, 1) == 1
    assert laplace_scale(of_count(rows=2, groups=1, relation=AddRemove), 1) == 2
    assert laplace_scale(of_count(rows=3, groups=1, relation=Replace), 1) == 6
    assert laplace_scale(of_count(rows=36, groups=1, relation=AddRemove), "1/5") == 180
    assert laplace_scale(of_clipped_sum(lower=0, upper=80, rows=36, groups=1, relation=AddRemove), "0.2") == 14400


def test_published_gaussian_scales_under_rho() -> None:
    """query.md, section 8, example 2: sigma = 2 and sqrt(2) at rho = 1/2."""
    assert gaussian_sigma_squared(of_count(rows=2, groups=1, relation=AddRemove), rho=0.5) == 4
    assert gaussian_sigma_squared(of_count(rows=1, groups=2, relation=AddRemove), rho=0.5) == 2


def test_laplace_is_charged_what_was_asked() -> None:
    for epsilon in ("0.1", "1/3", "2"):
        scale = laplace_scale(of_count(rows=3, groups=2, relation=Replace), epsilon)
        loss = DiscreteLaplaceLoss(scale, of_count(rows=3, groups=2, relation=Replace))
        assert loss.charge().epsilon == Fraction(epsilon)


@given(
    st.integers(1, 10**9),
    st.fractions(min_value=Fraction(1, 100), max_value=8, max_denominator=100),
    st.integers(1, 12),
)
@settings(max_examples=40, deadline=None)
def test_the_least_noise_is_private_and_less_is_not(upper: int, epsilon: Fraction, digits: int) -> None:
    reach = of_clipped_sum(lower=0, upper=upper, rows=1, groups=1, relation=AddRemove)
    delta = Fraction(1, 10**digits)
    sigma_squared = gaussian_sigma_squared(reach, epsilon=epsilon, delta=delta)
    assert Fraction(DiscreteGaussianLoss(sigma_squared, reach).delta(epsilon).upper) <= delta
    less = sigma_squared * (1 - Fraction(1, 10**6))
    assert Fraction(DiscreteGaussianLoss(less, reach).delta(epsilon).lower) > delta


def test_wide_integer_noise_approaches_the_continuous_calibration() -> None:
    """golden.md G7 and G9: sigma of real Gaussian noise at sensitivity 1; the lattice is fine at sensitivity 10^6."""
    reach = of_clipped_sum(lower=0, upper=10**6, rows=1, groups=1, relation=AddRemove)
    for epsilon, sigma in ((1, 3.7306316348159418322), (10, 0.49988861970900851464)):
        found = gaussian_sigma_squared(reach, epsilon=epsilon, delta="1e-5")
        assert float(found) == pytest.approx((sigma * 1e6) ** 2, rel=1e-6)


def test_narrow_integer_noise_needs_more_than_the_continuous_calibration() -> None:
    """errata.md E92: the discrete curve may lie above the continuous one."""
    assert float(gaussian_sigma_squared(ONE, epsilon=1, delta="1e-5")) > 3.7306316348159418322**2


@given(st.integers(1, 10**6), st.integers(1, 9), st.fractions(Fraction(1, 10**6), 2, max_denominator=10**6))
@settings(max_examples=40, deadline=None)
def test_noise_for_a_target_mu_proves_it_and_less_noise_does_not(upper: int, groups: int, target: Fraction) -> None:
    reach = of_clipped_sum(lower=0, upper=upper, rows=1, groups=groups, relation=Replace)
    sigma_squared = gaussian_sigma_squared(reach, mu_squared=target)
    proved = DiscreteGaussianLoss(sigma_squared, reach).mu_squared
    assert proved is not None
    assert proved <= target
    less = DiscreteGaussianLoss(sigma_squared * (1 - Fraction(1, 10**6)), reach).mu_squared
    assert less is None or less > target


def test_shares_of_the_largest_mu_beat_shares_of_the_largest_rho() -> None:
    """Three aggregates in one question at (1, 1e-6): the same pair with a tenth less variance."""
    pair = Fraction(1), Fraction(1, 10**6)
    by_mu = gaussian_sigma_squared(ONE, mu_squared=largest_mu_squared(*pair) / 3)
    by_rho = gaussian_sigma_squared(ONE, rho=largest_rho(*pair) / 3)
    assert by_mu < by_rho * Fraction(9, 10)
    assert Fraction((DiscreteGaussianLoss(by_mu, ONE) * 3).delta(pair[0]).upper) <= pair[1]


def test_vectors_are_private_too() -> None:
    reach = of_count(rows=2, groups=5, relation=Replace)
    sigma_squared = gaussian_sigma_squared(reach, epsilon=1, delta="1e-6")
    assert Fraction(DiscreteGaussianLoss(sigma_squared, reach).delta(1).upper) <= Fraction(1, 10**6)


def test_calibration_is_deterministic() -> None:
    first = gaussian_sigma_squared(ONE, epsilon="0.37", delta="1e-7")
    assert first == gaussian_sigma_squared(ONE, epsilon=Fraction(37, 100), delta=1e-7)


@pytest.mark.parametrize(
    "target",
    [
        *({}, {"epsilon": 1}, {"delta": 0.1}, {"rho": 1, "epsilon": 1, "delta": 0.1}),
        *({"rho": 1, "mu_squared": 1}, {"mu_squared": 0}, {"mu_squared": 1, "delta": 0.1}),
        *(
            {"rho": 0},
            {"rho": -1},
            {"epsilon": 0, "delta": 0.1},
            {"epsilon": 1, "delta": 0},
            {"epsilon": 1, "delta": 1},
        ),
    ],
)
def test_unclear_targets_are_refused(target: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        gaussian_sigma_squared(ONE, **target)


def test_aggregates_that_nobody_moves_are_refused() -> None:
    still = of_clipped_sum(lower=0, upper=0, rows=1, groups=1, relation=AddRemove)
    with pytest.raises(InvalidParameterError, match="needs no noise"):
        laplace_scale(still, 1)
    with pytest.raises(InvalidParameterError, match="epsilon must be > 0"):
        laplace_scale(ONE, 0)
    with pytest.raises(InvalidParameterError, match="must be a Sensitivity"):
        laplace_scale(1, 1)  # type: ignore[arg-type]

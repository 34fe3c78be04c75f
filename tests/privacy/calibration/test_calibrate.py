import math
from fractions import Fraction
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    Interval,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
    of_clipped_sum,
    of_count,
)
from deniable.privacy.calibration.calibrate import calibrate, gaussian_sigma_squared, laplace_scale, split
from deniable.privacy.losses.gaussian import GaussianStatement
from deniable.privacy.notions.concentrated import largest_rho
from deniable.privacy.notions.gaussian_dp import largest_mu_squared

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
    with pytest.raises(InvalidParameterError, match="mu_squared must be at least 1e-100"):
        gaussian_sigma_squared(ONE, mu_squared=Fraction(1, 2**1000))
    with pytest.raises(InvalidParameterError, match="epsilon must be at most 1e100"):
        gaussian_sigma_squared(ONE, epsilon=2**1000, delta="1e-6")
    with pytest.raises(InvalidParameterError, match="epsilon must be > 0"):
        laplace_scale(ONE, 0)
    with pytest.raises(InvalidParameterError, match="must be a Sensitivity"):
        laplace_scale(1, 1)  # type: ignore[arg-type]


def test_published_noise_of_one_gaussian() -> None:
    """golden.md G7: sigma for (1, 1e-5)."""
    found = calibrate(GaussianLoss, epsilon=1, delta="1e-5", tolerance=1e-9)
    assert 0 <= float(found) / 3.7306316348159418322 - 1 < 1e-8


def test_exact_answers_are_found_exactly() -> None:
    """0.1 is not a float: the last digit is decided by the exact statement."""
    assert calibrate(LaplaceLoss, epsilon="0.1") == 10
    assert calibrate(lambda count: PureLoss("0.1") * count, epsilon=1, integer=True) == 10
    assert calibrate(lambda count: ApproximateLoss("0.1", "1e-8") * count, epsilon=1, delta="1e-7", integer=True) == 10


def test_advantage_of_a_gaussian_in_closed_form() -> None:
    """Total variation 2 Phi(mu / 2) - 1 = erf(mu / sqrt 8)."""
    found = calibrate(GaussianLoss, advantage="0.1", tolerance=1e-8)
    assert math.erf(1 / (float(found) * math.sqrt(8))) == pytest.approx(0.1, rel=2e-8)
    assert calibrate(GaussianLoss, epsilon=0, delta="0.1", tolerance=1e-8) == found


def test_power_of_a_gaussian_in_closed_form() -> None:
    """accounting.md 13: mu = 1 has a true positive rate of 0.38914 at 0.1, Phi(Phi^-1(0.1) + 1)."""
    found = calibrate(GaussianLoss, true_positive_rate="0.38914", false_positive_rate="0.1", tolerance=1e-6)
    assert 0.9999 < float(found) < 1.001
    assert GaussianLoss(found).tradeoff().true_positive_rate(0.1).upper <= 0.38914


@pytest.mark.parametrize(("hits", "alarms"), [("0.1", "0.01"), ("0.9", "0.7"), ("0.0004", "0.0001")])
def test_training_stays_below_the_power_that_was_allowed(hits: str, alarms: str) -> None:
    def training(noise: Fraction) -> PrivacyLoss:
        return GaussianLoss(noise).poisson_sampled(rate="0.05") * 50

    noise = calibrate(training, true_positive_rate=hits, false_positive_rate=alarms)
    found = training(noise).tradeoff(tolerance=1e-3).true_positive_rate(float(alarms))
    assert 0.99 * float(hits) < found.lower <= found.upper <= float(hits)


SAMPLED = GaussianLoss(1).poisson_sampled(rate="0.01")
SEARCHES = {
    "noise of one": (GaussianLoss, {}, 1),
    "noise of many": (lambda noise: GaussianLoss(noise).poisson_sampled(rate="0.01") * 1000, {}, 1),
    "noise of Laplace": (lambda noise: LaplaceLoss(noise) * 20, {}, 1),
    "rate": (lambda rate: GaussianLoss(1).poisson_sampled(rate=rate) * 500, {"over": (0, 1)}, -1),
    "epsilon of each": (lambda epsilon: PureLoss(epsilon) * 30, {"over": ("0.001", 1)}, -1),
    "a mixed plan": (lambda noise: GaussianLoss(noise) * 3 + LaplaceLoss(20) * 5, {}, 1),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_the_setting_is_private_and_a_worse_one_is_not(name: str) -> None:
    """Both ends are certified: the target is kept, and two thousandths further it is broken for sure."""
    make, domain, direction = SEARCHES[name]
    found = calibrate(make, epsilon="1.5", delta="1e-6", **domain)  # type: ignore[call-overload]
    assert make(found).epsilon("1e-6").upper <= 1.5
    assert make(found * (1 - direction * Fraction(6, 1000))).epsilon("1e-6").lower > 1.5
    assert len(str(found).replace("/", "")) < 20


def test_a_power_may_be_kept_where_the_advantage_of_gaussian_noise_is_not() -> None:
    """One pure loss of 1 has an advantage of 0.462; Gaussian noise of this power has 0.398."""
    power = {"true_positive_rate": "0.1", "false_positive_rate": "0.01"}
    found = calibrate(lambda runs: PureLoss(1) * runs, integer=True, over=(1, 9), **power)  # type: ignore[call-overload]
    assert (PureLoss(1) * found).tradeoff().true_positive_rate(0.01).upper <= 0.1


def test_the_next_step_is_not_proved() -> None:
    found = calibrate(lambda steps: SAMPLED * steps, epsilon=2, delta="1e-6", integer=True)
    assert isinstance(found, int)
    assert (SAMPLED * found).epsilon("1e-6").upper <= 2 < (SAMPLED * (found + 1)).epsilon("1e-6").upper
    assert (SAMPLED * (found + 4)).epsilon("1e-6", tolerance=1e-4).lower > 2


def test_the_next_step_is_refuted_when_that_is_asked_for() -> None:
    found = calibrate(lambda steps: SAMPLED * steps, epsilon=1, delta="1e-6", integer=True, resolved=True)
    following = (SAMPLED * (found + 1)).epsilon("1e-6", tolerance=1e-5)
    assert (SAMPLED * found).epsilon("1e-6", tolerance=1e-5).upper <= 1 < following.lower
    assert calibrate(lambda count: PureLoss("0.1") * count, epsilon=1, integer=True, resolved=True) == 10
    assert calibrate(lambda count: PureLoss(Fraction(20, count)), epsilon=1, integer=True, resolved=True) == 20
    assert calibrate(lambda count: PureLoss("0.1") * count, epsilon=1, integer=True, over=(1, 7), resolved=True) == 7


def test_a_tolerance_that_does_not_tell_neighbours_apart_is_narrowed() -> None:
    """277 steps cost 0.999 and 278 cost 1.0003: widths of a twentieth or a two-hundredth say nothing of either."""
    step = GaussianLoss("1.1").poisson_sampled(rate="0.01")
    found = calibrate(lambda n: step * n, epsilon=1, delta="1e-6", integer=True, resolved=True, tolerance=0.05)
    assert found == 277
    assert (step * 277).epsilon("1e-6", tolerance=1e-4).upper <= 1 < (step * 278).epsilon("1e-6", tolerance=1e-4).lower


def test_published_noise_of_training() -> None:
    """accounting.md 13: noise 3, rate 0.1, 512 steps cost 3.77 at 1e-6 (to two decimals)."""
    found = calibrate(lambda s: GaussianLoss(s).poisson_sampled(rate="0.1") * 512, epsilon="3.77", delta="1e-6")
    assert float(found) == pytest.approx(3, rel=3e-3)


class OutOfReach(GaussianStatement):
    """Cannot be computed on one side of 2, as an engine may give up on very small noise or very small losses."""

    below: ClassVar[bool]

    def delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        if (self.noise_multiplier < 2) == self.below:
            raise InvalidParameterError("tolerance cannot be reached")
        return super().delta_within(epsilon, tolerance)


def test_nothing_is_found_beyond_what_can_be_computed() -> None:
    class Small(OutOfReach):
        below = True

    class Large(OutOfReach):
        below = False

    target = GaussianLoss(3).delta(0).upper
    assert float(calibrate(lambda s: PrivacyLoss(Small(s)), advantage=target)) == pytest.approx(3, rel=2e-3)
    with pytest.raises(InvalidParameterError, match="cannot be computed to the width needed"):
        calibrate(lambda s: PrivacyLoss(Small(s)), advantage="0.9")  # the answer would be 0.3
    with pytest.raises(InvalidParameterError, match="cannot be computed to the width needed"):
        calibrate(lambda s: PrivacyLoss(Large(s)), advantage=target)
    assert float(calibrate(lambda s: PrivacyLoss(Large(s)), advantage="0.9")) == pytest.approx(0.304, rel=1e-2)


def test_a_mistake_in_the_description_is_not_hidden() -> None:
    """Errors of `make` itself are the caller's, and stop the search."""
    with pytest.raises(UnprovedError):
        calibrate(
            lambda s: PureLoss(1).poisson_sampled(rate="0.1") + DiscreteLaplaceLoss(s, reach_of_replace()), epsilon=1
        )
    with pytest.raises(InvalidParameterError, match="rate must be"):
        calibrate(lambda rate: GaussianLoss(1).poisson_sampled(rate=rate), epsilon=9, delta="0.1", over=(0, 4))


def reach_of_replace() -> object:
    return of_count(rows=1, groups=1, relation=Replace)


def test_an_epsilon_that_is_infinite_for_every_setting_says_what_to_give() -> None:
    for make in (GaussianLoss, lambda s: GaussianLoss(s).poisson_sampled(rate="0.1") * 10):
        with pytest.raises(InvalidParameterError, match=r"finite epsilon at delta = 0.* Give a larger delta, such as"):
            calibrate(make, epsilon=1)
    with pytest.raises(InvalidParameterError, match="finite epsilon at delta = 0"):
        split([GaussianLoss], epsilon=1)


def test_what_returns_no_loss_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="make must return a PrivacyLoss, got 1 for 1"):
        calibrate(lambda n: n, epsilon=1, integer=True)  # type: ignore[call-overload]
    with pytest.raises(InvalidParameterError, match="make must be a function from a setting to a loss, got 3"):
        calibrate(3, epsilon=1)  # type: ignore[call-overload]
    with pytest.raises(InvalidParameterError, match="make must return a PrivacyLoss"):
        split([lambda n: n], epsilon=1)  # type: ignore[list-item,return-value]
    for makes in ([], 3):
        with pytest.raises(InvalidParameterError, match="makes must be a list of functions"):
            split(makes, epsilon=1)  # type: ignore[arg-type]


def test_what_cannot_be_private_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="no setting"):
        calibrate(GaussianLoss, epsilon=1, delta="1e-6", over=("0.1", 3))


def test_a_workload_uses_the_whole_target() -> None:
    makes: list[type[PrivacyLoss]] = [GaussianLoss, LaplaceLoss, GaussianLoss]
    noises = split(makes, weights=[1, 2, "1/2"], epsilon=1, delta="1e-6")
    assert (noises[0], noises[2]) == (2 * noises[1], 4 * noises[1])
    together = GaussianLoss(noises[0]) + LaplaceLoss(noises[1]) + GaussianLoss(noises[2])
    found = together.epsilon("1e-6")
    assert 0.997 <= found.lower <= found.upper <= 1


def test_equal_shares_of_a_pure_budget() -> None:
    assert split([LaplaceLoss] * 4, epsilon=1) == (4, 4, 4, 4)
    with pytest.raises(InvalidParameterError, match="got 1 for 2"):
        split([LaplaceLoss] * 2, weights=[1], epsilon=1)
    with pytest.raises(InvalidParameterError, match="makes must be a list of functions"):
        split([], epsilon=1)


@pytest.mark.parametrize(
    "target",
    [
        *({}, {"delta": 0.1}, {"epsilon": 0}, {"epsilon": -1}, {"epsilon": 1, "delta": 1}, {"epsilon": math.nan}),
        *({"advantage": 0}, {"advantage": 1}, {"epsilon": 1, "advantage": 0.5}, {"false_positive_rate": 0.1}),
        {"true_positive_rate": 0.1, "false_positive_rate": 0.1},
        {"true_positive_rate": 1, "false_positive_rate": 0.1},
        {"true_positive_rate": 0.1, "false_positive_rate": 0},
        {"true_positive_rate": 0.2, "false_positive_rate": 0.1, "integer": True, "resolved": True},
        *({"epsilon": 1, "over": over} for over in ((2, 1), (0, 0), (-2, -1), 3, (1, 2, 3), (math.nan, 1))),
        {"epsilon": 1, "over": (0, 5), "integer": True},
        *({"epsilon": 1, "tolerance": tolerance} for tolerance in (0, -1, 2, math.nan)),
    ],
)
def test_targets_without_a_meaning_are_refused(target: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        calibrate(PureLoss, **target)  # type: ignore[call-overload]


def test_who_asks_for_an_exact_answer_gets_little_noise() -> None:
    exact, rough = split([GaussianLoss, GaussianLoss], weights=[4, 1], epsilon=1, delta="1e-5")
    assert rough == 4 * exact
    assert (GaussianLoss(exact) + GaussianLoss(rough)).epsilon("1e-5").upper <= 1

"""What the best attack achieves: beliefs, risk and mu, against closed forms and enumeration."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from deniable.errors import InvalidParameterError
from deniable.privacy import (
    ApproximateLoss,
    GaussianLoss,
    Interval,
    LaplaceLoss,
    PureLoss,
)
from deniable.privacy.notions.gaussian_dp import mu_squared_of_pure
from deniable.privacy.notions.tradeoff import TradeOff

LEVELS = np.concatenate([np.logspace(-8, -1, 15), np.linspace(0.12, 1, 12), [0.0]])


def test_published_values() -> None:
    """golden.md G19; accounting.md: sigma = sqrt 3 three times is mu = 1, hits 0.38914 at 0.1 false alarms."""
    assert TradeOff(ApproximateLoss(1, "0.001")).false_negative_rate(0.05).lower <= 0.86308590857704773823
    exact = max(1 - 0.001 - math.e * 0.05, math.exp(-1) * (1 - 0.001 - 0.05))
    assert exact == pytest.approx(0.86308590857704773823, rel=1e-12)
    together = TradeOff(GaussianLoss(Fraction("1.7320508075688772935")) * 3)
    assert together.true_positive_rate(0.1).upper == pytest.approx(0.38914, abs=5e-6)


def test_nothing_and_everything() -> None:
    nothing = TradeOff(PureLoss(1) * 0)
    np.testing.assert_allclose(nothing.true_positive_rates(LEVELS).upper, LEVELS, atol=1e-15)
    assert nothing.advantage() == Interval(0.0, 0.0)
    failing = TradeOff(ApproximateLoss(0, "1/2") * 2)
    assert failing.true_positive_rate(0.0).lower == pytest.approx(0.75)
    assert failing.true_positive_rate(0.0).upper == pytest.approx(0.75)
    assert failing.posterior("1/100", failure="1/10") == Interval(1.0, 1.0)


def test_advantage_is_far_above_delta() -> None:
    """errata.md E06: (2, 1e-6)-DP allows an advantage of 0.761594."""
    found = TradeOff(ApproximateLoss(2, "1e-6")).advantage()
    assert found.upper == pytest.approx(0.761594, abs=1e-6)
    assert found.upper == pytest.approx((math.exp(2) - 1 + 2e-6) / (math.exp(2) + 1), rel=1e-12)


@pytest.mark.parametrize("prior", ["1/100", "1/2", "9/10"])
def test_the_bayes_risk_is_the_least_mean_error(prior: str) -> None:
    share = float(Fraction(prior))
    levels = np.linspace(0, 1, 20001)[1:-1]
    misses = TradeOff(GaussianLoss(1)).false_negative_rates(levels[::20]).lower
    best = min(np.min(share * misses + (1 - share) * levels[::20]), share, 1 - share)
    found = TradeOff(GaussianLoss(1)).bayes_risk(prior)
    assert found.lower <= best <= found.upper * 1.0005
    assert found.width <= 1e-12


def test_belief_after_an_alarm() -> None:
    """Prior 1 %: pure losses allow at most p e / (p e + 1 - p), whatever the share of false alarms."""
    curve = TradeOff(PureLoss(1))
    limit = 0.01 * math.e / (0.01 * math.e + 0.99)
    assert curve.precision("1/100", false_positive_rate=0.01).upper == pytest.approx(limit, rel=1e-9)
    assert curve.precision("1/100", false_positive_rate=0.9).upper < limit / 2
    assert curve.posterior("1/100").upper == pytest.approx(limit, rel=1e-9)
    assert TradeOff(GaussianLoss(1)).posterior("1/100").upper == 1.0


@pytest.mark.parametrize("failure", ["1/10", "1/1000", "1e-9"])
def test_the_quantile_of_the_loss_lies_within(failure: str) -> None:
    """Gaussian noise: the loss is N(1/2, 1), so its quantile is known."""
    with mpmath.workdps(30):
        share = mpmath.mpf(Fraction(failure).numerator) / Fraction(failure).denominator
        quantile = mpmath.mpf(1) / 2 - mpmath.sqrt(2) * mpmath.erfinv(2 * share - 1)
        truth = float(1 / (1 + mpmath.exp(-quantile)))
    found = TradeOff(GaussianLoss(1)).posterior("1/2", failure=failure)
    assert found.lower <= truth <= found.upper


def test_delta_does_not_bound_the_tail_of_the_loss() -> None:
    """errata.md E06: with noise exactly (2, 1e-5)-DP the loss exceeds 2 with probability 9.317e-5, not 1e-5."""
    from deniable.privacy.notions.gaussian_dp import largest_mu_squared

    mu = math.sqrt(largest_mu_squared(Fraction(2), Fraction(1, 10**5)))
    tail = float(mpmath.ncdf(-(2 - mu * mu / 2) / mu))
    assert tail == pytest.approx(9.317e-5, rel=1e-3)
    curve = TradeOff(GaussianLoss(Fraction(1 / mu)))
    odds = math.exp(2) / (1 + math.exp(2))
    assert curve.posterior("1/2", failure=tail * 1.001).lower <= odds
    assert curve.posterior("1/2", failure="1e-5").upper > odds * 1.01


@pytest.mark.parametrize("limit", ["1/10", "1", "5"])
def test_the_mu_of_a_bounded_loss_is_known(limit: str) -> None:
    found = TradeOff(PureLoss(limit)).mu()
    assert found.lower <= math.sqrt(mu_squared_of_pure(Fraction(limit))) * (1 + 1e-11)
    assert found.upper == pytest.approx(math.sqrt(mu_squared_of_pure(Fraction(limit))), rel=1e-9)


def test_the_mu_of_a_composition_is_that_of_its_best_tests() -> None:
    """Ten responses: all corners of the curve of their sum; the sum of mu^2 would be 3.896."""
    limit, runs = 1.0, 10
    ones = np.arange(runs, -1, -1)
    kept, ways = 1 / (1 + math.exp(-limit)), np.array([math.comb(runs, int(k)) for k in ones])
    p, q = ways * kept**ones * (1 - kept) ** (runs - ones), ways * kept ** (runs - ones) * (1 - kept) ** ones
    alarms, misses = np.cumsum(q)[:-1], 1 - np.cumsum(p)[:-1]
    truth = max(-norm.ppf(alarms) - norm.ppf(misses))
    found = TradeOff(PureLoss(1) * runs).mu()
    assert found.lower * (1 - 1e-9) <= truth <= found.upper * (1 + 1e-9)
    assert found.upper == pytest.approx(3.1772, abs=1e-4)


def test_the_mu_of_laplace_noise_is_that_of_its_curve() -> None:
    levels = np.linspace(0.0005, 0.5, 4000)
    moved = np.where(levels < 0.5, -np.log(2 * levels), 0.0) - 1.0
    misses = np.where(moved < 0, np.exp(np.minimum(moved, 0)) / 2, 1 - np.exp(-np.maximum(moved, 0)) / 2)
    truth = float(np.max(-norm.ppf(levels) - norm.ppf(misses)))
    found = TradeOff(LaplaceLoss(1), tolerance=1e-3).mu()
    assert found.lower <= truth * (1 + 1e-12)
    assert truth <= found.upper <= truth * 1.002


def test_a_mu_needs_a_least_rate_where_the_loss_is_unbounded() -> None:
    noise = GaussianLoss(2)
    assert TradeOff(noise).mu().upper == 0.5
    curve = TradeOff(noise)
    curve._curve.mu_squared = None
    assert curve.mu().upper == math.inf
    assert curve.mu(least_rate="1e-6").lower <= 0.5 <= curve.mu(least_rate="1e-6").upper <= 0.51
    assert TradeOff(ApproximateLoss(1, "1e-3")).mu().lower == math.inf
    sampled = TradeOff(GaussianLoss(1).poisson_sampled(rate="1/10"))
    assert sampled.mu(least_rate="1e-2").upper <= sampled.mu(least_rate="1e-5").upper < 1


@pytest.mark.parametrize("rates", [[-0.1], [1.5], [float("nan")], []])
def test_bad_rates_are_refused(rates: list[float]) -> None:
    with pytest.raises(InvalidParameterError, match="false positive rates"):
        TradeOff(PureLoss(1)).true_positive_rates(rates)


@pytest.mark.parametrize("prior", [0, 1, -1, 2, "x", True])
def test_bad_priors_are_refused(prior: object) -> None:
    with pytest.raises(InvalidParameterError, match="prior"):
        TradeOff(PureLoss(1)).bayes_risk(prior)


def test_the_conjugate_is_delta_on_both_sides_of_one() -> None:
    """By the definition: the largest y a - f(a) over a fine grid of false alarms."""
    curve = LaplaceLoss(1).tradeoff(tolerance=1e-4)
    rates = np.linspace(0, 1, 2001)
    for slope in ("-1/10", "-1/2", "-1", "-2", "-5"):
        found = curve.conjugate(slope)
        direct = float(np.max(float(Fraction(slope)) * rates - curve.false_negative_rates(rates).lower))
        assert direct == pytest.approx(found.upper, abs=1e-3)
    with pytest.raises(InvalidParameterError, match="slope must be < 0"):
        curve.conjugate(0)


def test_the_curve_is_its_own_inverse() -> None:
    curve = LaplaceLoss(1).poisson_sampled(rate="1/3").tradeoff(tolerance=1e-4)
    for rate in (0.01, 0.2, 0.7):
        there = curve.false_negative_rate(rate)
        assert curve.false_positive_rate(there.upper).lower <= rate * (1 + 1e-3)
        assert curve.false_positive_rate(there.lower).upper >= rate * (1 - 1e-3)


def test_less_noise_dominates_more_noise_and_curves_that_cross_do_not() -> None:
    less, more = GaussianLoss(1).tradeoff(), GaussianLoss("1.2").tradeoff()
    assert less.dominates(more)
    assert not more.dominates(less)
    pure, gaussian = PureLoss("0.5").tradeoff(), GaussianLoss(2).tradeoff()
    assert not pure.dominates(gaussian)
    assert not gaussian.dominates(pure)
    with pytest.raises(InvalidParameterError, match="neither curve is proved"):
        PureLoss(1).tradeoff().dominates(PureLoss(1).tradeoff())


@pytest.mark.parametrize(("epsilon", "delta"), [("1/2", 0), (1, "1/10"), (3, "1/100"), (0, "1/5")])
def test_the_two_point_bound_of_a_pair_has_a_closed_form(epsilon: object, delta: object) -> None:
    truth = (1 - float(Fraction(delta))) / (1 + math.exp(float(Fraction(epsilon))))
    found = ApproximateLoss(epsilon, delta).tradeoff().minimax_error()
    assert found.lower <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= found.upper
    assert found.width < 1e-3
    assert GaussianLoss("1/2").tradeoff().minimax_error().contains(0.15865525393145705)  # Phi(-1)


def test_merged_outcomes_have_the_larger_tail() -> None:
    """Randomised response merges `no` with part of `yes`; a Gaussian is read off its curve; both by hand."""
    p, grown = math.e / (1 + math.e), math.exp(0.3)
    share = (p - grown * (1 - p)) / (grown * p - (1 - p))
    found = PureLoss(1).tradeoff(tolerance=1e-6).loss_above("0.3")
    assert found.lower <= p + share * (1 - p) + 1e-9
    assert found.upper >= p + share * (1 - p) - 1e-9
    assert found.width < 1e-3
    assert PureLoss(1).tradeoff().loss_above(1).upper == 0
    assert ApproximateLoss(1, "1/10").tradeoff().loss_above(700).contains(0.1)
    for epsilon in (0.2, 1.0, 2.5):
        loss = GaussianLoss(1)
        found = loss.tradeoff().loss_above(epsilon)
        losses = np.linspace(-3, epsilon, 400, endpoint=False)
        deltas = [loss.delta(e).upper if e >= 0 else 1 - math.exp(e) * (1 - loss.delta(-e).upper) for e in losses]
        least = min(delta / -math.expm1(e - epsilon) for e, delta in zip(losses, deltas, strict=True))
        assert found.lower <= least * (1 + 1e-9)
        assert least * (1 - 1e-3) <= found.upper
        assert max(loss.delta(epsilon).lower, loss.variable().above(epsilon).lower) <= found.upper

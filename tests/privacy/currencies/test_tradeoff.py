"""Bounds on attacks: against closed forms, against every test of a finite pair, and against quadrature."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from deniable.errors import InvalidParameterError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    Interval,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Stated,
    of_count,
)
from deniable.privacy.currencies.gaussian_dp import mu_squared_of_pure
from deniable.privacy.currencies.tradeoff import TradeOff

LEVELS = np.concatenate([np.logspace(-8, -1, 15), np.linspace(0.12, 1, 12), [0.0]])


def hits_of_pair(p: np.ndarray, q: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The largest P(E) over randomised tests with Q(E) = level: all likelihood-ratio tests, joined by chords."""
    order = np.argsort(-np.log(p) + np.log(q), kind="stable")
    hits, alarms = np.append(0, np.cumsum(p[order])), np.append(0, np.cumsum(q[order]))
    return np.asarray(np.interp(levels, alarms, hits))


def check(loss: PrivacyLoss, truth: np.ndarray, levels: np.ndarray = LEVELS, *, within: float = 0.012) -> None:
    curve = TradeOff(loss)
    hits, misses = curve.true_positive_rates(levels), curve.false_negative_rates(levels)
    assert np.all(hits.lower <= truth * (1 + 1e-10) + 1e-13)
    assert np.all(truth <= hits.upper * (1 + 1e-10) + 1e-13)
    assert np.all(misses.lower <= 1 - truth + 1e-13)
    assert np.all(1 - truth <= misses.upper + 1e-12)
    assert np.all(hits.upper - hits.lower <= within * hits.upper + 3e-13)


@given(st.lists(st.sampled_from(["1/10", "1/2", "1", "2"]), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None)
def test_randomized_responses_have_the_curve_of_their_best_tests(limits: list[str]) -> None:
    """All 2^n outcomes are enumerated."""
    loss = sum(PureLoss(limit) for limit in limits)
    assert isinstance(loss, PrivacyLoss)
    kept = [1 / (1 + math.exp(-Fraction(limit))) for limit in limits]
    outcomes = list(itertools.product((0, 1), repeat=len(limits)))
    p = np.array([math.prod(k if bit else 1 - k for k, bit in zip(kept, bits, strict=True)) for bits in outcomes])
    q = np.array([math.prod(1 - k if bit else k for k, bit in zip(kept, bits, strict=True)) for bits in outcomes])
    check(loss, hits_of_pair(p, q, LEVELS))


@pytest.mark.parametrize(("scale", "rows"), [("1", 1), ("3/2", 4), ("10", 3)])
def test_discrete_laplace_noise_has_the_curve_of_its_best_tests(scale: str, rows: int) -> None:
    reach = of_count(rows=rows, groups=1, relation=AddRemove)
    places = np.arange(-400, 401)
    p, q = (np.exp(-np.abs(places - move) / float(Fraction(scale))) for move in (rows, 0))
    check(DiscreteLaplaceLoss(scale, reach), hits_of_pair(p / p.sum(), q / q.sum(), LEVELS), within=1e-9)


def test_discrete_gaussian_noise_has_the_curve_of_its_best_tests() -> None:
    reach = of_count(rows=2, groups=1, relation=AddRemove)
    places = np.arange(-60, 62)
    p, q = (np.exp(-((places - move) ** 2) / 8) for move in (2, 0))
    check(DiscreteGaussianLoss(4, reach), hits_of_pair(p / p.sum(), q / q.sum(), LEVELS))


@pytest.mark.parametrize("noise", ["1/2", "1", "3"])
def test_laplace_noise_has_its_known_curve(noise: str) -> None:
    """Dong, Roth, Su (2019): f is the distribution function of Laplace noise at its quantile of 1 - a, moved by e."""
    limit = 1 / float(Fraction(noise))
    place = np.where(
        LEVELS < 0.5, -np.log(2 * np.maximum(LEVELS, 1e-300)), np.log(np.maximum(2 * (1 - LEVELS), 1e-300))
    )
    moved = place - limit
    misses = np.where(moved < 0, np.exp(np.minimum(moved, 0)) / 2, 1 - np.exp(-np.maximum(moved, 0)) / 2)
    check(LaplaceLoss(noise), np.where(LEVELS == 0, 0.0, 1 - misses))


@pytest.mark.parametrize("noise", ["1/3", "1", "5"])
def test_gaussian_noise_by_formula_and_by_its_deltas(noise: str) -> None:
    """The closed form against 30 digits; and the general bounds, which see deltas alone, around it."""
    loss = GaussianLoss(noise)
    closed, general = TradeOff(loss), TradeOff(loss)
    general._mu_squared = None
    with mpmath.workdps(40):
        mu = mpmath.mpf(1) / mpmath.mpf(float(loss.noise_multiplier))
        truth = [
            mpmath.ncdf(mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(a) - 1) + 1 / mpmath.mpf(1) * mu)
            for a in LEVELS
            if 0 < a < 1
        ]
    levels = LEVELS[(LEVELS > 0) & (LEVELS < 1)]
    sharp, bounds = closed.true_positive_rates(levels), general.true_positive_rates(levels)
    np.testing.assert_allclose(sharp.lower, [float(value) for value in truth], rtol=1e-14)
    np.testing.assert_allclose(sharp.upper, sharp.lower, rtol=1e-15)
    assert np.all(bounds.lower <= sharp.lower)
    assert np.all(sharp.upper <= bounds.upper)
    assert np.all(bounds.upper - bounds.lower <= 0.012 * bounds.upper)
    misses = closed.false_negative_rates(levels)
    np.testing.assert_allclose(misses.lower, 1 - sharp.lower, atol=1e-15)


def test_published_values() -> None:
    """golden.md G19; accounting.md: sigma = sqrt 3 three times is mu = 1, hits 0.38914 at 0.1 false alarms."""
    assert TradeOff(ApproximateLoss(1, "0.001")).false_negative_rate(0.05).lower <= 0.86308590857704773823
    exact = max(1 - 0.001 - math.e * 0.05, math.exp(-1) * (1 - 0.001 - 0.05))
    assert exact == pytest.approx(0.86308590857704773823, rel=1e-12)
    together = TradeOff(GaussianLoss(Fraction("1.7320508075688772935")) * 3)
    assert together.true_positive_rate(0.1).upper == pytest.approx(0.38914, abs=5e-6)


def sampled_normal_tests(sigma: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """(false alarms, hits) of half-line tests of the sampled law against the plain one, and of the reverse."""
    from scipy.special import ndtr

    place = np.linspace(-12 * sigma, 12 * sigma, 4001)
    plain = ndtr(-place / sigma)
    mixed = (1 - rate) * plain + rate * ndtr((1 - place) / sigma)
    return np.concatenate([plain, 1 - mixed]), np.concatenate([mixed, 1 - plain])


@pytest.mark.parametrize(("sigma", "rate"), [(1.0, "1/100"), (0.5, "1/4"), (2.0, "1/2")])
def test_sampled_noise_bounds_both_directions(sigma: float, rate: str) -> None:
    """No test of either direction beats the bound, and the least concave curve above them reaches it."""
    alarms, hits = sampled_normal_tests(sigma, float(Fraction(rate)))
    levels = np.array([1e-6, 1e-3, 0.01, 0.1, 0.3, 0.6, 0.9])
    curve = TradeOff(GaussianLoss(Fraction(sigma)).poisson_sampled(rate=rate))
    found = curve.true_positive_rates(levels)
    sampled = (alarms > 1e-9) & (alarms < 1)
    every = curve.true_positive_rates(alarms[sampled])
    assert np.all(hits[sampled] <= every.upper * (1 + 1e-9))
    for level, least in zip(levels, found.lower, strict=True):
        slopes = np.linspace(0, 1, 4001)[1:] ** -3 - 1  # lines hits <= d + x alarms, by their exact d
        best = min(float(np.max(hits - x * alarms)) + x * level for x in slopes[::20])
        assert least <= best * (1 + 1e-6)


def test_one_direction_alone_would_be_beaten() -> None:
    """The twin: without the mirrored lines the tests of the other direction break the bound."""
    alarms, hits = sampled_normal_tests(0.5, 0.25)
    half = alarms.size // 2
    removed, added = (alarms[:half], hits[:half]), (alarms[half:], hits[half:])
    order = np.argsort(removed[0])
    bound = np.interp(added[0], removed[0][order], removed[1][order])
    assert np.any(added[1] > bound + 1e-3)


def test_compositions_are_bounded_by_their_deltas() -> None:
    """A sum of unlike losses: hits <= d + e^epsilon alarms for its own certified deltas, at many epsilons."""
    loss = LaplaceLoss(2) * 3 + PureLoss("1/5") + GaussianLoss(2)
    levels = np.array([1e-4, 1e-2, 0.2, 0.7])
    found = TradeOff(loss, tolerance=0.02).true_positive_rates(levels)
    for epsilon in ("0", "1/2", "1", "2", "3"):
        delta, grown = loss.delta(epsilon), math.exp(Fraction(epsilon))
        assert np.all(found.lower <= delta.upper + grown * levels + 1e-12)
        assert np.all(found.lower <= (grown - 1 + delta.upper + levels) / grown + 1e-12)
    assert np.all(found.upper - found.lower <= 0.03 * found.upper)


def test_a_loss_known_by_rho_keeps_the_safe_side() -> None:
    """Gaussian noise is one of the 1/2-zCDP mechanisms, so its attack is within the bound."""
    bound, attained = (
        TradeOff(loss).true_positive_rates(LEVELS) for loss in (ConcentratedLoss("1/2"), GaussianLoss(1))
    )
    assert np.all(attained.lower <= bound.upper)
    assert np.all(bound.lower <= attained.upper * (1 + 1e-12))


def test_nothing_and_everything() -> None:
    nothing = TradeOff(PureLoss(1) * 0)
    np.testing.assert_allclose(nothing.true_positive_rates(LEVELS).upper, LEVELS, atol=1e-15)
    assert nothing.advantage() == Interval(0.0, 0.0)
    failing = TradeOff(ApproximateLoss(0, "1/2") * 2)
    assert failing.true_positive_rate(0.0).lower == pytest.approx(0.75)
    assert failing.true_positive_rate(0.0).upper == pytest.approx(0.75)
    assert failing.posterior("1/100", failure="1/10") == Interval(1.0, 1.0)


def test_a_stated_pair_keeps_the_curve_of_its_loss() -> None:
    assert TradeOff(Stated(GaussianLoss(1), 2, "1/2")).true_positive_rate(0.1) == TradeOff(
        GaussianLoss(1)
    ).true_positive_rate(0.1)


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
    from deniable.privacy import largest_mu_squared

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
    curve._mu_squared = None
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


def test_the_width_asked_for_is_reached() -> None:
    levels = np.logspace(-5, -0.01, 40)
    for tolerance in (0.1, 0.001):
        found = TradeOff(LaplaceLoss(1) * 2, tolerance=tolerance).true_positive_rates(levels)
        assert np.max((found.upper - found.lower) / found.upper) <= 1.3 * tolerance

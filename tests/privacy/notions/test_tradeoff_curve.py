"""Bounds on error rates: against closed forms, against every test of a finite pair, and against quadrature."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.privacy import (
    AddRemove,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    of_count,
)
from deniable.privacy.notions.tradeoff import TradeOff
from deniable.privacy.notions.tradeoff_curve import TradeOffCurve

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


def sampled_normal_tests(sigma: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """(false alarms, hits) of half-line tests of the sampled law against the plain one, and of the reverse."""
    from scipy.special import ndtr

    place = np.linspace(-12 * sigma, 12 * sigma, 4001)
    plain = ndtr(-place / sigma)
    mixed = (1 - rate) * plain + rate * ndtr((1 - place) / sigma)
    return np.concatenate([plain, 1 - mixed]), np.concatenate([mixed, 1 - plain])


@given(st.lists(st.sampled_from(["1/10", "1/2", "1", "2"]), min_size=1, max_size=4))
@settings(max_examples=15)
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
    general._curve.mu_squared = None
    with mpmath.workdps(40):
        mu = mpmath.mpf(1) / mpmath.mpf(float(loss.statement.noise_multiplier))
        truth = [
            mpmath.ncdf(mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(a) - 1) + 1 / mpmath.mpf(1) * mu)
            for a in LEVELS
            if 0 < a < 1
        ]
    levels = LEVELS[(LEVELS > 0) & (LEVELS < 1)]
    sharp, bounds = closed.true_positive_rates(levels), general.true_positive_rates(levels)
    np.testing.assert_allclose(sharp.lower, [float(value) for value in truth], rtol=1e-14)
    np.testing.assert_allclose(sharp.upper, sharp.lower, rtol=3e-15)
    assert np.all(bounds.lower <= sharp.lower)
    assert np.all(sharp.upper <= bounds.upper)
    assert np.all(bounds.upper - bounds.lower <= 0.012 * bounds.upper)
    misses = closed.false_negative_rates(levels)
    np.testing.assert_allclose(misses.lower, 1 - sharp.lower, atol=1e-15)


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


def test_a_stated_pair_keeps_the_curve_of_its_loss() -> None:
    assert TradeOff(GaussianLoss(1).stated(epsilon=2, delta="1/2")).true_positive_rate(0.1) == TradeOff(
        GaussianLoss(1)
    ).true_positive_rate(0.1)


def test_the_width_asked_for_is_reached() -> None:
    levels = np.logspace(-5, -0.01, 40)
    for tolerance in (0.1, 0.001):
        found = TradeOff(LaplaceLoss(1) * 2, tolerance=tolerance).true_positive_rates(levels)
        assert np.max((found.upper - found.lower) / found.upper) <= 1.3 * tolerance


def test_a_wrapped_gaussian_keeps_its_closed_form() -> None:
    assert GaussianLoss(2).stated(epsilon=3, delta="1/2").under(AddRemove).statement.normal_mu_squared == Fraction(1, 4)
    assert (GaussianLoss(2) + GaussianLoss(1)).statement.normal_mu_squared == Fraction(5, 4)
    assert LaplaceLoss(1).statement.normal_mu_squared is None


def test_corners_below_the_curve_of_laplace_noise_are_near_it() -> None:
    """Its misses are 1 - e a for a up to 1/(2 e), and 1/(4 e a) from there to 1/2."""
    corners = TradeOffCurve(LaplaceLoss(1).statement, 0.01).corners_below(np.array([0.01, 0.2, 0.3]), Fraction(1, 1000))
    assert len(corners) > 2
    for alarms, missed in corners:
        truth = 1 - math.e * alarms if alarms < 1 / (2 * math.e) else 1 / (4 * math.e * alarms)
        assert truth * 0.98 <= missed <= truth * (1 + 1e-12)
        assert Fraction(1, 1000) <= alarms <= missed

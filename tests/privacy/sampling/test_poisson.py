"""Poisson sampling: published values, quadrature of both directions, and what is refused."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
    of_count,
)
from deniable.privacy.pld.accountant import Part, composed_delta
from deniable.privacy.pld.law import ReversedLaw
from deniable.privacy.pld.laws import NormalLaw
from deniable.privacy.sampling.poisson import PoissonSampledLoss, SampledLaw


@pytest.mark.parametrize(
    ("rate", "noise", "steps", "delta", "truth"),
    [
        ("0.01", "1", 1000, "1e-5", 1.82824),  # the tightest agreeing answers of four accountants
        ("0.01", "1", 10_000, "1e-5", 6.18771),
        ("0.01", "1", 100_000, "1e-5", 25.5731),
        ("256/60000", "1.1", 14_062, "1e-5", 2.38160),
        ("0.1", "3", 512, "1e-6", 3.77),  # a doctest of JAX Privacy, two decimals
    ],
)
def test_dp_sgd_has_the_published_epsilon(rate: str, noise: str, steps: int, delta: str, truth: float) -> None:
    run = GaussianLoss(noise).poisson_sampled(rate=rate) * steps
    found = run.epsilon(delta)
    assert found.width <= 1e-3 * found.upper
    digits = 5e-3 if truth == 3.77 else 1e-4
    assert found.lower - digits <= truth <= found.upper + digits


@pytest.mark.parametrize(
    ("rate", "noise", "steps", "delta"),
    [
        ("0.00646", "3.401", 3, "2.258e-13"),  # at the saddle point of these, a far tail holds most of the tilted mass
        ("0.0014", "0.9549", 16, "4.7e-9"),
        ("0.00855", "1.0975", 38, "1.72598e-10"),
        ("0.44395", "0.6443", 2, "1.05e-11"),
    ],
)
def test_few_steps_with_heavy_tails_are_narrow_and_no_less_than_one(
    rate: str, noise: str, steps: int, delta: str
) -> None:
    step = GaussianLoss(noise).poisson_sampled(rate=rate)
    found = (step * steps).epsilon(delta)
    assert found.width <= 1e-3 * max(1, found.upper)
    assert found.upper >= step.epsilon(delta).lower


def sampled_curve(epsilon: mpmath.mpf, rate: float, sigma: float, *, added: bool) -> mpmath.mpf:
    """delta of one sampled Gaussian step by the position x at which the loss is epsilon."""
    q, s = mpmath.mpf(rate), mpmath.mpf(sigma)
    if added:  # Q against the mixture; the loss falls in x
        if mpmath.exp(-epsilon) <= 1 - q:
            return mpmath.mpf(0)
        x = mpmath.mpf(1) / 2 + s**2 * mpmath.log((mpmath.exp(-epsilon) - 1 + q) / q)
        mixture = (1 - q) * mpmath.ncdf(x / s) + q * mpmath.ncdf((x - 1) / s)
        return mpmath.ncdf(x / s) - mpmath.exp(epsilon) * mixture
    if mpmath.exp(epsilon) <= 1 - q:
        return 1 - mpmath.exp(epsilon)
    x = mpmath.mpf(1) / 2 + s**2 * mpmath.log((mpmath.exp(epsilon) - 1 + q) / q)
    mixture = (1 - q) * mpmath.ncdf(-x / s) + q * mpmath.ncdf((1 - x) / s)
    return mixture - mpmath.exp(epsilon) * mpmath.ncdf(-x / s)


@given(st.floats(0.01, 0.99), st.floats(0.4, 5.0), st.floats(0.0, 3.0))
@settings(max_examples=60, deadline=None)
def test_one_step_holds_both_directions_exactly(rate: float, sigma: float, epsilon: float) -> None:
    q, s = Fraction(repr(rate)), Fraction(repr(sigma))
    found = GaussianLoss(s).poisson_sampled(rate=q).delta(epsilon)
    with mpmath.workdps(40):
        exact = mpmath.mpf(repr(epsilon))
        truth = max(sampled_curve(exact, repr(rate), repr(sigma), added=way) for way in (False, True))
    assert found.lower * (1 - 1e-12) <= truth <= found.upper * (1 + 1e-12)


@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize(("rate", "sigma"), [(0.1, 1.0), (0.5, 0.7), (0.9, 2.0)])
def test_two_steps_match_quadrature_in_each_direction(rate: float, sigma: float, added: bool) -> None:
    """delta of two steps: the curve of one, averaged over the loss of the other."""
    epsilon = mpmath.mpf("0.6")
    with mpmath.workdps(20):
        q, s = mpmath.mpf(rate), mpmath.mpf(sigma)
        loss = lambda x: mpmath.log(1 - q + q * mpmath.exp((2 * x - 1) / (2 * s * s)))  # noqa: E731
        plain = lambda x, m: mpmath.npdf(x, m, s)  # noqa: E731

        def inner(x: mpmath.mpf) -> mpmath.mpf:
            if added:
                return plain(x, 0) * sampled_curve(epsilon + loss(x), rate, sigma, added=True)
            weight = (1 - q) * plain(x, 0) + q * plain(x, 1)
            return weight * sampled_curve(epsilon - loss(x), rate, sigma, added=False)

        truth = mpmath.quad(inner, mpmath.linspace(-9 * s, 1 + 9 * s, 25))
    base = NormalLaw(1 / sigma)
    law = ReversedLaw(SampledLaw(base, Fraction(rate))) if added else SampledLaw(base, Fraction(rate))
    found = composed_delta([[Part(law, 2)]], Fraction(3, 5), 1e-5)
    assert found.lower * (1 - 1e-9) <= truth <= found.upper * (1 + 1e-9)


def test_swapping_the_directions_is_seen() -> None:
    """A twin that keeps one direction: at large rate and small epsilon they differ by far more than the width."""
    base = NormalLaw(1.0)
    removed = SampledLaw(base, Fraction(1, 10))
    one = composed_delta([[Part(removed, 20)]], Fraction(2), 1e-4)
    other = composed_delta([[Part(ReversedLaw(removed), 20)]], Fraction(2), 1e-4)
    assert other.upper < 0.7 * one.lower
    both = (GaussianLoss(1).poisson_sampled(rate="0.1") * 20).delta(2, tolerance=1e-4)
    assert both.lower <= one.upper
    assert both.upper >= one.lower


def test_pure_losses_have_the_amplified_epsilon() -> None:
    """golden.md G37: ln(1 + 0.01 (e - 1)); and three times Laplace at delta = 0, 3 ln(1 + 0.2 (e^2 - 1))."""
    assert PureLoss(1).poisson_sampled(rate="0.01").epsilon(0).upper == pytest.approx(0.017036863236176549786, rel=1e-9)
    found = (LaplaceLoss("0.5").poisson_sampled(rate="0.2") * 3).epsilon(0)
    assert found.upper == pytest.approx(3 * math.log(1 + 0.2 * math.expm1(2)), rel=1e-9)
    assert found.width < 1e-9


def test_sampling_a_failure_scales_it() -> None:
    """(epsilon, delta) becomes (ln(1 + q (e^epsilon - 1)), q delta): Balle, Barthe, Gaboardi (2018)."""
    loss = ApproximateLoss(1, "0.01").poisson_sampled(rate="0.1")
    limit = math.log(1 + 0.1 * math.expm1(1))
    assert loss.delta(limit + 1e-9).upper == pytest.approx(0.001, rel=1e-6)
    assert (loss * 5).delta(5 * limit + 1e-9).contains(1 - 0.999**5)


reach = of_count(rows=1, groups=1, relation=AddRemove)


@pytest.mark.parametrize(
    "base",
    [GaussianLoss(2), LaplaceLoss(2), PureLoss("0.5"), DiscreteGaussianLoss(3, reach), DiscreteLaplaceLoss(2, reach)],
)
def test_sampling_costs_less_and_composes(base: PrivacyLoss) -> None:
    sampled = base.poisson_sampled(rate="0.1")
    assert sampled.relations == {AddRemove}
    assert (sampled * 3).delta("0.1").upper < (base * 3).delta("0.1").lower
    single = sampled.delta("0.04").upper
    assert (sampled * 2).delta("0.04").upper > single > sampled.delta("0.05").upper
    assert PrivacyLoss.from_json(sampled.to_json()) == sampled


def test_a_rate_of_one_is_no_sampling_and_rates_multiply() -> None:
    base = GaussianLoss(1)
    assert base.poisson_sampled(rate=1) is base
    assert base.poisson_sampled(rate="0.5").poisson_sampled(rate="0.2") == base.poisson_sampled(rate="0.1")
    assert repr(base.poisson_sampled(rate="0.1")) == "GaussianLoss(noise_multiplier='1').poisson_sampled(rate='1/10')"


def test_unproved_uses_are_refused() -> None:
    replace = of_count(rows=1, groups=1, relation=Replace)
    with pytest.raises(UnprovedError, match="add/remove"):
        DiscreteGaussianLoss(3, replace).poisson_sampled(rate="0.1")
    with pytest.raises(UnprovedError, match="known by a bound alone"):
        ConcentratedLoss("0.1").poisson_sampled(rate="0.1")
    with pytest.raises(UnprovedError, match="known by a bound alone"):
        (ConcentratedLoss("0.1") * 2).poisson_sampled(rate="0.1")
    for rate in (0, -1, "3/2", 1.5):
        with pytest.raises(InvalidParameterError, match="rate must be in"):
            GaussianLoss(1).poisson_sampled(rate=rate)
    with pytest.raises(InvalidParameterError, match="base must be"):
        PoissonSampledLoss("x", "0.1")  # type: ignore[arg-type]


def test_the_sampled_law_adds_to_one_and_knows_its_floor() -> None:
    law = SampledLaw(NormalLaw(1.0), Fraction(1, 4))
    places = np.linspace(-0.5, 3.0, 50)
    above, below = law.above(places), law.below(places)
    assert np.allclose(above.p + below.p, 1, rtol=1e-13)
    assert np.allclose(above.q + below.q, 1, rtol=1e-13)
    assert law.lowest == pytest.approx(math.log(0.75))
    assert above.p[0] == 1.0


@pytest.mark.parametrize(("limit", "failed", "spacing"), [("1", "0", True), ("1", "1/10", False), ("0", "1/10", True)])
def test_spacing_counts_the_loss_of_what_only_the_other_law_has(limit: str, failed: str, spacing: bool) -> None:
    """Q's failures, which have loss -inf before sampling, have ln(1 - rate) after it: a loss beside the base's own."""
    base = ApproximateLoss(limit, failed).laws().upper[0]
    law = SampledLaw(base, Fraction(1, 2))
    assert (law.spacing is not None) == spacing
    jumps = np.linspace(law.lowest - 0.01, law.highest + 0.01, 20_000)
    places = jumps[1:][np.abs(np.diff(law.below(jumps).q)) > 1e-9]
    if law.spacing is not None:
        steps = (places - law.anchor) / law.spacing
        assert steps == pytest.approx(np.rint(steps), abs=1e-3)
    else:
        assert places.size == 3

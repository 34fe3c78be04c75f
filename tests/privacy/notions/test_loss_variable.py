"""The privacy loss as a random variable against closed forms and sums over all outcomes."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.noise import simulation
from deniable.noise.bits import DeterministicBits
from deniable.numbers.interval import Interval
from deniable.privacy import AddRemove, ApproximateLoss, FiniteLoss, GaussianLoss, LaplaceLoss, PureLoss
from deniable.privacy.notions.conversion import mean_concentrated_of_concentrated
from deniable.privacy.notions.loss_variable import LossVariable, outcome_loss

P, Q = ("1/2", "3/10", "1/5"), ("1/5", "1/2", "3/10")
FINITE = FiniteLoss(P, Q, relation=AddRemove)
MASSES, OTHERS = ([mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator for x in law] for law in (P, Q))
LOSSES = [mpmath.log(p / q) for p, q in zip(MASSES, OTHERS, strict=True)]


def expected(function: object) -> mpmath.mpf:
    return mpmath.fsum(mass * function(loss) for mass, loss in zip(MASSES, LOSSES, strict=True))  # type: ignore[operator]


def holds(found: Interval, truth: float | mpmath.mpf, *, relative: float) -> None:
    assert found.lower - 1e-15 <= float(truth) <= found.upper + 1e-15
    assert found.width <= relative * abs(float(truth)) + 1e-12


def test_the_loss_of_an_outcome_is_the_logarithm_of_its_odds() -> None:
    holds(outcome_loss("3/4", "1/4"), math.log(3), relative=1e-14)
    assert outcome_loss("1/4", 0) == Interval(math.inf, math.inf)
    assert outcome_loss(0, "1/4") == Interval(-math.inf, -math.inf)
    for p, q in ((0, 0), (-1, 1), (1, "x")):
        with pytest.raises(InvalidParameterError):
            outcome_loss(p, q)


@pytest.mark.parametrize("noise", [0.5, 1.0, 4.0])
def test_the_loss_of_gaussian_noise_is_normal(noise: float) -> None:
    mu, variable = 1 / noise, GaussianLoss(noise).variable()
    holds(variable.mean(), mu**2 / 2, relative=1e-12)
    holds(variable.variance(), mu**2, relative=2e-3)
    holds(variable.moment(3), mu**6 / 8 + 1.5 * mu**4, relative=1e-2)
    assert variable.sub_gaussian().contains(mu)
    for loss in (-1.0, 0.0, 0.3, 2.0):
        holds(variable.above(loss), mpmath.ncdf((mu**2 / 2 - loss) / mu), relative=1e-11)
    for s in ("-3", "-1/2", "1/2", "2"):
        power = float(Fraction(s))
        holds(variable.moment_generating(s), math.exp(power * (power + 1) * mu**2 / 2), relative=1e-4)
    found = variable.quantiles([0.01, 0.5, 0.99])
    assert found == pytest.approx([mu**2 / 2 + mu * z for z in (-2.3263478740408408, 0, 2.3263478740408408)], abs=1e-8)


def test_moments_and_tails_of_a_finite_pair_are_sums_over_its_outcomes() -> None:
    variable = LossVariable(FINITE)
    holds(variable.mean(), expected(lambda x: x), relative=1e-5)
    for power in (1, 2, 3):
        holds(variable.moment(power), expected(lambda x, k=power: x**k), relative=2e-2)
    for s in ("-5/2", "-1", "-1/3", "1", "3"):
        exponent = mpmath.mpf(Fraction(s).numerator) / Fraction(s).denominator
        holds(variable.moment_generating(s), expected(lambda x, e=exponent: mpmath.exp(e * x)), relative=1e-5)
    for level in (-0.45, 0.0, 0.9, 1.0):
        holds(variable.above(level), sum(m for m, x in zip(MASSES, LOSSES, strict=True) if x > level), relative=1e-12)
    assert variable.quantiles([0.1, 0.4, 0.9]) == pytest.approx(sorted(float(x) for x in LOSSES), abs=1e-8)
    reverse = LossVariable(FINITE, added=True)
    assert reverse.above("0.45").contains(0.5)
    tau = variable.sub_gaussian()
    centre = expected(lambda x: x)
    for s in (-3.0, -0.3, 0.2, 5.0):
        assert expected(lambda x, e=s: mpmath.exp(e * (x - centre))) <= math.exp(s**2 * tau.upper**2 / 2)


def test_an_infinite_loss_counts_in_the_tail_and_makes_moments_infinite() -> None:
    variable = ApproximateLoss(epsilon=1, delta="1/10").variable()
    assert variable.above(50).contains(0.1)
    assert variable.moment(2).lower == variable.variance().upper == variable.sub_gaussian().lower == math.inf
    assert variable.quantiles([0.95]) == [math.inf]


@given(st.fractions(Fraction(1, 20), 3), st.fractions(0, 4))
def test_the_tail_is_sufficient_and_not_necessary(mu: Fraction, epsilon: Fraction) -> None:
    """The lemma of good and bad outcomes: where P(L > epsilon) <= delta both ways, (epsilon, delta)-DP holds."""
    loss = GaussianLoss(1 / mu)
    tail = loss.variable().above(epsilon)
    assert loss.delta(epsilon).upper <= tail.upper
    if 1e-290 < tail.upper < 0.99:
        assert loss.variable().suffices(epsilon, min(tail.upper * 1.001, 0.999))
        assert not loss.variable().suffices(epsilon, tail.lower * 0.99)


def test_one_direction_is_not_enough_to_verify() -> None:
    lopsided = FiniteLoss(("9/10", "1/10", 0), ("9/10", 0, "1/10"), relation=AddRemove)
    assert LossVariable(lopsided).above(1).contains(0.1)
    one_sided = FiniteLoss(("1", "0"), ("9/10", "1/10"), relation=AddRemove)
    assert LossVariable(one_sided).above(1).upper == 0
    assert not LossVariable(one_sided).suffices(1, "0.01")


def test_uniform_numbers_give_draws_of_the_loss() -> None:
    """3 million draws have mean and deviation within 5 standard errors: fails once in 10^6 seeds."""
    shares = simulation.uniforms((20_000,), bits=DeterministicBits(1))
    drawn = LaplaceLoss(1).variable().quantiles(shares)
    variable = LaplaceLoss(1).variable()
    deviation = math.sqrt(variable.variance().upper)
    assert abs(drawn.mean() - variable.mean().upper) < 5 * deviation / math.sqrt(shares.size)
    assert np.isclose((drawn > 0.5).mean(), variable.above("0.5").upper, atol=0.02)
    with pytest.raises(InvalidParameterError, match=r"in \(0, 1\)"):
        variable.quantiles([0.0])


def test_a_composition_is_referred_to_its_parts() -> None:
    with pytest.raises(UnprovedError, match="sum of the losses of its parts"):
        (GaussianLoss(1) + LaplaceLoss(1)).variable()


@pytest.mark.parametrize("rho", ["1e-6", "0.02", "1/2", "3", "40"])
def test_concentrated_losses_are_sub_gaussian_about_their_mean(rho: str) -> None:
    """Two rho-zCDP pairs: Gaussian noise with mu^2 = 2 rho, and randomised response with epsilon^2/2 = rho."""
    mean, spread = mean_concentrated_of_concentrated(rho)
    size = float(Fraction(rho))
    assert mean >= size
    assert spread >= math.sqrt(2 * size)
    if size <= 0.02:
        assert spread <= 1.5 * math.sqrt(2 * size)
    variable = PureLoss(math.sqrt(2 * size) * (1 - 1e-12)).variable()
    centre = variable.mean().lower
    for s in (-40, -2, "-1/2", "1/10", 1, 7):
        power = float(Fraction(s))
        logarithm = variable.moment_generating(s).lower
        if 0 < logarithm < math.inf:
            assert math.log(logarithm) - power * centre <= power**2 * spread**2 / 2 + 1e-9
    assert mean_concentrated_of_concentrated(0) == (0, 0)

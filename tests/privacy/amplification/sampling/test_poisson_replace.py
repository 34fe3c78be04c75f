"""Poisson sampling under replace: errata, enumeration, quadrature in the plane, and what is refused."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.arrays import Floats
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
    Sensitivity,
    of_count,
)
from deniable.privacy.amplification.sampling.poisson_replace import (
    ExchangedNormalLaw,
    PoissonReplacedStatement,
    exchanged_laws,
    poisson_replaced,
)
from deniable.privacy.pld.accountant import RepeatedPair, composed_delta
from deniable.privacy.pld.law import LossLaw, Tails
from deniable.privacy.pld.laws import LaplaceLaw, NormalLaw
from deniable.privacy.pld.single import read

added = of_count(rows=1, groups=1, relation=AddRemove)


def normal_pair(q: float, mu: float, epsilon: float) -> float:
    """delta of the one-dimensional pair by quadrature of the positive part."""

    def density(x: float, sign: int) -> float:
        return float((1 - q) * norm.pdf(x) + q * norm.pdf(x - sign * mu))

    edge = brentq(lambda x: math.log(density(x, 1) / density(x, -1)) - epsilon, 0, 12, xtol=1e-14)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    found = 0.0
    for left, right in itertools.pairwise((edge, edge + 3, edge + 8, edge + 20)):
        x, half = (left + right) / 2 + (right - left) / 2 * nodes, (right - left) / 2
        positive = (
            (1 - q) * norm.pdf(x)
            + q * norm.pdf(x - mu)
            - math.exp(epsilon) * ((1 - q) * norm.pdf(x) + q * norm.pdf(x + mu))
        )
        found += half * float(weights @ positive)
    return found


@pytest.mark.parametrize(
    ("q", "mu", "epsilon"), [(0.1, 1.0, 0.5), (0.01, 2.0, 1.0), (0.5, 0.7, 0.1), (0.9, 1.5, 2.0), (0.3, 3.0, 4.0)]
)
def test_gaussian_noise_matches_quadrature(q: float, mu: float, epsilon: float) -> None:
    loss = GaussianLoss(1 / Fraction(repr(mu))).poisson_sampled(rate=q, relation=Replace)
    assert loss.delta(epsilon).upper == pytest.approx(normal_pair(q, mu, epsilon), rel=1e-9)
    law = ExchangedNormalLaw(mu, Fraction(repr(q)))
    found = composed_delta([[RepeatedPair(law, 1)]], Fraction(repr(epsilon)), 1e-6)
    exact = loss.delta(epsilon)
    assert found.lower <= exact.upper
    assert found.upper >= exact.lower


@given(st.floats(0.01, 0.99), st.floats(0.05, 6.0))
def test_the_tails_of_the_normal_law_are_within_their_stated_error(q: float, mu: float) -> None:
    law = ExchangedNormalLaw(mu, Fraction(repr(q)))
    losses = np.array([-8.0, -1.0, -1e-3, 0.0, 1e-9, 0.5, 3.0, 12.0])
    above, below = law.above(losses), law.below(losses)
    with mpmath.workdps(50):
        for i, loss in enumerate(losses):
            bounds = []
            for moved in (loss - law.slack(12.0), loss + law.slack(12.0)):
                l_, m, r = mpmath.mpf(float(moved)), mpmath.mpf(mu), mpmath.mpf(q)
                x = (l_ / 2 + mpmath.asinh((1 - r) / r * mpmath.exp(m**2 / 2) * mpmath.sinh(l_ / 2))) / m
                bounds.append(
                    [(1 - r) * mpmath.ncdf(-s * x) + r * mpmath.ncdf(s * (m * w - x)) for s in (1, -1) for w in (1, -1)]
                )
            got = (above.p[i], above.q[i], below.p[i], below.q[i])
            for value, *ends, error in zip(got, *bounds, [above.error[i]] * 2 + [below.error[i]] * 2, strict=True):
                assert min(ends) * (1 - error) - 1e-300 <= value <= max(ends) * (1 + error) + 1e-300


def test_no_two_vectors_reveal_more_than_opposite_ones() -> None:
    """delta in the plane by a fine grid, for vectors of many lengths and angles; the opposite ones come close."""
    q, epsilon, mu = 0.2, 0.4, 1.2
    bound = GaussianLoss(1 / Fraction("1.2")).poisson_sampled(rate="0.2", relation=Replace).delta(epsilon)
    axis = np.linspace(-8, 8, 401)
    x, y = np.meshgrid(axis, axis)
    cell = (axis[1] - axis[0]) ** 2 / (2 * math.pi)
    worst = 0.0
    for angle, first, second in itertools.product(np.linspace(0, math.pi, 7), (0.4, 1.0), (0.0, 0.7, 1.0)):
        u, v = (first * mu, 0.0), (second * mu * math.cos(angle), second * mu * math.sin(angle))
        r, p, other = (np.exp(-((x - a) ** 2 + (y - b) ** 2) / 2) for a, b in ((0.0, 0.0), u, v))
        gap = (1 - q) * r + q * p - math.exp(epsilon) * ((1 - q) * r + q * other)
        worst = max(worst, float(np.maximum(gap, 0).sum()) * cell)
    assert worst == pytest.approx(bound.upper, rel=1e-4)
    assert worst <= bound.upper * (1 + 1e-5)


def test_the_claimed_formula_is_below_the_actual_loss() -> None:
    """Erratum E11: sum of values in {-1, 1} with real Laplace noise, q = 0.2: 0.430555, and not 0.295394."""
    loss = LaplaceLoss(1).poisson_sampled(rate="0.2", relation=Replace)
    found = loss.epsilon(0)
    assert found.upper == pytest.approx(0.430555, abs=1e-6)
    assert found.lower == pytest.approx(0.430555, abs=1e-4)
    assert LaplaceLoss(1).poisson_sampled(rate="0.2").epsilon(0).upper == pytest.approx(0.295394, abs=1e-6)
    assert loss.pure_epsilon is not None
    assert float(loss.pure_epsilon) == pytest.approx(0.430555, abs=1e-6)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize(("rate", "shift"), [("0.3", 1), ("0.05", 2), ("1", 1)])
@pytest.mark.parametrize("epsilon", [0.0, 0.25, 1.0])
def test_integer_noise_matches_enumeration(kind: str, rate: str, shift: int, epsilon: float) -> None:
    """The three laws of a noisy integer written out: without the unit, and with either of two opposite values."""
    places = np.arange(-200, 201)
    size = of_count(rows=shift, groups=1, relation=AddRemove)
    loss: PrivacyLoss
    if kind == "laplace":
        loss, weights = DiscreteLaplaceLoss(2, size), np.exp(-np.abs(places) / 2)
    else:
        loss, weights = DiscreteGaussianLoss(4, size), np.exp(-(places.astype(float) ** 2) / 8)
    r = weights / weights.sum()
    q, sampled = float(rate), loss.poisson_sampled(rate=rate, relation=Replace)
    p, other = (1 - q) * r + q * np.roll(r, shift), (1 - q) * r + q * np.roll(r, -shift)
    truth = float(np.maximum(p - math.exp(epsilon) * other, 0).sum())
    found = sampled.delta(epsilon)
    assert found.lower <= truth * (1 + 1e-9) + 1e-15
    assert found.upper >= truth * (1 - 1e-9) - 1e-15
    assert found.width <= 1e-3 * truth + 1e-12
    pairs = (
        np.add.outer(np.log(p[150:251]), np.log(p[150:251])),
        np.add.outer(np.log(other[150:251]), np.log(other[150:251])),
    )
    twice = float((np.exp(pairs[0]) * np.maximum(-np.expm1(epsilon - pairs[0] + pairs[1]), 0)).sum())
    found = (sampled * 2).delta(epsilon, tolerance=0.01)
    assert found.lower <= twice * (1 + 1e-6) + 1e-12
    assert found.upper >= twice * (1 - 1e-6) - 1e-12


class Shy(LossLaw):
    """A law that does not say what kind it is."""

    def __init__(self, base: LossLaw) -> None:
        self.base = base
        self.lowest, self.highest = base.lowest, base.highest

    def above(self, losses: Floats) -> Tails:
        return self.base.above(losses)

    def below(self, losses: Floats) -> Tails:
        return self.base.below(losses)

    def slack(self, reach: float) -> float:
        return self.base.slack(reach)


@pytest.mark.parametrize(("rate", "mu"), [("0.1", 1.0), ("0.01", 2.0), ("0.7", 0.5)])
def test_steps_bound_any_law_closely_from_both_sides(rate: str, mu: float) -> None:
    """The construction for any law, on one whose answer is known: at eight thresholds, and for 30 runs."""
    upper, lower = exchanged_laws(Shy(NormalLaw(mu)), Fraction(rate))
    exact = ExchangedNormalLaw(mu, Fraction(rate))
    at = np.array([-0.5, -0.05, 0.0, 0.01, 0.1, 0.5, 1.0, 2.0])

    def curve(law: LossLaw) -> Floats:
        found = law.above(at)
        return np.asarray(found.p + law.infinite - np.exp(at) * found.q)

    assert np.all(curve(lower) <= curve(exact) * (1 + 1e-12))
    assert np.all(curve(upper) >= curve(exact) * (1 - 1e-12))
    assert np.all(curve(upper) - curve(lower) <= 1e-4 * curve(exact) + 1e-15)
    runs = [composed_delta([[RepeatedPair(law, 30)]], Fraction(1), 1e-3) for law in (lower, exact, upper)]
    assert runs[0].lower <= runs[1].upper
    assert runs[2].upper >= runs[1].lower
    assert runs[2].upper <= runs[0].lower * 1.01


def test_steps_keep_the_atoms_of_laplace_noise() -> None:
    """Real Laplace noise at 0, 1 and -1: the largest loss has its mass at once; a step before it counts at most."""
    upper, lower = exchanged_laws(LaplaceLaw(1.0), Fraction(1, 2))
    top = math.log((0.5 + 0.5 * math.e) / (0.5 + 0.5 / math.e))
    truth = 0.5 * math.exp(-1) / 2 + 0.5 * 0.5  # beyond 1, under P
    for law in (upper, lower):
        found = law.above(np.array([top - 1e-6]))
        assert float(found.p[0]) == pytest.approx(truth, rel=1e-4)


def test_taking_the_wrong_side_is_seen() -> None:
    """A twin that exchanges the two bounds is outside of the truth by more than rounding."""
    upper, lower = exchanged_laws(Shy(NormalLaw(1.0)), Fraction(1, 10))
    at = np.array([0.5])
    exact = ExchangedNormalLaw(1.0, Fraction(1, 10))
    low, truth, high = (
        float((found.p - np.exp(at) * found.q)[0]) for found in (law.above(at) for law in (lower, exact, upper))
    )
    assert low < truth * (1 - 1e-10)
    assert high > truth * (1 + 1e-10)


@pytest.mark.parametrize(
    "base",
    [
        GaussianLoss(2),
        LaplaceLoss(2),
        PureLoss("0.5"),
        ApproximateLoss("0.5", "0.001"),
        DiscreteGaussianLoss(3, added),
        DiscreteLaplaceLoss(2, added),
    ],
)
def test_replace_costs_more_than_add_or_remove_and_less_than_twice(base: PrivacyLoss) -> None:
    sampled = base.poisson_sampled(rate="0.1", relation=Replace)
    once = base.poisson_sampled(rate="0.1")
    assert sampled.relations == {Replace}
    for epsilon in ("0", "0.05", "0.2"):
        assert sampled.delta(epsilon).upper >= once.delta(epsilon).lower
        assert (sampled * 3).delta(epsilon, tolerance=0.01).upper >= sampled.delta(epsilon).lower
        assert sampled.delta(epsilon).lower <= base.poisson_sampled(rate="0.2", relation=Replace).delta(epsilon).upper
    assert sampled.delta(0).lower <= 2 * once.delta(0).upper  # a path over the release without the unit
    assert PrivacyLoss.from_json(sampled.to_json()) == sampled
    assert (sampled * 3).epsilon("0.01", tolerance=0.01).upper >= sampled.epsilon("0.01").lower


def test_everything_is_a_sample_at_rate_one() -> None:
    """Then the pair is P against P': two Gaussians at distance 2 mu."""
    loss = GaussianLoss(1).poisson_sampled(rate=1, relation=Replace)
    assert loss.delta(1).upper == pytest.approx(GaussianLoss("0.5").delta(1).upper, rel=1e-12)
    assert (loss * 4).delta(1).contains(GaussianLoss("0.25").delta(1).upper)
    assert GaussianLoss(1).poisson_sampled(rate="0.5").poisson_sampled(rate="0.2", relation=Replace) == GaussianLoss(
        1
    ).poisson_sampled(rate="0.1", relation=Replace)
    assert repr(loss) == "GaussianLoss(noise_multiplier=1).poisson_sampled(rate=1, relation=Replace)"


def test_unproved_uses_are_refused() -> None:
    with pytest.raises(UnprovedError, match="size of the sample"):
        DiscreteGaussianLoss(3, of_count(rows=1, groups=1, relation=Replace)).poisson_sampled(
            rate="0.1", relation=Replace
        )
    with pytest.raises(UnprovedError, match="known by a bound alone"):
        (ConcentratedLoss("0.1") * 2).poisson_sampled(rate="0.1", relation=Replace)
    with pytest.raises(InvalidParameterError, match="rate must be in"):
        poisson_replaced(GaussianLoss(1).statement, 0)
    with pytest.raises(InvalidParameterError, match=r"got 3/2$"):
        poisson_replaced(GaussianLoss(1).statement, Fraction(3, 2))
    with pytest.raises(InvalidParameterError, match="base must be"):
        PrivacyLoss(PoissonReplacedStatement("x", "0.1"))  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [0, 1, 4])
def test_noise_that_is_only_bounded_by_gaussian_noise_does_not_attain_it(epsilon: int) -> None:
    """Norms that no vector of integers has together: what one vector attains is the lower end."""
    norms = Sensitivity(l1=1000, l2_squared=10_300, linf=100, relation=AddRemove)
    base = DiscreteGaussianLoss(10_000, norms)
    assert isinstance(base.statement.laws().upper[0], NormalLaw)
    for loss in (
        base.poisson_sampled(rate="0.5", relation=Replace),
        base.capped_poisson_sampled(rate="0.5", cap=100, population=10),
        base.capped_poisson_sampled(rate="0.5", cap=100, population=10, relation=Replace),
    ):
        attained = read(loss.statement.laws().lower, Fraction(epsilon))
        found = loss.delta(epsilon)
        assert found.lower <= attained.upper < found.upper * (1 - 1e-5)

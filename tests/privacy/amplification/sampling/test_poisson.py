"""Poisson sampling: published values, quadrature of both directions, and what is refused."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import mpmath
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    FiniteLoss,
    GaussianLoss,
    Interval,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
    of_count,
)
from deniable.privacy.amplification.sampling.poisson import PoissonSampledStatement
from deniable.privacy.amplification.sampling.sampled_law import SampledLaw
from deniable.privacy.constructors import TruncatedLaplaceLoss
from deniable.privacy.pld.accountant import RepeatedPair, composed_delta
from deniable.privacy.pld.law import ReversedLaw
from deniable.privacy.pld.laws import NormalLaw
from deniable.privacy.statement import Statement


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
    with mpmath.workdps(15):
        q, s = mpmath.mpf(rate), mpmath.mpf(sigma)
        loss = lambda x: mpmath.log(1 - q + q * mpmath.exp((2 * x - 1) / (2 * s * s)))  # noqa: E731
        plain = lambda x, m: mpmath.npdf(x, m, s)  # noqa: E731

        def inner(x: mpmath.mpf) -> mpmath.mpf:
            if added:
                return plain(x, 0) * sampled_curve(epsilon + loss(x), rate, sigma, added=True)
            weight = (1 - q) * plain(x, 0) + q * plain(x, 1)
            return weight * sampled_curve(epsilon - loss(x), rate, sigma, added=False)

        truth = mpmath.quad(inner, mpmath.linspace(-9 * s, 1 + 9 * s, 13))
    base = NormalLaw(1 / sigma)
    law = ReversedLaw(SampledLaw(base, Fraction(rate))) if added else SampledLaw(base, Fraction(rate))
    found = composed_delta([[RepeatedPair(law, 2)]], Fraction(3, 5), 1e-5)
    assert found.lower * (1 - 1e-9) <= truth <= found.upper * (1 + 1e-9)


def test_swapping_the_directions_is_seen() -> None:
    """A twin that keeps one direction: at large rate and small epsilon they differ by far more than the width."""
    base = NormalLaw(1.0)
    removed = SampledLaw(base, Fraction(1, 10))
    one = composed_delta([[RepeatedPair(removed, 20)]], Fraction(2), 1e-4)
    other = composed_delta([[RepeatedPair(ReversedLaw(removed), 20)]], Fraction(2), 1e-4)
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
    assert base.poisson_sampled(rate=1) == base
    assert base.poisson_sampled(rate="0.5").poisson_sampled(rate="0.2") == base.poisson_sampled(rate="0.1")
    assert repr(base.poisson_sampled(rate="0.1")) == "GaussianLoss(noise_multiplier=1).poisson_sampled(rate=0.1)"


@pytest.mark.parametrize(
    ("loss", "delta"),
    [
        (ApproximateLoss("0.5", "0.01").poisson_sampled(rate="0.1"), "0.001"),  # the failure itself
        (ApproximateLoss("0.5", "0.01").poisson_sampled(rate="0.1"), "0.005"),
        (ApproximateLoss("0.5", "0.01").sampled_without_replacement(size=10, population=100), "0.005"),
        (ApproximateLoss("0.5", "0.01").sampled_with_replacement(draws=1, population=10), "0.005"),
    ],
)
def test_epsilon_is_finite_from_the_failure_of_a_sampled_unit_on(loss: PrivacyLoss, delta: str) -> None:
    """Closed form: delta(x) = r (f + (1 - f)(e^a - y)/(e^a + 1)) with y = 1 + (e^x - 1)/r, in 50 digits."""
    with mpmath.workdps(50):
        grown, rate, failed = mpmath.exp(mpmath.mpf("0.5")), mpmath.mpf("0.1"), mpmath.mpf("0.01")
        odds = grown - (mpmath.mpf(delta) / rate - failed) / (1 - failed) * (grown + 1)
        truth = float(mpmath.log1p(rate * (odds - 1)))
    found = loss.epsilon(delta)
    assert found.lower <= truth + 1e-15
    assert truth - 1e-15 <= found.upper < truth + 1e-3
    assert loss.epsilon("0.00099").lower == math.inf


@pytest.mark.parametrize("sampled", [True, False])
def test_epsilon_of_truncated_noise_is_finite_from_the_rate_times_its_failure_on(sampled: bool) -> None:
    base = TruncatedLaplaceLoss(2, 20)
    loss = base.poisson_sampled(rate="0.1") if sampled else base.sampled_without_replacement(size=10, population=100)
    found = loss.epsilon("1e-5")
    assert found.upper < found.lower + 1e-9
    assert found.upper == pytest.approx(math.log1p(0.1 * math.expm1(base.epsilon("1e-4").upper)), rel=1e-9)
    assert base.epsilon("1e-5").upper == math.inf


def test_the_failure_of_several_runs_is_less_than_its_sum() -> None:
    """1 - 0.99^3 = 0.029701: at a tenth of it epsilon ends, below the tenth of 0.03 that is booked."""
    loss = (ApproximateLoss("0.5", "0.01") * 3).poisson_sampled(rate="0.1")
    assert loss.epsilon("0.00297").upper == math.inf
    assert loss.epsilon("0.00298").upper < math.log1p(0.1 * math.expm1(1.5))


@pytest.mark.parametrize(
    ("p", "delta", "truth"),
    [
        (["0.01", "0.49", "0.5"], "0.001", 0.0),  # the atom itself
        (["0.01", "0.89", "0.1"], "0.001", math.log((0.5 - 0.001) / 0.46)),  # 0.9 of 0.5 and 0.1 of 0.1
        (["0.01", "0.89", "0.1"], "0.0009999", math.inf),
    ],
)
def test_epsilon_of_a_finite_pair_is_exact_at_its_atoms(p: list[str], delta: str, truth: float) -> None:
    loss = FiniteLoss(p, ["0", "0.5", "0.5"], relation=AddRemove).poisson_sampled(rate="0.1")
    found = loss.epsilon(delta)
    assert found.lower == pytest.approx(truth, rel=1e-14)
    assert found.upper == pytest.approx(truth, rel=1e-14)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=5),
    st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20),
    st.fractions(0, Fraction(1, 2), max_denominator=50),
)
@example([(0, 1), (1, 1)], Fraction(7, 20), Fraction(0))  # the printed end was below the binary one
def test_the_exact_curve_of_a_finite_base_is_that_of_its_laws(
    weights: list[tuple[int, int]], rate: Fraction, delta: Fraction
) -> None:
    p, q = ([Fraction(pair[way] + 1, sum(row[way] + 1 for row in weights)) for pair in weights] for way in (0, 1))
    loss = PrivacyLoss(PoissonSampledStatement(FiniteLoss(p, q, relation=AddRemove), rate))
    mixed = [(1 - rate) * b + rate * a for a, b in zip(p, q, strict=True)]
    found = loss.epsilon(delta)

    def exact(odds: Fraction) -> Fraction:
        ways = ((mixed, q), (q, mixed))
        return max(
            sum((max(a - odds * b, Fraction(0)) for a, b in zip(*way, strict=True)), Fraction(0)) for way in ways
        )

    above, below = (Fraction(math.exp(end)) * (1 + side) for end, side in ((found.upper, 1e-14), (found.lower, -1e-14)))
    assert exact(above) <= delta
    assert found.lower == 0 or exact(max(below, Fraction(1))) > delta
    assert loss.delta(found.upper).lower <= delta


@pytest.mark.parametrize("rate", [0, "1.5", -1])
def test_a_rate_out_of_range_is_shown_as_it_was_typed(rate: object) -> None:
    with pytest.raises(InvalidParameterError, match=rf"rate must be in \(0, 1\], got {rate!r}$"):
        GaussianLoss(1).poisson_sampled(rate=rate)


def test_a_rate_that_is_a_fraction_is_shown_as_a_number() -> None:
    with pytest.raises(InvalidParameterError, match=r"got 3/2$"):
        GaussianLoss(1).poisson_sampled(rate=Fraction(3, 2))


@dataclass(frozen=True)
class KnownByCurve(Statement):
    """A loss of which only the curve is told."""

    kind: ClassVar[str] = "known_by_curve"
    loss: PrivacyLoss

    def curve(self, epsilon: Fraction) -> Interval:
        return self.loss.statement.curve(epsilon)

    @property
    def failing_epsilon(self) -> Fraction | None:
        return self.loss.failing_epsilon

    @property
    def failing_rho(self) -> Fraction | None:
        return self.loss.failing_rho

    @property
    def mu_squared(self) -> Fraction | None:
        return self.loss.mu_squared


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=5),
    st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20),
    st.sampled_from([1, 3]),
)
@settings(max_examples=8)
def test_a_curve_alone_gives_no_less_than_any_pair_below_it(
    weights: list[tuple[int, int]], rate: Fraction, count: int
) -> None:
    """The truth is that of one finite pair, whose two directions differ; for one run it is an exact polygon."""
    p, q = ([Fraction(pair[way] + 1, sum(row[way] + 1 for row in weights)) for pair in weights] for way in (0, 1))
    known = FiniteLoss(p, q, relation=AddRemove)
    truth, found = (
        PrivacyLoss(PoissonSampledStatement(base, rate)) * count for base in (known, PrivacyLoss(KnownByCurve(known)))
    )
    for epsilon in ("0.01", "0.2", 1):
        assert found.delta(epsilon).upper >= truth.delta(epsilon).lower * (1 - 1e-12)
        assert found.delta(epsilon).lower == 0


def test_a_curve_that_reveals_its_pair_is_sampled_as_sharply_as_the_pair() -> None:
    for base in (PureLoss(1), GaussianLoss(1)):
        for count in (1, 20):
            truth, found = (
                loss.poisson_sampled(rate="0.1") * count for loss in (base, PrivacyLoss(KnownByCurve(base)))
            )
            assert found.delta("0.15").upper == pytest.approx(truth.delta("0.15").upper, rel=5e-3)


def test_a_concentrated_mechanism_is_sampled_and_costs_more_than_gaussian_noise() -> None:
    """One with rho = 1/2 is Gaussian noise of 1; all of them have one answer, which composes and is read back."""
    for count in (1, 100):
        rho, noise = (loss.poisson_sampled(rate="0.01") * count for loss in (ConcentratedLoss("0.5"), GaussianLoss(1)))
        assert noise.epsilon("1e-5").upper < rho.epsilon("1e-5").upper < 2 * noise.epsilon("1e-5").upper
        assert PrivacyLoss.from_json(rho.to_json()) == rho
    mixed = ((ConcentratedLoss("0.1") + PureLoss("0.1")) * 2).poisson_sampled(rate="0.01")
    assert 0 < mixed.epsilon("1e-6").upper < (ConcentratedLoss("0.2") + PureLoss("0.2")).epsilon("1e-6").upper


def test_a_failure_of_a_concentrated_mechanism_counts_by_its_share() -> None:
    loss = ConcentratedLoss("0.5", delta="1e-6").poisson_sampled(rate="0.01")
    assert loss.epsilon("1e-9").upper == math.inf
    assert loss.epsilon("2e-8").upper < 1.1
    assert (loss * 100).delta(3).upper == pytest.approx(1e-6, rel=0.2)


def test_unproved_uses_are_refused() -> None:
    replace = of_count(rows=1, groups=1, relation=Replace)
    with pytest.raises(UnprovedError, match="add/remove"):
        DiscreteGaussianLoss(3, replace).poisson_sampled(rate="0.1")
    with pytest.raises(UnprovedError, match="known by a bound alone"):
        ConcentratedLoss("0.1").poisson_sampled(rate="0.1", relation=Replace)
    with pytest.raises(UnprovedError, match="known by a bound alone"):
        FiniteLoss([1, 0], [0, 1], relation=AddRemove).poisson_sampled(rate="0.1")
    for rate in (0, -1, "3/2", 1.5):
        with pytest.raises(InvalidParameterError, match="rate must be in"):
            GaussianLoss(1).poisson_sampled(rate=rate)
    with pytest.raises(InvalidParameterError, match="base must be"):
        PrivacyLoss(PoissonSampledStatement("x", "0.1"))  # type: ignore[arg-type]

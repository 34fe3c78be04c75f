"""The best of a random number of runs, against the law of the best of enumerated runs."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, special

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    BestOfLoss,
    FiniteLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
)
from deniable.privacy.composition.tuning import BestOfPoissonStatement, SelectedStatement
from deniable.privacy.constructors import BestOfPoissonLoss


def truncated(stop: float, shape: float, longest: int = 3000) -> Floats:
    """P(K = k) for k = 0, 1, ..., from the definition in the docstring."""
    k = np.arange(1, longest)
    if shape == 0:
        weights = (1 - stop) ** k / k
    else:
        weights = np.sign(shape) * np.exp(k * math.log1p(-stop) + special.gammaln(k + shape) - special.gammaln(k + 1))
    return np.concatenate(([0.0], weights / weights.sum()))


def best_law(chances: Floats, runs: Floats) -> Floats:
    """The law of the best of K outcomes, last is best; the chance that there is none comes first."""
    upto = np.concatenate(([0.0], np.cumsum(chances)))
    upto[-1] = 1.0
    found = np.polynomial.polynomial.polyval(upto, runs)
    return np.concatenate(([runs[0]], np.diff(found)))


def curve(p: Floats, q: Floats, epsilon: float) -> float:
    return max(float(np.maximum(a - math.exp(epsilon) * b, 0).sum()) for a, b in ((p, q), (q, p)))


masses = st.lists(st.integers(1, 30), min_size=2, max_size=5)


@settings(max_examples=25)
@given(
    masses,
    masses,
    st.sampled_from([("0.5", "1"), ("0.1", "1"), ("0.1", "0"), ("0.05", "-0.5"), ("0.2", "3")]),
    st.floats(0, 3),
)
def test_no_order_of_the_outcomes_of_a_finite_mechanism_exceeds_the_bound(
    first: list[int], second: list[int], law: tuple[str, str], epsilon: float
) -> None:
    n = min(len(first), len(second))
    p, q = ([Fraction(mass, sum(side[:n])) for mass in side[:n]] for side in (first, second))
    base = FiniteLoss(p, q, relation=AddRemove)
    stop, shape = law
    runs = truncated(float(stop), float(shape), 800)
    ours, theirs = (best_law(np.array(side, dtype=float), runs) for side in (p, q))
    assert curve(ours, theirs, epsilon) <= BestOfLoss(base, stop, shape).delta(epsilon).upper + 1e-12
    poisson = np.exp(-4 + np.arange(80) * math.log(4) - special.gammaln(np.arange(1, 81)))
    ours, theirs = (best_law(np.array(side, dtype=float), poisson) for side in (p, q))
    assert curve(ours, theirs, epsilon) <= BestOfPoissonLoss(base, 4).delta(epsilon).upper + 1e-12


@pytest.mark.parametrize(("stop", "shape"), [("0.5", 1), ("0.01", 1), ("0.1", 0), ("0.1", "-0.5")])
@pytest.mark.parametrize("epsilon", ["0.1", 1, 3])
def test_the_pure_epsilon_is_attained(stop: str, shape: object, epsilon: object) -> None:
    """Randomised response with a tie-breaker in 1,000 steps: its worst outcome comes within 2% of the claim."""
    claim = BestOfLoss(PureLoss(epsilon), stop, shape).pure_epsilon
    assert claim is not None
    odds, steps = math.exp(float(str(epsilon))), 1000
    p = np.repeat([odds / (1 + odds), 1 / (1 + odds)], steps) / steps
    runs = truncated(float(stop), float(str(shape)))
    losses = np.log(best_law(p, runs)[1:] / best_law(p[::-1], runs)[1:])
    assert np.abs(losses).max() <= float(claim) * (1 + 1e-9)
    assert np.abs(losses).max() >= 0.98 * float(claim)


@pytest.mark.parametrize("shape", ["-0.5", 0, 1, 2])
def test_pure_losses_are_below_those_of_liu_talwar_and_papernot_steinke(shape: object) -> None:
    """(2 + shape) epsilon; for the geometric law 3 epsilon, which is approached for many runs."""
    for epsilon in (Fraction(1, 100), Fraction(1), Fraction(5)):
        most = (2 + Fraction(str(shape))) * epsilon
        found = [BestOfLoss(PureLoss(epsilon), stop, shape).pure_epsilon for stop in ("0.5", "0.01", "1e-9")]
        assert all(value is not None and epsilon < value < most for value in found)
        assert float(found[-1] or 0) == pytest.approx(float(most), rel=1e-4)


@pytest.mark.parametrize(("stop", "shape"), [(0.1, 1), (0.01, 1), (0.01, 0), (0.05, -0.5)])
@pytest.mark.parametrize("noise", [1, 4, 16])
def test_curves_of_gaussian_noise_beat_those_by_renyi_divergences(noise: int, stop: float, shape: float) -> None:
    """Papernot and Steinke (2022), theorem for Rényi divergences, with the usual conversion, at delta = 1e-6."""
    loss = BestOfLoss(GaussianLoss(noise), stop, shape)
    runs, rho = loss.statement.mean_runs.upper, 1 / (2 * noise**2)

    def by_renyi(order: float) -> float:
        within = optimize.minimize_scalar(
            lambda other: (1 + shape) * ((1 - 1 / other) * rho * other + math.log(1 / stop) / other),
            bounds=(1, 1000),
            method="bounded",
        ).fun
        divergence = order * rho + within + math.log(runs) / (order - 1)
        return divergence + math.log1p(-1 / order) - math.log(1e-6 * order) / (order - 1)

    theirs = min(by_renyi(1 + order) for order in np.geomspace(0.01, 1000, 400))
    ours = loss.epsilon(1e-6)
    assert ours.lower == pytest.approx(GaussianLoss(noise).epsilon(1e-6).lower, rel=1e-6)
    assert ours.upper < theirs


@pytest.mark.parametrize(("stop", "shape"), [("0.5", 1), ("0.05", 0), ("0.05", "0.5"), ("0.05", "-0.5"), ("0.1", 3)])
def test_the_mean_number_of_runs_is_that_of_the_law(stop: str, shape: object) -> None:
    runs = truncated(float(stop), float(str(shape)))
    found = BestOfLoss(PureLoss(1), stop, shape).statement.mean_runs
    assert found.lower == pytest.approx(float(np.arange(runs.size) @ runs), rel=1e-9)
    assert found.width < 1e-12


def test_a_base_that_fails_fails_more_often() -> None:
    loss = BestOfLoss(ApproximateLoss(1, "1e-6"), "0.1")
    assert float(loss.failure) == pytest.approx(1e-5)
    assert loss.charge().delta == loss.failure
    assert loss.mu_squared is None
    assert loss.infinite_mass == Fraction(1, 10**6)
    assert BestOfLoss(ApproximateLoss(1, "0.5"), "0.1").failure == 1
    assert loss.stated(epsilon="2.7", delta="2e-5").charge().epsilon == Fraction("2.7")


def test_nothing_comes_of_nothing() -> None:
    for loss in (BestOfLoss(PureLoss(0), "0.1"), BestOfPoissonLoss(PureLoss(0), 9)):
        assert loss.pure_epsilon == 0
        assert loss.delta(0).upper == 0
        assert loss.rho == loss.mu_squared == 0


def test_poisson_numbers_of_runs_cost_the_total_variation_each() -> None:
    loss = BestOfPoissonLoss(PureLoss(1), 10)
    assert float(loss.pure_epsilon or 0) == pytest.approx(1 + 10 * math.tanh(0.5))
    gaussian = BestOfPoissonLoss(GaussianLoss(4), 10)
    growth = 10 * GaussianLoss(4).advantage().upper
    by_curves, least = (
        SelectedStatement.curve(gaussian.statement, Fraction(1 + growth)).upper,
        gaussian.delta(1 + growth).upper,
    )
    assert by_curves == pytest.approx(10 * GaussianLoss(4).delta(1).upper, rel=1e-6)
    assert least <= by_curves
    assert gaussian.pure_epsilon is None
    assert gaussian.rho is None
    assert gaussian.infinite_mass == 0


@pytest.mark.parametrize("loss", [BestOfLoss(LaplaceLoss(4), "0.1"), BestOfPoissonLoss(LaplaceLoss(4), 3)])
def test_it_composes_and_never_for_less_than_once(loss: PrivacyLoss) -> None:
    once, twice = (found.epsilon(1e-4, tolerance=0.05) for found in (loss, loss * 2))
    assert once.upper <= twice.upper <= 2 * once.upper + 0.2
    assert (loss * 2).delta(0.5, tolerance=0.05).upper >= loss.delta(0.5).upper * (1 - 1e-6)


def test_it_is_written_and_read_and_holds_where_the_base_holds() -> None:
    for loss in (BestOfLoss(LaplaceLoss(2), "0.1", "-1/2"), BestOfPoissonLoss(LaplaceLoss(2), "2.5")):
        assert PrivacyLoss.from_json(loss.to_json()) == loss
        assert eval(repr(loss)) == loss
        assert loss.relations == {AddRemove, Replace}
    assert BestOfLoss(LaplaceLoss(2).under(Replace), "0.1").relations == {Replace}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BestOfLoss("x", "0.1"), "base"),
        (lambda: BestOfLoss(PureLoss(1), 1), "stop"),
        (lambda: BestOfLoss(PureLoss(1), 0), "stop"),
        (lambda: BestOfLoss(PureLoss(1), "0.1", -1), "shape"),
        (lambda: BestOfPoissonLoss(PureLoss(1), 0), "mean"),
    ],
)
def test_parameters_are_checked(make: object, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        make()  # type: ignore[operator]


def test_many_runs_of_noise_cost_little_more_than_few() -> None:
    """By curves 100.9 at a mean of 1000, and 11.24 at 100; the two laws are integrated where noise is the score."""
    for mean, most in ((100, 7), (1000, 16)):
        loss = BestOfPoissonLoss(GaussianLoss(4), mean=mean)
        epsilon = loss.epsilon("1e-6").upper
        assert epsilon < most
        places = np.linspace(-12, 12, 200_001)
        step = places[1] - places[0]

        def density(centre: float, mean: int = mean, places: NDArray[np.float64] = places) -> NDArray[np.float64]:
            return (
                mean
                * np.exp(-((places - centre) ** 2) / 2 - mean * special.ndtr(centre - places))
                / math.sqrt(2 * math.pi)
            )

        p, q = density(0.25), density(0.0)
        for first, second in ((p, q), (q, p)):
            exact = float(np.maximum(first - math.exp(epsilon) * second, 0).sum()) * step
            assert exact <= 1e-6
            assert loss.delta(1).upper >= float(np.maximum(first - math.e * second, 0).sum()) * step


def test_the_growth_of_a_base_that_fails_often_is_that_of_its_failures() -> None:
    """At epsilon = 0 and d = 1/2, with one run in ten the last: (1 + shape) ln(1 + 9/10 d / (1/10)), not the corner."""
    corner = (1 + 0.1 + 0.45) / (1 + 0.1 - 0.45)
    for shape in (0, 1):
        found = BestOfLoss(ApproximateLoss(0, "1/2"), stop="0.1", shape=shape).failing_epsilon
        assert found is not None
        assert float(found) == pytest.approx((1 + shape) * math.log(1 + 0.45 / 0.1))
        assert float(found) > (1 + shape) * math.log(corner)


def test_no_run_at_all_counts_in_the_divergence_of_a_poisson_number() -> None:
    """Order 2, one run on average: ln(e^-1 + e^(D_2 + delta(ln 2))), of Gaussian noise with D_2 = 1/4."""
    failed = GaussianLoss(2).delta(math.log(2)).upper
    best = BestOfPoissonStatement(GaussianLoss(2), 1)
    known = {float(order): float(value) for order, value in best._divergences_known}
    assert known[2.0] == pytest.approx(math.log(math.exp(-1) + math.exp(0.25 + failed)))

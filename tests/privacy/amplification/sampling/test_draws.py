"""Draws with replacement: every data set of a small grid, quadrature of the attained pair, and compositions."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    ConcentratedLoss,
    DiscreteLaplaceLoss,
    ExponentialMechanismLoss,
    GaussianLoss,
    Interval,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
    Sensitivity,
    of_count,
)
from deniable.privacy.amplification.sampling.draws import DrawnStatement

AXIS = np.linspace(-14, 14, 5601)


def release(values: tuple[int, ...], draws: int, sigma: float) -> np.ndarray:
    """The density of a noisy sum of draws, all sequences of draws written out."""
    total = np.zeros(AXIS.size)
    for sequence in itertools.product(values, repeat=draws):
        total += np.exp(-((AXIS - sum(sequence)) ** 2) / (2 * sigma**2))
    return total / total.sum()


@pytest.mark.parametrize(("draws", "population"), [(1, 2), (2, 2), (2, 3), (3, 3)])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.5])
def test_no_data_exceed_the_bound_and_some_reach_the_lower_end(draws: int, population: int, epsilon: float) -> None:
    """Values -1, 0, 1; noise multiplier 3/4 of the sensitivity 2, so sigma = 1.5."""
    worst = 0.0
    for rest in itertools.combinations_with_replacement((-1, 0, 1), population - 1):
        laws = [release((value, *rest), draws, 1.5) for value in (-1, 0, 1)]
        for p, q in itertools.permutations(laws, 2):
            worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
    found = GaussianLoss("3/4").sampled_with_replacement(draws=draws, population=population).delta(epsilon)
    assert found.lower * (1 - 1e-5) <= worst <= found.upper * (1 + 1e-5)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_the_lower_end_is_the_attained_pair(epsilon: str) -> None:
    draws, population, mu = 20, 100, 2
    with mpmath.workdps(30):
        weights = [
            mpmath.binomial(draws, j) * mpmath.mpf(99) ** (draws - j) / mpmath.mpf(100) ** draws for j in range(21)
        ]
        e = mpmath.exp(mpmath.mpf(epsilon))

        def ratio(x: mpmath.mpf) -> mpmath.mpf:
            return sum(w * mpmath.exp(j * mu * x - (j * mu) ** 2 / 2) for j, w in enumerate(weights)) - e

        place = mpmath.findroot(ratio, (mpmath.mpf(-5), mpmath.mpf(6)), solver="bisect")
        truth = sum(w * mpmath.ncdf(j * mu - place) for j, w in enumerate(weights)) - e * mpmath.ncdf(-place)
    found = GaussianLoss("1/2").sampled_with_replacement(draws=draws, population=population).delta(epsilon)
    assert found.lower == pytest.approx(float(truth), rel=1e-9)
    assert found.upper <= found.lower * 1.02


def test_one_draw_is_a_sample_of_one() -> None:
    """With a single draw both schemes are the same, and so are both ends."""
    drawn = GaussianLoss(1).sampled_with_replacement(draws=1, population=10)
    sampled = GaussianLoss(1).sampled_without_replacement(size=1, population=10)
    for epsilon in ("0", "0.5", "2"):
        assert drawn.delta(epsilon).upper == pytest.approx(sampled.delta(epsilon).upper, rel=1e-9)
        assert drawn.delta(epsilon).lower == pytest.approx(sampled.delta(epsilon).lower, rel=1e-9)


def test_forgetting_that_a_unit_may_be_drawn_twice_is_seen() -> None:
    """A twin, the bound without replacement, is below what is attained."""
    drawn = GaussianLoss(1).sampled_with_replacement(draws=10, population=100)
    sampled = GaussianLoss(1).sampled_without_replacement(size=10, population=100)
    assert sampled.delta(2).upper < drawn.delta(2).lower


def test_compositions_are_bounded_from_both_sides() -> None:
    step = GaussianLoss(1).sampled_with_replacement(draws=100, population=10_000)
    run = (step * 100).epsilon("1e-5")
    without = (GaussianLoss(1).sampled_without_replacement(size=100, population=10_000) * 100).epsilon("1e-5")
    assert step.relations == {Replace}
    assert without.lower < run.lower
    assert run.width < 0.06 * run.upper
    assert step.epsilon("1e-5").lower <= run.upper
    assert PrivacyLoss.from_json(step.to_json()) == step
    assert repr(step) == "GaussianLoss(noise_multiplier=1).sampled_with_replacement(draws=100, population=10000)"


@pytest.mark.parametrize(("draws", "population"), [(2, 2), (3, 2), (2, 4)])
@pytest.mark.parametrize("epsilon", [0.0, 0.15, 0.3])
def test_discrete_noise_stays_below_the_bound_on_all_data(draws: int, population: int, epsilon: float) -> None:
    """Discrete Laplace noise on a sum of values 0 and 1, every data set and every sequence of draws written out."""
    places = np.arange(-60, 70)
    worst = 0.0
    for rest in itertools.product((0, 1), repeat=population - 1):
        laws = []
        for value in (0, 1):
            total = np.zeros(places.size)
            for sequence in itertools.product((value, *rest), repeat=draws):
                total += np.exp(-np.abs(places - sum(sequence)) / 1.5) * math.tanh(1 / 3)
            laws.append(total / population**draws)
        for p, q in itertools.permutations(laws, 2):
            worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
    one = Sensitivity(l1=1, l2_squared=1, linf=1, relation=Replace)
    loss = DiscreteLaplaceLoss("1.5", one)
    found = loss.sampled_with_replacement(draws=draws, population=population).delta(epsilon)
    assert worst <= found.upper * (1 + 1e-9) + 1e-15
    pure = PureLoss("2/3").sampled_with_replacement(draws=draws, population=population)
    assert found.upper <= pure.delta(epsilon).upper * (1 + 1e-9)
    assert worst >= 0.8 * found.upper


@given(st.lists(st.lists(st.floats(0.05, 1), min_size=3, max_size=3), min_size=4, max_size=4), st.floats(0, 1.5))
def test_no_mechanism_on_two_draws_exceeds_its_pure_bound(table: list[list[float]], epsilon: float) -> None:
    """Any mechanism on ordered pairs of rows 0 and 1, its own epsilon as the base; both data sets of two units."""
    laws = np.array(table) / np.sum(table, axis=1, keepdims=True)
    near = [(0, 1), (0, 2), (1, 3), (2, 3)]  # pairs of rows, as binary numbers, that differ in one row
    limit = max(float(np.abs(np.log(laws[i] / laws[j])).max()) for i, j in near)
    loss = PureLoss(limit * (1 + 1e-12)).sampled_with_replacement(draws=2, population=2)
    one, two = laws.mean(axis=0), laws[0]  # rows (0, 1), or (0, 0)
    other = laws[3]
    for p, q in itertools.permutations((one, two), 2):
        assert np.maximum(p - math.exp(epsilon) * q, 0).sum() <= loss.delta(epsilon).upper * (1 + 1e-9) + 1e-15
    for p, q in itertools.permutations((one, other), 2):
        assert np.maximum(p - math.exp(epsilon) * q, 0).sum() <= loss.delta(epsilon).upper * (1 + 1e-9) + 1e-15


def test_the_bound_is_below_that_of_balle_barthe_gaboardi_and_meets_the_truth() -> None:
    """Theorem 10 of arXiv:1807.01647, one y for all: 40 digits. At most data sets' distance is left of its gap."""
    draws, population = 20, 100
    for base, curve in (
        (LaplaceLoss(1), lambda j, y: 1 - mpmath.exp((y - j) / 2) if y < j else mpmath.mpf(0)),
        (GaussianLoss(1), lambda j, y: mpmath.ncdf(j / 2 - y / j) - mpmath.exp(y) * mpmath.ncdf(-j / 2 - y / j)),
    ):
        loss = base.sampled_with_replacement(draws=draws, population=population)
        for epsilon in ("0.05", "0.2", "0.3"):
            with mpmath.workdps(40):
                x = mpmath.exp(mpmath.mpf(epsilon))
                weights = [mpmath.binomial(draws, j) * mpmath.mpf(99) ** (draws - j) / 100**draws for j in range(21)]
                y = mpmath.log(1 + (x - 1) / (1 - weights[0]))
                published = sum(w * curve(mpmath.mpf(j), y) for j, w in enumerate(weights) if j)
            found = loss.delta(epsilon)
            assert found.upper <= float(published) * (1 + 1e-9)
            assert found.upper < 1.02 * found.lower


@given(st.integers(1, 6), st.integers(2, 6), st.floats(0.1, 2))
def test_the_pure_limit_is_above_what_counting_attains(draws: int, population: int, limit: float) -> None:
    """Geometric noise on a count: exp(epsilon) is the mean of exp(limit j); and the curve is 0 from the limit on."""
    loss = PureLoss(limit).sampled_with_replacement(draws=draws, population=population)
    attained = draws * math.log1p(math.expm1(limit) / population)
    assert loss.pure_epsilon is not None
    assert attained * (1 - 1e-9) <= float(loss.pure_epsilon) <= draws * limit * (1 + 1e-9)
    near = float(loss.pure_epsilon) * (1 - 1e-6)
    assert loss.delta(near).upper > 0
    assert loss.delta(loss.pure_epsilon) == Interval(0.0, 0.0)
    if population > 2 * draws:
        assert float(loss.pure_epsilon) < 1.1 * attained


def test_approximate_losses_fail_as_often_as_their_groups() -> None:
    """delta beyond all epsilons is sum w_j delta (e^(j e) - 1)/(e^e - 1), with e = 1."""
    loss = ApproximateLoss(1, "0.001").sampled_with_replacement(draws=3, population=10)
    weights = [math.comb(3, j) * 0.1**j * 0.9 ** (3 - j) for j in range(4)]
    failed = sum(w * 0.001 * math.expm1(j) / math.expm1(1) for j, w in enumerate(weights))
    assert loss.failing_epsilon is not None
    assert loss.delta(loss.failing_epsilon).upper == pytest.approx(failed, rel=1e-6)
    assert float(loss.charge().delta) == pytest.approx(failed, rel=1e-9)
    assert loss.charge().epsilon == loss.failing_epsilon
    assert ApproximateLoss(0, "0.001").sampled_with_replacement(draws=3, population=10).failure == Fraction(3, 1000)
    assert GaussianLoss(1).sampled_with_replacement(draws=3, population=10).failure == 0


def test_losses_whose_groups_are_costly_are_bounded_by_their_epsilon() -> None:
    """The exponential mechanism reveals less than any other mechanism of its epsilon, on samples too."""
    bounded = ExponentialMechanismLoss(1).sampled_with_replacement(draws=5, population=10)
    pure = PureLoss(1).sampled_with_replacement(draws=5, population=10)
    for epsilon in ("0", "0.3", "0.6"):
        found = bounded.delta(epsilon)
        assert found.lower <= found.upper < pure.delta(epsilon).upper
    assert bounded.delta(0).lower > 0.7 * bounded.delta(0).upper
    assert (bounded * 4).epsilon("1e-5").upper < (pure * 4).epsilon("1e-5").upper


def test_unproved_uses_are_refused() -> None:
    added = DiscreteLaplaceLoss(1, of_count(rows=1, groups=1, relation=AddRemove))
    with pytest.raises(UnprovedError, match="number of units is not public"):
        added.sampled_with_replacement(draws=1, population=2)
    with pytest.raises(UnprovedError, match="known by a bound alone"):
        ConcentratedLoss("0.1").sampled_with_replacement(draws=1, population=2)
    with pytest.raises(InvalidParameterError, match="100 for each unit"):
        GaussianLoss(1).sampled_with_replacement(draws=201, population=2)
    with pytest.raises(InvalidParameterError, match="draws must be"):
        GaussianLoss(1).sampled_with_replacement(draws=0, population=2)
    with pytest.raises(InvalidParameterError, match="population from 2 to"):
        PrivacyLoss(DrawnStatement(GaussianLoss(1), 1, 1))
    with pytest.raises(InvalidParameterError, match="population from 2 to"):
        PrivacyLoss(DrawnStatement(GaussianLoss(1), 1, 1))
    assert DrawnStatement(GaussianLoss(1), 3, 10).share > 1 - Fraction(9, 10) ** 3 - Fraction(1, 10**12)


def test_floats_that_vanish_prove_no_pure_privacy() -> None:
    """The tails of Gaussian noise are below every float, and not 0."""
    loss = GaussianLoss(10**6).sampled_with_replacement(draws=3, population=5)
    assert loss.delta(1).upper > 0
    assert (loss * 20).delta(1).upper > 0
    assert not loss.proves(Fraction(20), Fraction(0))
    assert not (loss * 20).proves(Fraction(20), Fraction(0))
    assert (loss * 20).epsilon(0).upper == math.inf


@pytest.mark.parametrize("population", [3, 5, 7, 11])
def test_a_failure_is_not_rounded_up_where_it_bounds_from_below(population: int) -> None:
    """One draw is a sample of one: at the delta with which it fails, the greatest loss of the rest is enough."""
    loss = ApproximateLoss(1, "0.003").sampled_with_replacement(draws=1, population=population)
    found = loss.epsilon(Fraction(3, 1000) / population)
    assert found.lower <= math.log1p(math.expm1(1) / population)


@pytest.mark.parametrize("limit", ["1e-9", "1e-5"])
def test_tiny_losses_are_composed(limit: str) -> None:
    """The first step of a walk: delta(0) of two equal signs is about that of one."""
    loss = PureLoss(limit).sampled_with_replacement(draws=3, population=5)
    found = (loss * 2).delta(0, tolerance=1)
    assert found.lower == pytest.approx(float(Fraction(limit)) * 0.3, rel=1e-3)
    assert found.lower <= found.upper <= 1.1 * found.lower
    less = LaplaceLoss(1 / Fraction(limit)).sampled_with_replacement(draws=3, population=5)
    assert less.epsilon(0).upper == pytest.approx(loss.epsilon(0).upper)
    assert (less * 2).epsilon(0).upper == pytest.approx(2 * loss.epsilon(0).upper)


@pytest.mark.parametrize("base", [GaussianLoss("0.005"), LaplaceLoss("0.001"), PureLoss(600)])
def test_hardly_any_noise_is_bounded_too(base: PrivacyLoss) -> None:
    loss = base.sampled_with_replacement(draws=5, population=10)
    drawn = 1 - 0.9**5
    assert loss.delta(1).upper == pytest.approx(drawn)
    assert loss.statement.laws().lower[0].above(np.array([1.0])).p[0] <= drawn

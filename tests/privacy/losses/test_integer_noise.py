"""Which change of a vector reveals most, by exact sums over events; and the curves of vectors, by enumeration."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.privacy import (
    AddRemove,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    PrivacyLoss,
    Replace,
    Sensitivity,
    of_clipped_sum,
    of_count,
)
from deniable.privacy.losses.discrete_gaussian import attained_at_least
from deniable.privacy.losses.integer_noise import extreme_changes, squares_of, sum_of

Weights = list[Fraction]


def excess(weights: Weights, change: Sequence[int], x: Fraction) -> Fraction:
    """sup P(E) - x Q(E) for the noise with these weights on each coordinate, exactly."""
    total = Fraction(0)
    for places in itertools.product(*(range(len(weights) + move) for move in change)):
        moved = math.prod((_at(weights, y - move) for y, move in zip(places, change, strict=True)), start=Fraction(1))
        still = math.prod((_at(weights, y) for y in places), start=Fraction(1))
        total += max(moved - x * still, Fraction(0))
    return total


def _at(weights: Weights, place: int) -> Fraction:
    return weights[place] if 0 <= place < len(weights) else Fraction(0)


def log_concave(ratios: list[Fraction]) -> Weights:
    weights = [Fraction(1)]
    for ratio in sorted(ratios, reverse=True):
        weights.append(weights[-1] * ratio)
    return [weight / sum(weights) for weight in weights]


ratios = st.lists(st.fractions(Fraction(1, 9), 9, max_denominator=9), min_size=1, max_size=5)


@given(ratios, st.integers(0, 3), st.integers(0, 3), st.fractions(0, 4, max_denominator=20))
def test_the_more_unequal_change_reveals_more(ratios: list[Fraction], a: int, c: int, x: Fraction) -> None:
    a, c = max(a, c), min(a, c)
    weights = log_concave(ratios)
    assert excess(weights, (a, c + 1), x) <= excess(weights, (a + 1, c), x)


def test_without_log_concavity_it_need_not() -> None:
    """The twin: noise of two values two apart hides a move by 2 better than two moves by 1."""
    weights = [Fraction(1, 2), Fraction(0), Fraction(1, 2)]
    assert excess(weights, (1, 1), Fraction(1)) > excess(weights, (2, 0), Fraction(1))


norms = st.tuples(st.integers(0, 7), st.integers(0, 4), st.integers(0, 24), st.one_of(st.none(), st.integers(1, 4)))


@given(norms)
def test_the_worst_change_is_above_all_and_the_attained_one_is_admitted(
    given_norms: tuple[int, int, int, int | None],
) -> None:
    l1, linf, l2_squared, coordinates = given_norms
    l1 = max(l1, linf)
    l2_squared = min(max(l2_squared, linf**2), l1**2)
    reach = Sensitivity(l1=l1, l2_squared=l2_squared, linf=linf, relation=AddRemove, coordinates=coordinates)
    free = min(l1, 4 if coordinates is None else coordinates)  # a fifth coordinate would add nothing new
    worst, attained = extreme_changes(reach)
    top = [shift for shift, count in worst for _ in range(count)]
    for change in itertools.product(range(linf + 1), repeat=free):
        if sum(change) <= l1 and sum(move**2 for move in change) <= l2_squared:
            ordered = sorted(change, reverse=True)
            assert all(sum(ordered[:k]) <= sum(top[:k]) for k in range(free + 1))
    assert max((shift for shift, _ in attained), default=0) <= linf
    assert sum_of(attained) <= l1
    assert squares_of(attained) <= l2_squared
    assert coordinates is None or sum(count for _, count in attained) <= coordinates
    assert (squares_of(worst) <= l2_squared) == (worst == attained)


def laplace(scale: float) -> Callable[[int, int], np.ndarray]:
    """Probabilities of noise moved by a shift, on places that miss less than 1e-13."""
    return lambda shift, reach: np.tanh(1 / (2 * scale)) * np.exp(-np.abs(np.arange(-reach, reach + 1) - shift) / scale)


def gaussian(sigma_squared: float) -> Callable[[int, int], np.ndarray]:
    total = np.exp(-(np.arange(-200, 201) ** 2) / (2 * sigma_squared)).sum()
    return lambda shift, reach: np.exp(-((np.arange(-reach, reach + 1) - shift) ** 2) / (2 * sigma_squared)) / total


def enumerated(law: Callable[[int, int], np.ndarray], change: Sequence[int], epsilon: float, reach: int = 70) -> float:
    """delta of a change by the sum over all places of a box, one law of the loss after the other."""
    p, q = np.ones(1), np.ones(1)
    for move in change:
        p, q = np.outer(p, law(move, reach)).ravel(), np.outer(q, law(0, reach)).ravel()
        if len(change) > 2:
            p, q = _merged(p, q)
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def _merged(p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places with the same ratio are one: the same pair. What underflows is left out."""
    p, q = p[(p > 0) & (q > 0)], q[(p > 0) & (q > 0)]
    _, place = np.unique(np.round(np.log(p / q), 9), return_inverse=True)
    return np.bincount(place, p), np.bincount(place, q)


MOVES = [
    (of_count(rows=1, groups=3, relation=AddRemove), (1, 1, 1)),
    (of_count(rows=2, groups=2, relation=AddRemove), (2, 2)),
    (of_count(rows=1, groups=2, relation=Replace), (1, 1, 1, 1)),
    (Sensitivity(l1=5, l2_squared=20, linf=3, relation=AddRemove), (3, 2)),
    (Sensitivity(l1=9, l2_squared=20, linf=3, relation=AddRemove, coordinates=2), (3, 3)),
]


@pytest.mark.parametrize(("reach", "change"), MOVES)
@pytest.mark.parametrize("epsilon", [0.2, 0.8, 1.1])
def test_a_vector_has_the_enumerated_curve(reach: Sensitivity, change: tuple[int, ...], epsilon: float) -> None:
    for loss, law in ((DiscreteLaplaceLoss(2, reach), laplace(2)), (DiscreteGaussianLoss(6, reach), gaussian(6))):
        found, truth = loss.delta(epsilon), enumerated(law, change, epsilon)
        assert found.lower - 1e-9 <= truth <= found.upper + 1e-9
        assert found.width <= 1e-3 * found.upper
        few = enumerated(law, change[1:], epsilon)  # the twin: one coordinate too few is told apart
        assert few < found.lower


def test_the_numbers_of_three_counts() -> None:
    """Before, [0, 0.3935], [5, 15] and [0.0013, 0.0241]: the worst of one coordinate, and of one that takes all."""
    counts = of_count(rows=1, groups=3, relation=AddRemove)
    noise = DiscreteLaplaceLoss(2, counts)
    assert noise.delta("0.5").upper == pytest.approx(0.152452, rel=1e-5)
    assert (noise * 10).epsilon("1e-5").upper == pytest.approx(12.98, abs=0.01)
    assert (noise * 10).epsilon("1e-5").width < 0.02
    assert DiscreteGaussianLoss(20, counts).delta("0.5").upper == pytest.approx(0.0228404, rel=1e-5)


@pytest.mark.parametrize("loss", [DiscreteLaplaceLoss, DiscreteGaussianLoss])
def test_where_the_l2_norm_binds_the_interval_holds_every_admitted_change(
    loss: Callable[[int, Sensitivity], PrivacyLoss],
) -> None:
    reach = of_clipped_sum(lower=-1, upper=2, rows=1, groups=1, relation=Replace)
    assert extreme_changes(reach) == (((3, 1), (1, 1)), ((3, 1),))
    law = laplace(3) if loss is DiscreteLaplaceLoss else gaussian(3)
    for epsilon in (0.1, 0.7):
        found = loss(3, reach).delta(epsilon)
        worst = max(enumerated(law, change, epsilon) for change in ((3, 0), (2, 2), (2, 1)))
        assert found.lower - 1e-9 <= worst <= found.upper
        assert enumerated(law, (3, 1), epsilon) >= found.upper - 1e-3


def test_epsilon_inverts_the_curve_of_a_vector() -> None:
    counts = of_count(rows=1, groups=3, relation=AddRemove)
    noise, wide = DiscreteLaplaceLoss(2, counts), DiscreteGaussianLoss(20, counts)
    assert noise.epsilon(0).contains(Fraction(3, 2))
    assert wide.epsilon(0).lower == math.inf
    for loss in (noise, wide):
        found = loss.epsilon("0.01")
        assert found.width <= 1e-3 * max(1, found.upper)
        assert loss.delta(found.upper).lower <= 0.01 <= loss.delta(found.lower).upper


def test_coordinates_are_runs_of_a_composition() -> None:
    one = of_count(rows=1, groups=1, relation=AddRemove)
    many = of_count(rows=1, groups=1000, relation=AddRemove)
    loss = DiscreteLaplaceLoss(300, many)
    assert [count for _, count in loss.statement.laws_of_runs(2)] == [2000]
    assert (loss * 2).delta("0.5") == (DiscreteLaplaceLoss(300, one) * 2000).delta("0.5")
    mixed = DiscreteLaplaceLoss(4, Sensitivity(l1=5, l2_squared=20, linf=2, relation=AddRemove))
    assert [count for _, count in mixed.statement.laws_of_runs(3)] == [6, 3]


def test_the_laws_of_a_vector_are_written_and_sampled() -> None:
    counts = of_count(rows=1, groups=2, relation=AddRemove)
    one = of_count(rows=1, groups=1, relation=AddRemove)
    for loss in (DiscreteLaplaceLoss(2, counts), DiscreteGaussianLoss(6, counts)):
        alone = (
            DiscreteLaplaceLoss(2, one) if loss.statement.kind == "discrete_laplace" else DiscreteGaussianLoss(6, one)
        )
        found = loss.poisson_sampled(rate="0.1").delta("0.05")
        together = (alone * 2).poisson_sampled(rate="0.1").delta("0.05")
        assert found.lower == pytest.approx(together.lower, rel=1e-3)
        assert found.width <= 2e-3 * found.upper


def test_laws_that_floats_cannot_hold_are_still_bounded() -> None:
    counts = of_count(rows=1, groups=3, relation=AddRemove)
    narrow = DiscreteLaplaceLoss("1/1000", counts)
    pairs = narrow.statement.laws()
    assert pairs is not None
    assert pairs.upper[0].highest == 3000
    assert pairs.lower[0].highest == 1000
    assert narrow.delta(1).lower > 0.999
    assert DiscreteGaussianLoss(10**9, counts).statement.laws() is None
    assert DiscreteGaussianLoss(10**9, counts).statement.laws_of_runs(2) == [(None, 2)]


def test_mu_is_the_law_where_l2_binds() -> None:
    reach = of_count(rows=1, groups=9, relation=AddRemove)
    tight = Sensitivity(l1=9, l2_squared=9, linf=3, relation=AddRemove)
    assert extreme_changes(tight) == (((3, 3),), ((3, 1),))
    found = DiscreteGaussianLoss(400, tight).delta("0.1")
    assert found.upper <= 1.01 * DiscreteGaussianLoss(400, reach).delta("0.1").upper
    once = DiscreteGaussianLoss(400, tight).statement.laws()
    assert once is not None
    assert once.upper[0].infinite == 0
    twice = (DiscreteGaussianLoss(400, tight) * 2).delta("0.1")
    assert twice.upper <= 1.01 * (DiscreteGaussianLoss(400, reach) * 2).delta("0.1").upper
    small = DiscreteGaussianLoss("1/20", tight).statement.laws()  # no mu is known: the worst change itself
    assert small is None or small.upper[0] is not small.lower[0]


@pytest.mark.parametrize("sigma_squared", [3, 20])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.0])
def test_real_noise_bounds_from_below(sigma_squared: int, epsilon: float) -> None:
    change = ((2, 1), (1, 1))
    truth = enumerated(gaussian(sigma_squared), (2, 1), epsilon)
    found = attained_at_least(Fraction(sigma_squared), change, Fraction(epsilon))
    assert 0.3 * truth < found <= truth + 1e-12


def test_real_noise_of_the_same_variance_would_be_no_bound() -> None:
    """The twin: without the share the curve of real noise is above the truth at some epsilon."""
    mu = math.sqrt(5 / 3)
    above = [
        GaussianLoss(1 / mu).delta(epsilon).lower > enumerated(gaussian(3), (2, 1), epsilon)
        for epsilon in np.linspace(0, 3, 31)
    ]
    assert any(above)


def test_wide_noise_on_vectors_is_known_in_closed_form() -> None:
    """Sums on a fine lattice: sigma and the change are 10^8."""
    reach = of_clipped_sum(lower=0, upper=10**8, rows=1, groups=3, relation=AddRemove)
    loss = DiscreteGaussianLoss(10**16, reach)
    found = loss.delta(1)
    assert found.width <= 1e-9 * found.upper
    assert found.lower <= GaussianLoss(1 / math.sqrt(3)).delta(1).upper
    assert found.upper >= GaussianLoss(1 / math.sqrt(3)).delta(1).lower
    assert attained_at_least(Fraction(1, 4), ((1, 2),), Fraction(0)) == 0.0


def test_proofs_take_the_composition_only_where_closed_forms_leave_it_open() -> None:
    loss = DiscreteLaplaceLoss(2, of_count(rows=1, groups=3, relation=AddRemove))
    assert loss.proves(Fraction(3, 2), Fraction(0))
    assert loss.proves(Fraction(1, 2), Fraction(2, 5))
    assert loss.proves(Fraction(1, 2), Fraction(16, 100))
    assert not loss.proves(Fraction(1, 2), Fraction(15, 100))
    assert not loss.proves(Fraction(1, 4), Fraction(1, 10))


def test_nothing_moves() -> None:
    still = of_clipped_sum(lower=0, upper=0, rows=1, groups=3, relation=AddRemove)
    for loss in (DiscreteLaplaceLoss(2, still), DiscreteGaussianLoss(2, still)):
        assert loss.delta(0).upper == 0
        pairs = loss.statement.laws()
        assert pairs is not None
        assert pairs.upper[0].highest == 0

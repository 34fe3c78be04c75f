"""Finite mechanisms: constraints in integers, errors in the order that theory gives."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.variants import Kernel, Metric
from deniable.variants.kernel import _spanner
from deniable.variants.metric import point, ratios_below, satisfies

PLANE = Metric(norm="l2", unit="km")
SQUARE = [(x, y) for x in range(3) for y in range(3)]
PRIOR = [1, 2, 3, 1, 5, 1, 1, 0, 2]


def test_two_points_give_randomised_response() -> None:
    """On two points at distance 1 the best mechanism lies with probability 1 / (1 + e^epsilon)."""
    best = Kernel.optimal([(0,), (1,)], prior=[1, 1], epsilon=1, metric=PLANE)
    assert best.expected_error([1, 1]) == pytest.approx(1 / (1 + np.e), rel=1e-6)
    assert 1 - 1e-6 < float(best.privacy_loss.epsilon) <= 1


@pytest.mark.parametrize("dilation", [1, "1.1", "1.5"])
def test_neighbours_alone_are_constrained_and_all_pairs_keep_the_promise(dilation: object) -> None:
    """Paths by Dijkstra; the optimum by the program with a constraint for every pair and output."""
    table = PLANE.table(*[tuple(map(point, SQUARE))] * 2)
    first, second, stretch = _spanner(table, float(Fraction(dilation)))  # type: ignore[arg-type]
    paths = shortest_path(coo_array((table[first, second], (first, second)), shape=table.shape).tocsr())
    assert stretch == pytest.approx((paths / (table + np.eye(9))).max(initial=1))
    assert stretch <= float(Fraction(dilation)) * (1 + 1e-9)  # type: ignore[arg-type]
    assert len(first) == {1: 56, "1.1": 40, "1.5": 24}[dilation]
    every = np.argwhere(~np.eye(9, dtype=bool))
    rows = np.zeros((len(every), 9, 9, 9))
    for k, (i, j) in enumerate(every):
        rows[k, range(9), i, range(9)], rows[k, range(9), j, range(9)] = 1, -np.exp(0.7 * table[i, j])
    prior = np.array(PRIOR) / sum(PRIOR)
    cost, sums = (prior[:, None] * table).ravel(), np.kron(np.eye(9), np.ones(9))
    least = linprog(cost, rows.reshape(-1, 81), np.zeros(9 * len(every)), sums, np.ones(9)).fun
    best = Kernel.optimal(SQUARE, prior=PRIOR, epsilon="0.7", metric=PLANE, dilation=dilation)  # type: ignore[arg-type]
    assert best.privacy_loss.epsilon <= Fraction(7, 10)
    most = {1: 1 + 1e-6, "1.1": 1.1, "1.5": 1.25}[dilation]
    assert least * (1 - 1e-6) <= best.expected_error(PRIOR) <= least * most
    assert (paths <= table * (1 + 1e-9)).all() == (dilation == 1)  # the twin: epsilon itself would be too much


def test_optimal_beats_remapped_beats_raw_and_keeps_its_promise() -> None:
    best = Kernel.optimal(SQUARE, prior=PRIOR, epsilon="0.7", metric=PLANE)
    plain = Kernel.exponential(SQUARE, epsilon="0.7", metric=PLANE)
    again = plain.remapped(PRIOR)
    assert best.privacy_loss.epsilon <= Fraction(7, 10)
    assert plain.privacy_loss.epsilon <= Fraction(7, 10)
    assert again.privacy_loss.epsilon <= plain.privacy_loss.epsilon
    assert again.expected_error(PRIOR) <= plain.expected_error(PRIOR)
    assert best.expected_error(PRIOR) <= again.expected_error(PRIOR) + 1e-6
    assert best.adversary_error(PRIOR) == pytest.approx(best.expected_error(PRIOR), abs=1e-6)
    assert again.adversary_error(PRIOR) == pytest.approx(plain.adversary_error(PRIOR))


def test_the_solver_alone_would_break_its_promise() -> None:
    """The twin: weights of the optimal mechanism with a thousandth moved, and a weight for a stricter epsilon."""
    best = Kernel.optimal(SQUARE, prior=PRIOR, epsilon="0.7", metric=PLANE)
    assert satisfies(best.weights, ratios_below(best.points, PLANE, Fraction(7, 10)))
    assert not satisfies(best.weights, ratios_below(best.points, PLANE, Fraction(699, 1000)))
    moved = best.weights.copy()
    moved[0] += [2**50, -(2**50), *[0] * 7]
    assert not satisfies(moved, ratios_below(best.points, PLANE, Fraction(7, 10)))


def test_draws_have_the_law_of_the_weights() -> None:
    """Chi-square, false alarms 1 in 10^4; indices outside count as 0."""
    from scipy import stats

    kernel = Kernel.exponential(SQUARE, epsilon=1, metric=PLANE)
    found = kernel.release(np.full(50_000, 4), bits=DeterministicBits(5))
    assert not found.safe
    expected = kernel.weights[4] / kernel.total * 50_000
    assert stats.chisquare(np.bincount(found.value, minlength=9), expected * (50_000 / expected.sum())).pvalue > 1e-4
    rows: list[object] = [4, None, "4", 1.5, np.nan, 99, -1]
    alone = [4, 0, 4, *[0] * 4]  # what is no index counts as 0, and moves no other row; numeric text is a number
    assert (
        kernel.release(rows, bits=DeterministicBits(2)).value == kernel.release(alone, bits=DeterministicBits(2)).value
    ).all()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Kernel.optimal(SQUARE, prior=PRIOR[1:], epsilon=1, metric=PLANE),
        lambda: Kernel.optimal(SQUARE, prior=[0] * 9, epsilon=1, metric=PLANE),
        lambda: Kernel.optimal([(0, 0), (0, 0)], prior=[1, 1], epsilon=1, metric=PLANE),
        lambda: Kernel.optimal(SQUARE, prior=PRIOR, epsilon=0, metric=PLANE),
        lambda: Kernel.optimal(SQUARE, prior=PRIOR, epsilon=1, metric=PLANE, dilation="0.9"),
        lambda: Kernel.optimal(SQUARE, prior=[np.nan, *PRIOR[1:]], epsilon=1, metric=PLANE),
        lambda: Kernel.optimal(SQUARE, prior="few", epsilon=1, metric=PLANE),
        lambda: Kernel.exponential([(np.inf, 0), (1, 1)], epsilon=1, metric=PLANE),
        lambda: Kernel.exponential([0, 1], epsilon=1, metric=PLANE),
        lambda: Kernel.exponential(SQUARE, epsilon=1, metric="l2"),
        lambda: Kernel(points=((0,), (1,)), outputs=((0,), (1,)), weights=[[1, 2], [3]], metric=PLANE),
        lambda: Kernel(points=((0,), (1,)), outputs=((0,),), weights=np.array([[1], [2]]), metric=PLANE),
        lambda: Kernel(points=((0,), (1,)), outputs=((0,),), weights=np.array([[1.0], [1.0]]), metric=PLANE),
        lambda: (
            Kernel(points=((0,), (1,)), outputs=((0,), (1,)), weights=np.eye(2, dtype=int), metric=PLANE).privacy_loss
        ),
    ],
)
def test_bad_input_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidParameterError):
        wrong()  # type: ignore[operator]

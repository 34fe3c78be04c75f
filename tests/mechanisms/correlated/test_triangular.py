"""Dense strategies: the optimum with its certificate, and exact sums."""

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms.correlated import Triangular, Uses
from deniable.mechanisms.correlated.triangular import optimal, workload_gram


@pytest.mark.parametrize(("steps", "windows", "totals", "known"), [(256, [], True, 2.5244), (365, [7], False, 1.7724)])
def test_the_optimum_is_the_published_one_and_certified(
    steps: int, windows: list[int], totals: bool, known: float
) -> None:
    """From the reference of continual release, found by another program; benchmarks/stream has more."""
    best = optimal(workload_gram(steps, windows=windows, totals=totals))
    assert best.lower <= best.error <= best.lower * 1.0001
    assert (best.lower, best.error) == pytest.approx((known, known), abs=2e-4)


def test_the_strategy_has_the_error_of_the_optimum_and_beats_the_square_root() -> None:
    uses = Uses(steps=128, dimensions=1)
    best = optimal(workload_gram(128, windows=[7], totals=True))

    def error(made: Triangular) -> float:
        squares = [(made.spreads(uses) ** 2).mean(), (made.spreads(uses, window=7) ** 2).mean()]
        return float(np.sqrt(np.mean(squares)) * made.norm(uses))

    assert best.lower <= error(Triangular.best(uses, windows=[7], totals=True)) <= best.lower * 1.001
    assert error(Triangular.square_root(uses)) > best.lower * 1.05


def test_the_bound_is_that_of_no_strategy() -> None:
    """Random strategies of 12 steps never beat the lower bound; the twin bound, 1% above the optimum, is beaten."""
    gram = workload_gram(12, windows=[3], totals=True)
    best = optimal(gram)
    rng = np.random.default_rng(3)
    for _ in range(200):
        factor = np.tril(rng.normal(size=(12, 12))) + 3 * np.eye(12)
        candidate = factor.T @ factor
        error = np.sqrt(candidate.diagonal().max() * np.trace(gram @ np.linalg.inv(candidate)))
        assert error >= best.lower
    assert best.error < best.lower * 1.01


def test_square_roots_have_the_published_errors() -> None:
    """n = 2: 1.25; n = 4: 1.48828125 (reference of continual release)."""
    for steps, known in ((2, 1.25), (4, 1.48828125)):
        uses = Uses(steps=steps, dimensions=1)
        assert Triangular.square_root(uses).errors(uses)[0] == pytest.approx(known, abs=1e-4)


def test_entries_are_multiples_of_a_part_and_sums_are_exact() -> None:
    uses = Uses(steps=3, dimensions=2, lattice=1)
    made = Triangular(rows=((1,), (0.5, 1.1), (0.25, -0.3, 2)))
    state = made.blank(uses)
    totals = np.array([[2**30 + 1, 3], [5, -7], [11, 2**35]])
    released = [made.mixed(total, state, step, uses) for step, total in enumerate(totals, start=1)]
    whole = np.round(np.array([[1, 0, 0], [0.5, 1.1, 0], [0.25, -0.3, 2]]) * 2**14).astype(object)
    assert np.array_equal(np.array(released), whole @ totals.astype(object))
    public = made.blank(uses)
    for step, (total, noisy) in enumerate(zip(totals, released, strict=True), start=1):
        assert made.unmixed(noisy.astype(float), public, step, uses) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("rows", [(), ((1, 2),), ((0,),), ((1,), (float("nan"), 1)), ((1,), (1,))])
def test_rows_that_are_no_strategy_are_refused(rows: tuple) -> None:
    with pytest.raises(InvalidParameterError):
        Triangular(rows=rows)


def test_strategies_that_are_too_long_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="at most 1024"):
        Triangular.square_root(Uses(steps=2000, dimensions=1))
    with pytest.raises(InvalidParameterError, match="has 1 steps"):
        Triangular(rows=((1,),)).blank(Uses(steps=2, dimensions=1))
    with pytest.raises(InvalidParameterError, match="needs windows"):
        Triangular.best(Uses(steps=2, dimensions=1))

from itertools import product

import numpy as np
import pytest

from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.regression import moments
from deniable.statistics.regression.moments import Basis, system

GENERATOR = np.random.default_rng(1)


def scaled(size: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    values = GENERATOR.uniform(-1, 1, size=(size, features + 1))
    return values[:, :-1], values[:, -1]


@pytest.mark.parametrize("features", [1, 2, 3, 4])
def test_sums_are_those_of_the_least_squares_equations(features: int) -> None:
    x, y = scaled(20_000, features)
    z = np.column_stack([np.ones(len(x)), x])
    for basis in Basis.all(features=features, rows=1, relation=AddRemove):
        sums = basis.to_sums @ (basis.exact(x, y).astype(np.float64) / basis.unit)
        matrix, vector = system(sums, features)
        # each row is rounded by at most 2^-8 of half a column, with three features: 20,000 of them add up to 0.5 or so
        assert matrix == pytest.approx(z.T @ z, abs=2 if features == 3 and basis.is_bernstein else 0.2)
        assert vector == pytest.approx(z.T @ y, abs=2 if features == 3 and basis.is_bernstein else 0.2)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("kind", ["plain", "bernstein"])
def test_no_row_moves_the_integers_further_than_the_sensitivity(kind: str, relation: Relation) -> None:
    """All pairs of rows at ends, middle, and between."""
    values = (-1.0, -0.37, 0.0, 0.5, 1.0)
    basis = (Basis.plain if kind == "plain" else Basis.bernstein)(features=1, rows=1, relation=relation)
    points = [basis.exact(np.array([[u]]), np.array([v])) for u, v in product(values, repeat=2)]
    changes = points if relation is AddRemove else [one - other for one, other in product(points, repeat=2)]
    assert max(sum(abs(entry) for entry in change) for change in changes) <= basis.sensitivity.l1
    assert max(sum(entry**2 for entry in change) for change in changes) <= basis.sensitivity.l2_squared
    assert max(abs(entry) for change in changes for entry in change) <= basis.sensitivity.linf
    if relation is AddRemove or kind == "bernstein":
        assert max(sum(abs(entry) for entry in change) for change in changes) == basis.sensitivity.l1


def test_wider_bounds_of_either_end_are_not_forgotten() -> None:
    """diffprivlib #104: the sensitivity of x_i x_j took the lower bound twice, so [0, 100] had sensitivity 0. Here
    columns are scaled by half of the distance of their bounds, so a row at either end moves a square by the whole."""
    basis = Basis.plain(features=1, rows=1, relation=AddRemove)
    for end in (-1.0, 1.0):
        assert basis.exact(np.array([[end]]), np.array([end]))[2] == basis.unit
    assert basis.sensitivity.linf == basis.unit


@pytest.mark.parametrize("features", [1, 2, 3])
def test_bernstein_weights_of_a_row_add_up_to_the_unit_at_most(features: int) -> None:
    basis = Basis.bernstein(features=features, rows=1, relation=Replace)
    for row in GENERATOR.uniform(-1, 1, size=(200, features + 1)):
        weights = basis.exact(row[np.newaxis, :-1], row[-1:])
        assert basis.unit - len(weights) <= sum(weights) <= basis.unit
        assert min(weights) >= 0


def test_chunks_make_no_difference() -> None:
    x, y = scaled(5000, 2)
    for basis in Basis.all(features=2, rows=1, relation=AddRemove):
        parts = [basis.exact(x[start : start + 617], y[start : start + 617]) for start in range(0, 5000, 617)]
        assert (sum(parts) == basis.exact(x, y)).all()
    assert moments._CHUNK * 2**moments._UNIT < 2**63
    assert all((2 * features + 1) * digits < 63 for features, digits in moments._COLUMN_DIGITS.items())
    assert moments._CHUNK * moments._LATTICE_STEPS**2 < 2**53

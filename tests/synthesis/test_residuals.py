"""Residuals of tables: their sensitivity, least squares and intervals, each by a second route."""

import math
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from deniable.mechanisms.additive import Gaussian, Laplace
from deniable.noise.bits import DeterministicBits
from deniable.numbers.arrays import Floats
from deniable.privacy import AddRemove, Relation
from deniable.synthesis.residuals import (
    Measurement,
    ResidualSpace,
    Spread,
    Table,
    centred,
    closure,
    residual_sensitivity,
    subsets,
)

SIZES = (3, 2, 4)
TABLES: tuple[Table, ...] = ((0, 1), (1, 2), (2,), ())


def mixed_space(*, residual: bool, again: tuple[Table, ...] = ()) -> ResidualSpace:
    """Measurements with different noise: of residuals, or of whole tables that share residuals, some of them again."""
    tables = (*(closure(TABLES) if residual else (*TABLES, (0, 1), (0,))), *again)
    noises = [Gaussian(sigma_squared=Fraction(100 + 70 * at)) for at in range(len(tables))]
    pairs = zip(tables, noises, strict=True)
    return ResidualSpace(SIZES, tuple(Measurement(table, noise, residual) for table, noise in pairs))


def dense(space: ResidualSpace) -> tuple[Floats, Floats]:
    """The matrix that takes all cells to what is measured, and the deviations of its noise."""
    cells = list(product(*map(range, space.sizes)))
    rows, deviations = [], []
    for measurement in space.measurements:
        shape = [space.sizes[column] for column in measurement.table]
        arrays = []
        for cell in cells:
            unit = np.zeros(shape)
            unit[tuple(cell[column] for column in measurement.table)] = 1
            arrays.append((centred(unit) if measurement.residual else unit).ravel())
        rows.append(np.array(arrays).T)
        deviations += [measurement.noise.standard_deviation()] * len(rows[-1])
    return np.vstack(rows), np.array(deviations)


def summed(space: ResidualSpace, table: Table) -> Floats:
    """The matrix that takes all cells to a table."""
    whole = ResidualSpace(space.sizes, (Measurement(table, Gaussian(sigma_squared=1), residual=False),))
    return dense(whole)[0]


def noisy_arrays(space: ResidualSpace, values: Floats) -> list[Floats]:
    ends = np.cumsum([space.cells(measurement.table) for measurement in space.measurements])[:-1]
    parts = zip(np.split(values, ends), space.measurements, strict=True)
    return [part.reshape([space.sizes[column] for column in each.table]) for part, each in parts]


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("sizes", [(), (2,), (4,), (2, 3), (3, 3), (2, 2, 2), (4, 3, 2)], ids=str)
@pytest.mark.parametrize("limit", [1, 2])
def test_sensitivities_are_those_of_the_worst_rows(relation: Relation, sizes: tuple[int, ...], limit: int) -> None:
    vectors = []
    for cell in product(*map(range, sizes)):
        unit = np.zeros(sizes, dtype=np.int64)
        unit[cell] = 1
        vectors.append(centred(unit).ravel())
    of_unit = [sum(pick, np.zeros_like(vectors[0])) for pick in product([*vectors, 0 * vectors[0]], repeat=limit)]
    moves = np.array(of_unit)
    if relation is not AddRemove:
        moves = (moves[:, None] - moves[None]).reshape(-1, moves.shape[1])
    stated = residual_sensitivity(sizes, rows=limit, relation=relation)
    assert stated.l2_squared == (moves**2).sum(axis=1).max()
    assert stated.linf == np.abs(moves).max()
    worst = np.abs(moves).sum(axis=1).max()
    assert worst == stated.l1 if relation is AddRemove else worst <= stated.l1


@pytest.mark.parametrize("residual", [True, False])
def test_estimates_and_deviations_are_those_of_dense_least_squares(residual: bool) -> None:
    space = mixed_space(residual=residual, again=((0, 1), ()))
    matrix, deviations = dense(space)
    values = np.random.default_rng(5).normal(size=len(matrix)) * 50
    scaled = matrix / deviations[:, None]
    inverse = np.linalg.pinv(scaled)
    best = inverse @ (values / deviations)
    estimates = space.estimates(noisy_arrays(space, values))
    rng = np.random.default_rng(6)
    for table in [*TABLES, (0,), (1,)]:
        made = summed(space, table)
        assert space.table(table, estimates).ravel() == pytest.approx(made @ best, abs=1e-9)
        covariance = made @ inverse @ inverse.T @ made.T
        assert np.diag(covariance) == pytest.approx(space.variance(table), rel=1e-9)
        weights = rng.normal(size=(3, *(SIZES[column] for column in table)))
        flat = weights.reshape(3, -1)
        expected = np.sqrt(np.einsum("ij,jk,ik->i", flat, covariance, flat))
        assert space.spread_of(table, weights).deviations == pytest.approx(expected, rel=1e-9)


def test_kurtosis_is_that_of_the_weights_on_what_was_measured() -> None:
    tables = ((0,), (0, 1))
    space = ResidualSpace(SIZES, tuple(Measurement(table, Laplace(scale=30), residual=False) for table in tables))
    matrix, deviations = dense(space)
    inverse = np.linalg.pinv(matrix / deviations[:, None]) / deviations
    loads = (summed(space, (0,)) @ inverse)[0]
    corner = np.array([[1.0, 0, 0]])
    spread = space.spread_of((0,), corner)
    assert spread.deviations**2 == pytest.approx((loads**2 * deviations**2).sum(), rel=1e-9)
    expected = 3 * (loads**4 * deviations**4).sum() / (loads**2 * deviations**2).sum() ** 2
    assert spread.excess == pytest.approx(expected, rel=2e-3)  # the noise has steps


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_intervals_are_exact_for_normal_laplace_and_two_laplace_errors(level: float) -> None:
    normal, one, two = Spread(np.full(3, math.sqrt(2)), np.array([0, 3, 1.5]), np.zeros(3)).half_widths(level)
    assert math.erf(normal / 2) == pytest.approx(level, abs=1e-9)
    assert 1 - math.exp(-one) == pytest.approx(level, abs=1e-4)
    scale = 1 / math.sqrt(2)  # two of them have the variance 2
    assert 1 - (1 + two / scale / 2) * math.exp(-two / scale) == pytest.approx(level, abs=1e-4)


@pytest.mark.parametrize("scale", ["1/8", "1/3", 1, 4])
def test_noise_in_few_steps_is_within_its_interval(scale: Any) -> None:
    noise = Laplace(scale=scale)
    space = ResidualSpace((2,), (Measurement((0,), noise, residual=False),))
    width = space.spread_of((0,), np.array([[1.0, 0]])).half_widths(0.95).item()
    assert noise.half_width("0.95") <= width < noise.half_width("0.95") + 2


@pytest.mark.parametrize("scale", ["1/3", "1/2", 1, 4])
def test_intervals_of_sums_hold_also_where_noise_has_few_steps(scale: Any) -> None:
    """Of 3,000 counts whose errors hardly depend on each other: fails once in 10^5 keys at the level."""
    noise = Laplace(scale=scale)
    space = ResidualSpace((60, 50), tuple(Measurement(table, noise, residual=False) for table in ((0,), (0, 1))))
    arrays = [noise.release(np.zeros(shape, dtype=np.int64)).value for shape in ((60,), (60, 50))]
    errors = np.abs(space.table((0, 1), space.estimates(arrays)))
    spread = space.spread_of_counts((0, 1))
    assert (errors <= spread.half_widths(0.9)).mean() > 0.9 - 4 * 0.0055
    drawn = np.quantile(np.abs(spread.draws(100_000, bits=DeterministicBits(1))), 0.9)
    assert drawn == pytest.approx(spread.half_widths(0.9).item(), rel=0.02)


def test_nonnegative_tables_are_the_nearest_by_their_variances() -> None:
    space = mixed_space(residual=True)
    matrix, deviations = dense(space)
    truth = np.zeros(matrix.shape[1])
    truth[:4] = [40, 3, 0, 9]
    values = matrix @ truth + np.random.default_rng(1).normal(size=len(matrix)) * deviations
    unbiased = space.estimates(noisy_arrays(space, values))
    assert min(space.table(table, unbiased).min() for table in TABLES) < -2
    made = space.nonnegative(TABLES, unbiased)
    for table in TABLES:
        counts = space.table(table, made)
        assert counts.min() > -1e-3 * math.sqrt(space.variance(table))
    assert space.table((0, 1), made).sum(axis=0) == pytest.approx(space.table((1,), made), abs=1e-9)

    def distance(cells: Floats) -> Any:
        return (((matrix @ cells - values) / deviations) ** 2).sum()

    above = [{"type": "ineq", "fun": partial(np.matmul, summed(space, table))} for table in TABLES]
    best = minimize(distance, truth, constraints=above, method="SLSQP", options={"maxiter": 500, "ftol": 1e-12})
    for table in TABLES:
        assert space.table(table, made).ravel() == pytest.approx(summed(space, table) @ best.x, abs=0.05)


def test_subsets_of_tables_come_once_and_smaller_ones_first() -> None:
    assert subsets((1, 3)) == [(), (1,), (3,), (1, 3)]
    assert closure([(0, 1), (1, 2), (1,)]) == ((), (0,), (1,), (2,), (0, 1), (1, 2))

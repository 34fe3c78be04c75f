"""Noisy moments: what one row moves, by all rows of a grid, and moments by the plain formulas."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.learning.estimators.moments import BoxMoments, Priced, log_total
from deniable.learning.estimators.reading import Features
from deniable.mechanisms.vectors.clipping import clipped
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace

GRID = (-1.0, -0.6, 0.0, 1.0)
WEIGHTS = ((0, 0), (1, 0), (0, 1), (0.5, 0.5), (0.2, 0.7))


class Model(Priced):
    def _planned(self, X: Any, y: Any) -> Any:
        raise NotImplementedError


def box(features: int = 2, *, bounds: tuple[float, float] = (-1, 1), relation: Relation = AddRemove,
        price: dict[str, Any] | None = None, **options: Any) -> BoxMoments:  # fmt: skip
    model = Model(relation=relation, **(price or {"epsilon": 1, "delta": "1e-6"}))
    return BoxMoments(model, Features.of([bounds] * features, None), **options)


def rows_of(found: BoxMoments) -> np.ndarray:
    """The integers that each row of the grid adds: any places in each of two blocks, with any weights."""
    places = np.array(list(product(GRID, repeat=4))).reshape(-1, 2, 2)
    weights = np.array(WEIGHTS)
    vectors = found.vectors(np.repeat(weights, len(places), axis=0), np.tile(places, (len(weights), 1, 1)))
    return np.vstack([clipped(vectors, radius=found.radius, steps=2**20), np.zeros(vectors.shape[1], dtype=int)])


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("cross", [False, True])
def test_no_row_moves_the_sums_by_more_than_the_stated_sensitivity(relation: Relation, cross: bool) -> None:
    found = box(relation=relation, blocks=2, cross=cross)
    rows = rows_of(found)
    moved = rows[:, np.newaxis, :] - rows[::7] if relation is Replace else rows[:, np.newaxis, :]
    l1, l2_squared = np.abs(moved).sum(axis=2).max(), (moved.astype(float) ** 2).sum(axis=2).max()
    assert l1 <= found.sensitivity.l1
    assert l2_squared <= found.sensitivity.l2_squared
    assert np.abs(moved).max() <= found.sensitivity.linf
    if relation is AddRemove:
        assert l2_squared > 0.99999 * float(found.sensitivity.l2_squared)  # attained, so no smaller one would do


def test_weights_that_add_up_to_more_than_one_are_cut_to_the_same_norms() -> None:
    """Both norms are checked in integers, whatever floats did: three times the weight moves no more, or nothing."""
    found = box(blocks=2, price={"epsilon": 1})
    seen: list[np.ndarray] = []
    weights, places = np.array([[3.0, 3.0], [0.9, 0.9]]), np.ones((2, 1, 2))

    class Noise:
        def release(self, exact: np.ndarray, **_: Any) -> Any:
            seen.append(exact)
            raise StopIteration

    found.noise = Noise()  # type: ignore[assignment]
    for row in range(2):
        with pytest.raises(StopIteration):
            found.release(1, lambda _, at=row: (weights[[at]], places[[at]]), DeterministicBits(1))  # type: ignore[misc]
    assert all(np.abs(exact).sum() <= found.sensitivity.l1 for exact in seen)
    assert all((exact**2).sum() <= found.sensitivity.l2_squared for exact in seen)


@pytest.mark.parametrize("cross", [False, True])
def test_moments_are_those_of_numpy_where_noise_is_small(cross: bool) -> None:
    rng = np.random.default_rng(1)
    rows = np.clip(rng.normal([3, 5, 7], [1, 0.5, 1.5], (2000, 3)) @ [[1, 0.2, 0], [0, 1, 0], [0, 0, 1]], 0, 10)
    found = box(3, bounds=(0, 10), price={"rho": 10**6}, cross=cross)
    places = found.positions(rows)
    moments = found.release(2000, lambda some: (np.ones((len(places[some]), 1)), places[some]), DeterministicBits(1))
    assert moments.counts == pytest.approx([2000], abs=0.1)
    assert 5 + 5 * moments.means[0] == pytest.approx(rows.mean(axis=0), abs=1e-3)
    expected = np.cov(rows.T, bias=True)
    assert 25 * moments.covariances[0] == pytest.approx(expected if cross else np.diag(np.diag(expected)), abs=2e-3)
    assert moments.variances[0] == pytest.approx(np.diag(moments.covariances[0]))


def test_stated_deviations_are_those_of_the_noise() -> None:
    """No rows, 400 blocks: within 25 % of the truth with a chance of failure below 1e-9."""
    found = box(1, blocks=400)
    noisy = found.noise.release(np.zeros((400, found.columns), dtype=int), bits=DeterministicBits(3)).value
    counts = noisy[:, 0].astype(float) * found.radius / 2**20  # with one feature c is 1
    assert counts.std() == pytest.approx(found.deviation, rel=0.25)
    sums = np.tile([100 * 1.0, 0, -100 * np.sqrt(0.5)], (400, 1)) + noisy.astype(float) * found.radius / 2**20
    moments = found._moments(sums)
    assert moments.means.std() == pytest.approx(moments.blur.mean(), rel=0.3)
    assert moments.variances.std() == pytest.approx(moments.doubt.mean(), rel=0.3)


def test_what_cannot_be_released_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="1e\\+100"):
        box(bounds=(0, 1e200))
    with pytest.raises(InvalidParameterError, match="fewer features"):
        box(100, blocks=10_000)
    with pytest.raises(InvalidParameterError, match="specify the price"):
        box(price={"delta": "1e-6"})
    with pytest.raises(InvalidParameterError, match="relation"):
        box(relation="both")  # type: ignore[arg-type]


def test_log_total_is_that_of_scipy_and_survives_far_rows() -> None:
    from scipy.special import logsumexp

    logs = np.array([[0.0, 1.0, -3.0], [-1e5, -2e5, -1e5], [-1e300, -1e300, 0]])
    assert log_total(logs)[:, 0] == pytest.approx(logsumexp(logs, axis=1))

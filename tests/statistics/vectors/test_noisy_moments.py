from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from deniable.mechanisms import Gaussian, Laplace
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.vectors.matrix_noise import MatrixNoise
from deniable.statistics.vectors.noisy_moments import NoisyMoments, lost

GENERATOR = np.random.default_rng(8)
BACK = np.array([[2.0, 0.5], [0.5, 1.0]])


def look(
    z: np.ndarray, noise: Callable[[tuple[int, int]], np.ndarray], mechanism: AdditiveNoise, *, known: bool
) -> NoisyMoments:
    """Of integer rows w in steps of 1/100 with a constant of 100 before them, as a step of the statistic sees them."""
    rows = np.column_stack([np.full(len(z), 100.0), z])
    noisy = rows.T @ rows + noise((3, 3))
    noisy = (noisy + noisy.T) / 2
    return NoisyMoments(
        squares=noisy[1:, 1:] / 100**2,
        sums=noisy[0, 1:] / 100**2,
        rows=len(z) if known else noisy[0, 0] / 100**2,
        noise=MatrixNoise(mechanism, 3),
        step=1 / 100,
        constant=100,
        size_is_public=known,
        size=len(z),
        squared_radius=1e6,
        back=BACK,
        variance=1e-6,
    )


def draws(mechanism: AdditiveNoise, shape: tuple[int, int]) -> np.ndarray:
    if isinstance(mechanism, Laplace):
        return np.rint(GENERATOR.laplace(size=shape) * float(mechanism.scale))
    assert isinstance(mechanism, Gaussian)
    return np.rint(GENERATOR.normal(size=shape) * float(mechanism.sigma_squared) ** 0.5)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("mechanism", [Laplace(scale=Fraction(10**5)), Gaussian(sigma_squared=Fraction(10**10))])
def test_intervals_hold_the_covariance_of_the_clipped_rows(known: bool, mechanism: AdditiveNoise) -> None:
    """Whatever the rows: here 400 in four lumps. Of 1,500 looks at three entries the share that holds
    has a standard error of 1.1% at most, counted as one entry: four of them. Half of the width holds far less often."""
    z = np.repeat([[150.0, 0], [-140, 50], [-20, -60], [15, 20]], 100, axis=0)
    true = BACK @ np.cov((z / 100).T, bias=True) @ BACK.T
    looks = [look(z, lambda shape: draws(mechanism, shape), mechanism, known=known) for _ in range(1500)]
    for level in (0.8, 0.95):
        lower, upper = (np.array(ends) for ends in zip(*(seen.intervals(level) for seen in looks), strict=True))
        held = (lower <= true) & (true <= upper)
        half = np.abs(true - (lower + upper) / 2) <= (upper - lower) / 4
        assert np.mean(held, axis=0).min() >= level - 4 * np.sqrt(level * (1 - level) / 1500)
        assert np.mean(half, axis=0).min() < level - 0.05


@pytest.mark.parametrize("scale", [4 * 10**5, 15 * 10**5])
def test_intervals_hold_where_noise_hides_the_number_of_rows(scale: int) -> None:
    """400 rows, counted with a deviation of 57 or 212. Of 2,000 looks the share that holds has a standard error of
    0.5%; a fifth of the width, where it is finite, holds far less often."""
    z = np.repeat([[150.0, 0], [-140, 50], [-20, -60], [15, 20]], 100, axis=0)
    true, mechanism = BACK @ np.cov((z / 100).T, bias=True) @ BACK.T, Laplace(scale=Fraction(scale))
    found = [
        look(z, lambda shape: draws(mechanism, shape), mechanism, known=False).intervals(0.95) for _ in range(2000)
    ]
    lower, upper = (np.array(ends) for ends in zip(*found, strict=True))
    assert np.mean((lower <= true) & (true <= upper), axis=0).min() >= 0.95 - 4 * 0.005
    finite = np.isfinite(upper - lower).all(axis=(1, 2))
    assert finite.any()
    middle, half = (lower[finite] + upper[finite]) / 2, (upper[finite] - lower[finite]) / 2
    assert np.mean(np.abs(middle - true) <= half / 5, axis=0).min() < 0.8
    assert (upper.diagonal(axis1=1, axis2=2) >= lower.diagonal(axis1=1, axis2=2)).all()


@pytest.mark.parametrize("known", [True, False])
def test_the_chance_for_means_is_chosen_by_what_was_known_before(known: bool) -> None:
    """Other draws of the noise give the same choice: all that `_expected` reads is public before."""
    mechanism = Laplace(scale=Fraction(10**5))
    z = np.repeat([[150.0, 0], [-140, 50]], 200, axis=0)
    found = {
        tuple(
            look(z, lambda shape: draws(mechanism, shape), mechanism, known=known)._expected(part, 0.05)
            for part in parts
        )
        for parts in [(0.02, 0.2)] * 5
    }
    assert len(found) == 1


def test_without_noise_an_interval_is_the_covariance() -> None:
    z = np.rint(GENERATOR.normal(50, 100, (500, 2)))
    mechanism = Laplace(scale=Fraction(1, 20))
    lower, upper = look(z, np.zeros, mechanism, known=False).intervals(0.95)
    true = BACK @ np.cov((z / 100).T, bias=True) @ BACK.T
    assert (lower <= true).all()
    assert (true <= upper).all()
    assert np.abs(upper - lower).max() < 1e-3 * true.max()


def test_too_few_rows_for_their_count_say_nothing() -> None:
    mechanism = Laplace(scale=Fraction(10**5))
    lower, upper = look(np.ones((1, 2)), np.zeros, mechanism, known=False).intervals(0.95)
    assert np.isneginf(lower).all()
    assert np.isposinf(upper).all()


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_clipping_takes_what_is_said_of_normal_rows(columns: int) -> None:
    """E[w w^T (1 - g / |w|^2)+] by 400,000 draws, for random covariances with no variance above 1.5, against the
    range of b^T L c over 0 <= L <= 1.5 lost I. An entry is off by 0.01 at most: five standard errors."""
    squared = 1.5 * columns
    most = 1.5 * float(lost(columns, squared / 1.5))
    for _ in range(4):
        axes, _ = np.linalg.qr(GENERATOR.normal(size=(columns, columns)))
        rows = GENERATOR.normal(size=(400_000, columns)) @ (axes * np.sqrt(GENERATOR.uniform(0.2, 1.5, columns))).T
        weights = np.maximum(1 - squared / (rows**2).sum(axis=1), 0)
        taken = (rows * weights[:, np.newaxis]).T @ rows / len(rows)
        back = GENERATOR.normal(size=(columns, columns))
        gram = back @ back.T
        norms = np.sqrt(np.outer(gram.diagonal(), gram.diagonal()))
        found = back @ taken @ back.T
        assert (found >= most * (gram - norms) / 2 - 0.01 * norms).all()
        assert (found <= most * (gram + norms) / 2 + 0.01 * norms).all()
    rows = GENERATOR.normal(size=(400_000, columns)) * np.sqrt(1.5)  # the worst case, which is attained
    weights = np.maximum(1 - squared / (rows**2).sum(axis=1), 0)
    assert (rows[:, 0] ** 2 * weights).mean() == pytest.approx(most, rel=0.02)

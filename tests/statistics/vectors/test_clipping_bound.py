import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.mechanisms import Laplace
from deniable.mechanisms.additive import NoiseLaw
from deniable.release.columns import Noisy
from deniable.statistics.vectors.clipping_bound import ClippingBound, part_taken, taken

GENERATOR = np.random.default_rng(8)


@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.05, 0.3])
def test_exponential_tails_lose_what_quadrature_says(share: float) -> None:
    """E[(U / (1 + U))^2] for U exponential of mean 1 / (ln(1 / share) - 1), by Gauss-Laguerre quadrature."""
    nodes, weights = np.polynomial.laguerre.laggauss(150)
    excess = nodes / (-math.log(share) - 1)
    squared = float(weights @ (excess / (1 + excess)) ** 2)
    assert part_taken(share, radius=1.0, spread=1e9) == pytest.approx(math.sqrt(share * squared), rel=1e-4)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("spread", [0.3, 1.0, 2.0])
def test_no_rows_whatever_their_tail_lose_more(share: float, spread: float) -> None:
    """The worst of all tables, by a linear program: shares of rows at distances from 1 to 30 times the radius."""
    from scipy.optimize import linprog

    distances = np.linspace(1, 30, 3000)
    squares = [np.ones(3000), distances**2]
    worst = -linprog(-((1 - 1 / distances) ** 2), A_ub=squares, b_ub=[share, spread**2]).fun
    free = min(math.sqrt(share), spread / 2)
    free -= free**2 / spread
    assert free == pytest.approx(math.sqrt(worst), rel=1e-3)
    assert part_taken(share, radius=1.0, spread=spread) <= free
    if share > 1 / math.e:
        assert part_taken(share, radius=1.0, spread=spread) == free


def test_fewer_rows_beyond_a_radius_lose_less() -> None:
    found = [part_taken(share, radius=2.0, spread=2.0) for share in np.geomspace(1e-9, 1.0, 60)]
    assert found == sorted(found)


def cut(rows: np.ndarray, centre: np.ndarray, radius: float, *, counted: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """What the mean of each column loses, and the bound on that where hardly any noise is in the number of rows."""
    seen = rows - centre
    norms = np.linalg.norm(seen, axis=1)
    clipped = seen * np.minimum(1, radius / norms)[:, np.newaxis]
    law = NoiseLaw(Laplace(scale=Fraction(1, 100)))
    beyond = Noisy(name="beyond", values=np.array([counted * np.sum(norms > radius)]), law=law)
    farthest = np.full(rows.shape[1], 1e3)
    bound = ClippingBound(radius, beyond, len(rows)).lost(np.abs(clipped.mean(axis=0)), farthest, chance=0.01)
    return np.abs((seen - clipped).mean(axis=0)), bound


def equal_lumps(columns: int) -> np.ndarray:
    """One row in ten is 1 in all columns, others 0."""
    return np.repeat((GENERATOR.uniform(size=(3000, 1)) < 0.1) / 0.3 - 1 / 3, columns, axis=1)


TABLES = {
    "normal": lambda columns: GENERATOR.normal(size=(3000, columns)),
    "equal normal": lambda columns: np.repeat(GENERATOR.normal(size=(3000, 1)), columns, axis=1),
    "equal skewed": lambda columns: np.repeat(GENERATOR.exponential(size=(3000, 1)) - 1, columns, axis=1),
    "skewed": lambda columns: GENERATOR.exponential(size=(3000, columns)) - 1,
    "Laplace": lambda columns: GENERATOR.laplace(size=(3000, columns)) / 2**0.5,
}


@pytest.mark.parametrize("away", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("columns", [1, 5, 50])
@pytest.mark.parametrize("kind", TABLES)
def test_clipping_takes_no_more_than_is_said(kind: str, columns: int, away: float) -> None:
    """Around centres that are off in all columns. A column of the tables may have a deviation of 1.03."""
    rows = TABLES[kind](columns)
    for radius in np.array([1.1, 1.5, 2.5]) * math.sqrt(columns):
        lost, bound = cut(rows, np.full(columns, away), float(radius))
        assert (lost <= 1.03 * bound).all()


def test_rows_in_two_lumps_may_lose_half_as_much_again() -> None:
    """They do not thin out, which the documentation says."""
    for columns in (1, 5, 50):
        lost, bound = cut(equal_lumps(columns), np.zeros(columns), 1.1 * math.sqrt(columns))
        assert (lost < 1.5 * bound).all()


def test_the_bound_is_no_idle_one() -> None:
    """Equal skewed columns lose more than a third of it, and more than all of it if a hundredth of them is counted."""
    rows = TABLES["equal skewed"](50)
    lost, bound = cut(rows, np.zeros(50), 1.2 * math.sqrt(50))
    assert (lost > bound / 3).all()
    lost, bound = cut(rows, np.zeros(50), 1.2 * math.sqrt(50), counted=0.01)
    assert (lost > bound).all()


def test_what_is_far_by_bounds_alone_is_found_nearer() -> None:
    """Whatever public bounds say, the mean cannot be far from a centre around which the clipped rows are."""
    _, bound = cut(TABLES["normal"](5), np.zeros(5), 4.0)
    assert (bound < 0.2).all()


def test_where_no_row_may_be_counted_the_radius_alone_bounds_the_loss() -> None:
    """A share e^-t is beyond t deviations in all columns, and its excess is 1 on average."""
    assert taken(1.0, radius=8.0, away=np.zeros(1), size=math.inf) == pytest.approx(math.exp(-8))
    assert taken(1.0, radius=8.0 * 2, away=np.full(4, 2.0), size=math.inf) == pytest.approx([math.exp(-6)] * 4)
    assert taken(1.0, radius=0.5, away=np.zeros(1), size=math.inf) == pytest.approx(1 - 0.5)  # half of the spread 2

"""Planar Laplace by its law on the grid."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import dblquad

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.variants import PlanarLaplace

LOCATIONS = Path(__file__).parents[3] / "shared" / "data" / "locations.npz"
CITY = PlanarLaplace(epsilon="0.01", step=10, lower=(0, 0), upper=(20_000, 20_000), unit="m")


def cell(place: tuple[float, float], index: tuple[int, int], epsilon: float) -> float:
    """The probability of one cell of side 1, by quadrature."""
    ends = [(i - 0.5 - side, i + 0.5 - side) for i, side in zip(index, place, strict=True)]
    density = lambda y, x: epsilon**2 / (2 * np.pi) * np.exp(-epsilon * np.hypot(x, y))  # noqa: E731
    return float(dblquad(density, *ends[0], *ends[1], epsabs=1e-11)[0])


def greatest_ratio(noise: float) -> float:
    """The greatest of K(x)(z) / (e^d(x, x') K(x')(z)) over four places and twelve cells, for a claim of epsilon = 1."""
    places = [(0.0, 0.0), (0.3, 0.0), (1.0, 1.0), (2.0, 0.0)]
    laws = {p: [cell(p, z, noise) for z in product(range(-1, 3), range(-1, 2))] for p in places}
    return max(
        max(np.divide(laws[x], laws[y])) / np.exp(np.hypot(*np.subtract(x, y)))
        for x in places
        for y in places
        if x != y
    )


def test_the_law_on_the_grid_keeps_the_claim_and_less_noise_does_not() -> None:
    assert greatest_ratio(1.0) <= 1 + 1e-7
    assert greatest_ratio(1.1) > 1.01


def test_the_radius_is_the_quantile_of_a_gamma_law() -> None:
    """At epsilon = 1, 95% of the mass is within 4.743864518 (Andres et al.: C(r) = 1 - (1 + r) e^-r)."""
    fine = PlanarLaplace(epsilon=1, step="1e-9", lower=(0, 0), upper=(1000, 1000))
    assert fine.radius("0.95") == pytest.approx(4.743864518, abs=2e-9)


def test_reports_are_on_the_grid_in_the_region_and_as_far_as_stated() -> None:
    """4,000 reports: their mean distance has a standard error of 2.3, and 95% are within the radius up to 1.4%."""
    reports = CITY.release(np.full((4000, 2), 10_004.0), bits=DeterministicBits(3))
    assert not reports.safe
    assert (reports.value % 10 == 0).all()
    away = np.hypot(*(reports.value - 10_004).T)
    assert away.mean() == pytest.approx(CITY.expected_error, abs=9)
    assert (away <= CITY.radius("0.95")).mean() == pytest.approx(0.95, abs=0.015)
    corner = CITY.release(np.zeros((500, 2))).value
    assert corner.min() == 0
    assert corner.max() <= 20_000


def test_one_row_never_changes_how_another_is_read() -> None:
    rows = [(5, 5), (float("nan"), 5), (float("inf"), 5), ("text", None), (1e300, -1e300), None]
    together = CITY.release(rows, bits=DeterministicBits(1)).value
    alone = CITY.release([rows[0], *[(7, 7)] * 5], bits=DeterministicBits(1)).value
    assert together.shape == (6, 2)
    assert (together[0] == alone[0]).all()
    middle = CITY.release([(10_000, 10_000)] * 6, bits=DeterministicBits(1)).value
    assert (together[5] == middle[5]).all()
    with pytest.raises(InvalidParameterError, match="two columns, x and y, got 3"):
        CITY.release(np.zeros((2, 3)))


def test_a_prior_moves_reports_to_where_people_can_be() -> None:
    roads = [[0, 0], [1000, 0], [5000, 5000]]
    moved = CITY.remap([[900, 300], [4000, 4000]], points=roads, prior=[1, 1, 1])
    assert moved.tolist() == [[1000, 0], [5000, 5000]]
    assert CITY.remap([[900, 300]], points=roads, prior=[1, 0, 0]).tolist() == [[0, 0]]
    for reports, points, prior in (
        ([[0, 0]], roads, [1, 1]),
        ([[float("nan"), 0]], roads, [1, 1, 1]),
        ([[0, 0]], [[float("inf"), 0]], [1]),
        ([[0, 0, 0]], roads, [1, 1, 1]),
    ):
        with pytest.raises(InvalidParameterError):
            CITY.remap(reports, points=points, prior=prior)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"step": -1},
        {"lower": (0,)},
        {"upper": (0, 20_000)},
        {"upper": (float("inf"), 1)},
        {"step": "1e-20"},
        {"epsilon": "1e-30"},
    ],
)
def test_a_region_that_is_none_is_refused(wrong: dict[str, object]) -> None:
    facts = {"epsilon": "0.01", "step": 10, "lower": (0, 0), "upper": (20_000, 20_000)}
    with pytest.raises(InvalidParameterError):
        PlanarLaplace(**{**facts, **wrong})


@pytest.mark.skipif(not LOCATIONS.exists(), reason="needs the shared data")
def test_trips_keep_their_centre() -> None:
    """2,000 taxi trips on cells of 1: the mean of the reports has a standard error below 0.2."""
    cabs = np.load(LOCATIONS)["BEIJING_CABS_E"]
    cells = np.argwhere(cabs > 0)
    chosen = cells[:: len(cells) // 2000].astype(float)
    region = PlanarLaplace(epsilon="1/2", step="1/4", lower=(0, 0), upper=(255, 255))
    reports = region.release(chosen, bits=DeterministicBits(2)).value
    assert np.abs(reports.mean(axis=0) - chosen.mean(axis=0)).max() < 0.8
    busy = cells[np.argsort(cabs[tuple(cells.T)])[-200:]]
    moved = region.remap(reports, points=busy, prior=cabs[tuple(busy.T)])
    assert set(map(tuple, moved.astype(int))) <= set(map(tuple, busy))

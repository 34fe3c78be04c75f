"""Planar Laplace by its law on the grid."""

import math
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.integrate import dblquad

import deniable as dn
from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.variants import PlanarLaplace

LOCATIONS = Path(__file__).parents[3] / "shared" / "data" / "locations.npz"
CITY = PlanarLaplace(epsilon="0.01", step=10, bounds=((0, 0), (20_000, 20_000)), unit="m")


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
    fine = PlanarLaplace(epsilon=1, step="1e-9", bounds=((0, 0), (1000, 1000)))
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
        {"bounds": ((0,), (20_000, 20_000))},
        {"bounds": ((0, 0), (0, 20_000))},
        {"bounds": ((0, 0), (float("inf"), 1))},
        {"bounds": 20_000},
        {"step": "1e-20"},
        {"epsilon": "1e-30"},
    ],
)
def test_a_region_that_is_none_is_refused(wrong: dict[str, object]) -> None:
    facts = {"epsilon": "0.01", "step": 10, "bounds": ((0, 0), (20_000, 20_000))}
    with pytest.raises(InvalidParameterError):
        PlanarLaplace(**{**facts, **wrong})


@pytest.mark.skipif(not LOCATIONS.exists(), reason="needs the shared data")
def test_trips_keep_their_centre() -> None:
    """2,000 taxi trips on cells of 1: the mean of the reports has a standard error below 0.2."""
    cabs = np.load(LOCATIONS)["BEIJING_CABS_E"]
    cells = np.argwhere(cabs > 0)
    chosen = cells[:: len(cells) // 2000].astype(float)
    region = PlanarLaplace(epsilon="1/2", step="1/4", bounds=((0, 0), (255, 255)))
    reports = region.release(chosen, bits=DeterministicBits(2)).value
    assert np.abs(reports.mean(axis=0) - chosen.mean(axis=0)).max() < 0.8
    busy = cells[np.argsort(cabs[tuple(cells.T)])[-200:]]
    moved = region.remap(reports, points=busy, prior=cabs[tuple(busy.T)])
    assert set(map(tuple, moved.astype(int))) <= set(map(tuple, busy))


def test_mobility_reports_hold_the_true_changes() -> None:
    """Homes thin out as 1 / rank over the cells of a made-up city; a person
    who is everywhere on all days still counts six times at most.

    False alarms below 10^-4: 64 changes with intervals of 1 - 10^-6, and a sum that six standard deviations keep.
    """
    counts = 1 / np.arange(1, 65)
    draw = np.random.default_rng(5)
    home = draw.choice(64, 20_000, p=counts / counts.sum())
    person, day = np.nonzero(draw.random((20_000, 6)) < np.array([0.8] * 5 + [0.4]))
    truth = np.zeros((64, 6))
    np.add.at(truth, (home[person], day), 1)
    keys = {"cell": dn.Keys(range(64)), "day": dn.Keys(range(6))}
    text = "SELECT cell, day, COUNT(*) AS people FROM visits GROUP BY cell, day"

    def asked(rows: dict[str, np.ndarray], epsilon: int) -> tuple[dn.Release, np.ndarray, np.ndarray]:
        budget, frame = dn.Budget(epsilon=epsilon), pa.table(rows)
        db = dn.connect(frame, name="visits", unit="person", rows=1, groups=6, columns=keys, budget=budget)
        release = db.sql(text, epsilon=epsilon)
        bounds = release.intervals(1 - 1e-6 / 6)["people"]
        return release, bounds.lower.reshape(64, 6), bounds.upper.reshape(64, 6)

    release, low, high = asked({"person": person, "cell": home[person], "day": day}, epsilon=1)
    assert release["cell"].tolist() == np.repeat(range(64), 6).tolist()
    assert release.cost.epsilon(delta=0).upper == 1
    usual = [np.median(side[:, :5], axis=1) for side in (low, truth, high)]
    busy = usual[0] > 0
    change = truth[busy, 5] / usual[1][busy]
    held = (low[busy, 5] / usual[2][busy] <= change) & (change <= high[busy, 5] / usual[0][busy])
    assert busy.sum() > 10
    assert held.all()
    everywhere = [np.zeros(384, dtype=int), np.repeat(range(64), 6), np.tile(range(6), 64)]
    _, low, high = asked(dict(zip(("person", "cell", "day"), everywhere, strict=True)), epsilon=100)
    assert abs((low + high).sum() / 2 - 6) < 6 * math.sqrt(2 * 384) * 6 / 100  # scale 6 / epsilon; without bounds: 384

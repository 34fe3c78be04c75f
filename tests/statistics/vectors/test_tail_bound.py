import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.noise.bits import DeterministicBits
from deniable.statistics.vectors.tail_bound import NEARER, RadiusSearch, TailBound

GENERATOR = np.random.default_rng(6)


def test_two_quantiles_of_an_exponential_tail_give_its_scale_and_what_a_radius_cuts_off() -> None:
    """P[distance > t] = e^(-t / 3): beyond t the excess has mean 3, so a radius takes 3 e^(-t / 3) from the mean."""
    beyond = 0.01
    near, far = (-3 * math.log(part) for part in (NEARER * beyond, beyond))
    tail = TailBound.through(near, far, beyond=beyond)
    assert tail.scale == pytest.approx(3)
    radius, lost = tail.clip(1e-5, math.inf)
    assert lost == pytest.approx(3 * math.exp(-radius / 3))
    assert radius > far


@pytest.mark.parametrize("beyond", [0.01, 0.03, 0.05, 0.08])
def test_a_skewed_column_has_no_longer_tail_than_is_said(beyond: float) -> None:
    """An exponential column of mean 1: within 1 of it lie rows of both sides, and few quantiles know one side alone.

    P[|x - 1| > t] is 1 - 2 sinh(t) / e for t < 1 and e^(-1 - t) beyond. The far quantile is aimed a quarter further
    outside and the near one as many rows nearer, as `RadiusSearch` does.
    """

    def quantile(part: float) -> float:
        return -1 - math.log(part) if part < math.exp(-2) else math.asinh((1 - part) * math.e / 2)

    aside = beyond / 4
    tail = TailBound.through(quantile(NEARER * beyond + aside), quantile(beyond - aside), beyond=beyond)
    assert 0.97 < tail.scale < 2.2
    for radius in (2.5, 4.0, 8.0):
        if radius > tail.far:
            assert tail.beyond * math.exp((tail.far - radius) / tail.scale) > math.exp(-1 - radius)


def test_a_radius_weighs_noise_against_what_is_cut_off() -> None:
    tail = TailBound.through(2.0, 3.0, beyond=0.02)
    radii = [tail.clip(unit, 1e4)[0] for unit in (1.0, 1e-2, 1e-4, 1e-6)]
    assert radii == sorted(radii)
    assert radii[0] == tail.inner
    lost = [tail.clip(unit, 1e4)[1] for unit in (1.0, 1e-2, 1e-4, 1e-6)]
    assert lost == sorted(lost, reverse=True)


def test_lumps_of_rows_are_no_sharp_edge() -> None:
    assert TailBound.through(4.0, 4.0, beyond=0.02).scale == 0.25
    assert TailBound.through(4.1, 4.0, beyond=0.02).far == 4.1  # draws that came out in the wrong order


def test_a_search_finds_the_quantiles_of_the_distances() -> None:
    """A cell is 1.1% of a distance, which is 3% of the rows beyond the near one, 5% beyond the far one; the mechanism
    misses by 1 / rate = 20 rows or so; both are aimed 100 rows outside, of 400 and 1600."""
    rows = GENERATOR.normal(size=(20_000, 3)) + 5
    search = RadiusSearch(20_000, Fraction(1, 20))
    assert search.is_possible
    assert not RadiusSearch(2000, Fraction(1, 20)).is_possible
    for seed in range(10):
        tail = search.tail(rows, centre=np.full(3, 5.0), largest=1e6, bits=DeterministicBits(seed))
        distances = np.linalg.norm(rows - 5, axis=1)
        assert 0.3 * search.beyond < np.mean(distances > tail.far) < 1.2 * search.beyond
        assert 0.9 * NEARER * search.beyond < np.mean(distances > tail.inner) < 1.5 * NEARER * search.beyond


def test_no_rows_and_odd_rows_are_searched_too() -> None:
    search = RadiusSearch(10**6, Fraction(1, 2))
    for rows in (np.empty((0, 2)), np.full((5, 2), 1e100), np.zeros((5, 2))):
        tail = search.tail(rows, centre=np.zeros(2), largest=1e75, bits=DeterministicBits(1))
        assert 0 < tail.inner <= tail.far < 2e75
        assert math.isfinite(tail.scale)


def test_one_row_moves_no_rank_by_more_than_one() -> None:
    """What the rate is for: targets are q n plus a public constant, so the distance of a point from its rank moves by
    max(q, 1 - q) at most when a row comes or goes, and by 1 when it is exchanged (docs/theory/mechanisms/ranks.md)."""
    search = RadiusSearch(100, Fraction(1))
    assert 0 < 1 - NEARER * search.beyond < 1 - search.beyond < 1

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from deniable.mechanisms.ranks import Points
from deniable.noise import uniform
from deniable.noise.bits import DeterministicBits
from deniable.statistics.order.grid import ValueGrid


def weights(points: Points, codes: int) -> np.ndarray:
    """Of every code, from the words of the docstring."""
    places = (np.arange(codes) >> points.digits) + points.offset
    return np.ones(codes, dtype=np.int64) + sum(
        (places % 10**level == 0) * 10 ** (level - 1) for level in range(1, points.levels + 1)
    )


@pytest.mark.parametrize("offset", [0, 1, 7, 990, 999])
@pytest.mark.parametrize("digits", [0, 2])
@pytest.mark.parametrize("levels", [0, 1, 3])
def test_weights_add_up(offset: int, digits: int, levels: int) -> None:
    points = Points(10**6, offset=offset % 10**levels, levels=levels, digits=digits)
    wanted = np.concatenate([[0], np.cumsum(weights(points, 2500 << digits))])
    assert np.array_equal(points.below(np.arange((2500 << digits) + 1)), wanted)


@pytest.mark.parametrize(("first", "end"), [(0, 300), (17, 1240), (399, 400), (1001, 1003)])
def test_every_code_has_as_many_places_as_it_weighs(first: int, end: int) -> None:
    points = Points(10**6, offset=95, levels=2, digits=2)
    ends = points.below(np.array([first, end]))
    found = [points.locate(first, end, place) for place in range(int(ends[1] - ends[0]))]
    assert np.array_equal(np.bincount(found, minlength=end)[first:], weights(points, end)[first:])


def test_a_place_beyond_the_weight_is_a_defect() -> None:
    with pytest.raises(AssertionError):
        Points(9, levels=1).locate(0, 5, 6)


@pytest.mark.parametrize("bounds", [(0, 100), (-40, 84), ("0.05", "0.95"), (1e6, 1e6 + 3), (-1e299, 1e299)])
def test_round_numbers_of_a_grid_are_round(bounds: tuple[float, float]) -> None:
    grid = ValueGrid.between(bounds)
    points = grid.candidates()
    codes = uniform.below(grid.size, size=50, bits=DeterministicBits(1))
    for code in (int(code) for code in codes):
        for level in (3, points.levels):
            near = code - (code + points.offset) % 10**level
            if near >= 0:
                assert (grid.first + near * grid.step) % (grid.step * 10**level) == 0
                step = points.below(np.array([near, near + 1]))
                assert step[1] - step[0] >= 10 ** (level - 1)
    assert points.below(np.array([grid.size << 26])).max() < 2**63 / 4


def test_a_declared_step_weighs_all_points_equally() -> None:
    assert ValueGrid.between((0, 100), Fraction(1, 3)).candidates() == Points(301)


def test_places_give_the_law() -> None:
    points = Points(10**6, offset=3, levels=2)
    total = int(points.below(np.array([40]))[0])
    places = uniform.below(total, size=5000, bits=DeterministicBits(1))
    counts = np.bincount([points.locate(0, 40, int(place)) for place in places], minlength=40)
    assert stats.chisquare(counts, weights(points, 40) / total * 5000).pvalue > 1e-4

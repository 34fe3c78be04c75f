import numpy as np
import pytest

from deniable.statistics.order.grid import Grid
from deniable.statistics.order.ranks import around

GRID = Grid.between((0, 1000), 1)


@pytest.mark.parametrize(("first", "last"), [(0, 99), (2000, 2300), (4900, 9999), (-50, -3), (0, 4999), (6000, 7000)])
def test_ranks_are_those_of_all_rows(first: int, last: int) -> None:
    values = np.random.default_rng(3).integers(0, 1000, 5000).astype(np.float64)
    ordered = np.sort(values)
    ranks = around(values, GRID, first, last)
    assert ranks.window.tolist() == ordered[ranks.start : ranks.end].tolist()
    assert ranks.start <= min(max(first, 0), 4999)
    assert ranks.end > min(max(last, 0), 4999)
    for code in (0, 1, 17, 500, 999, 1000, int(ranks.window[0]), int(ranks.window[-1])):
        assert ranks.below(code) == np.count_nonzero(values < code)
        below, above = ordered[ordered < code], ordered[ordered > code]
        nearest = (below[-1] if below.size else None, above[0] if above.size else None)
        assert ranks.beside(code) == nearest
    cells = ranks.cut(np.array([0, 10, 400, 800]))
    assert cells.window.tolist() == (np.searchsorted([0, 10, 400, 800], ranks.window, side="right") - 1).tolist()
    assert [cells.below(cell) for cell in range(5)] == [
        0,
        *(np.count_nonzero(values < e) for e in (10, 400, 800)),
        5000,
    ]


def test_values_keep_their_places() -> None:
    values = np.random.default_rng(3).uniform(0, 1000, 5000)
    kept = values.copy()
    around(values, GRID, 100, 200)
    assert np.array_equal(values, kept)


def test_no_rows_have_no_ranks() -> None:
    assert around(np.empty(0), GRID, 0, 10).below(5) == 0

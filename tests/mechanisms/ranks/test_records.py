import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from deniable.mechanisms.ranks.records import RankWindow, SortedRecords
from deniable.statistics.order.grid import ValueGrid

GRID = ValueGrid.between((0, 1000), 1)


@pytest.mark.parametrize(("first", "last"), [(0, 99), (2000, 2300), (4900, 9999), (-50, -3), (0, 4999), (6000, 7000)])
def test_ranks_are_those_of_all_rows(first: int, last: int) -> None:
    values = np.random.default_rng(3).integers(0, 1000, 5000).astype(np.float64)
    ordered = np.sort(values)
    ranks = GRID.ranked(values, first, last)
    assert ranks.known.tolist() == ordered[ranks.start : ranks.end].tolist()
    assert ranks.start <= min(max(first, 0), 4999)
    assert ranks.end > min(max(last, 0), 4999)
    for code in (0, 1, 17, 500, 999, 1000, int(ranks.known[0]), int(ranks.known[-1])):
        assert ranks.below(code) == np.count_nonzero(values < code)
        below, above = ordered[ordered < code], ordered[ordered > code]
        nearest = (below[-1] if below.size else None, above[0] if above.size else None)
        assert ranks.beside(code) == nearest
    cells = ranks.in_cells(np.array([0, 10, 400, 800]))
    assert cells.known.tolist() == (np.searchsorted([0, 10, 400, 800], ranks.known, side="right") - 1).tolist()
    assert [cells.below(cell) for cell in range(5)] == [
        0,
        *(np.count_nonzero(values < e) for e in (10, 400, 800)),
        5000,
    ]


def test_values_keep_their_places() -> None:
    values = np.random.default_rng(3).uniform(0, 1000, 5000)
    kept = values.copy()
    GRID.ranked(values, 100, 200)
    assert np.array_equal(values, kept)


def test_no_rows_have_no_ranks() -> None:
    assert GRID.ranked(np.empty(0), 0, 10).below(5) == 0


@given(
    codes=some.lists(some.integers(0, 60), max_size=50),
    cuts=some.lists(some.integers(-5, 60), max_size=8) | some.none(),
    spans=some.lists(some.tuples(some.integers(-5, 60), some.integers(-5, 60)), max_size=6),
    asked=some.lists(some.integers(0, 62), max_size=6),
)
def test_parts_show_the_same_as_all_rows_in_order(
    codes: list[int], cuts: list[int] | None, spans: list[tuple[int, int]], asked: list[int]
) -> None:
    ordered = np.array(sorted(codes), dtype=np.int64)
    rows = SortedRecords(ordered.copy() if cuts is None else np.array(codes, dtype=np.int64), cuts)
    assert rows.size == ordered.size
    for first, last in spans:
        assert rows.between(first, last).tolist() == ordered[max(first, 0) : max(last, 0)].tolist()
        assert rows.below(np.array(asked, dtype=np.int64)).tolist() == np.searchsorted(ordered, asked).tolist()


@pytest.mark.parametrize("size", [0, 1])
def test_no_rows_are_parted_too(size: int) -> None:
    rows = SortedRecords(np.arange(size), [0, 1, 5])
    assert rows.between(-3, 9).tolist() == list(range(size))
    assert rows.below(np.array([0, 7])).tolist() == [0, size]


def test_a_window_of_counted_records_holds_every_rank_that_was_asked_for() -> None:
    codes, counts = np.array([2, 5, 9]), np.array([3, 1, 4])
    listed = np.repeat(codes, counts)
    for first in range(listed.size):
        for last in range(first, listed.size + 2):
            window = RankWindow.tallied(codes, counts, first, last)
            assert (window.start, window.total) == (first, listed.size)
            assert window.known.tolist() == listed[first : last + 1].tolist()
            assert [window.below(code) for code in range(11)] == np.searchsorted(listed, np.arange(11)).tolist()

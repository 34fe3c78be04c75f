import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from deniable.statistics.order.rows import Rows


@given(
    codes=some.lists(some.integers(0, 60), max_size=50),
    cuts=some.lists(some.integers(-5, 60), max_size=8) | some.none(),
    spans=some.lists(some.tuples(some.integers(-5, 60), some.integers(-5, 60)), max_size=6),
    asked=some.lists(some.integers(0, 62), max_size=6),
)
@settings(deadline=None, max_examples=300)
def test_parts_show_the_same_as_all_rows_in_order(
    codes: list[int], cuts: list[int] | None, spans: list[tuple[int, int]], asked: list[int]
) -> None:
    ordered = np.array(sorted(codes), dtype=np.int64)
    rows = Rows(ordered.copy() if cuts is None else np.array(codes, dtype=np.int64), cuts)
    assert rows.size == ordered.size
    for first, last in spans:
        assert rows.between(first, last).tolist() == ordered[max(first, 0) : max(last, 0)].tolist()
        assert rows.below(np.array(asked, dtype=np.int64)).tolist() == np.searchsorted(ordered, asked).tolist()


@pytest.mark.parametrize("size", [0, 1])
def test_no_rows_are_parted_too(size: int) -> None:
    rows = Rows(np.arange(size), [0, 1, 5])
    assert rows.between(-3, 9).tolist() == list(range(size))
    assert rows.below(np.array([0, 7])).tolist() == [0, size]

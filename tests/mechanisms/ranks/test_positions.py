from fractions import Fraction
from itertools import combinations_with_replacement
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from deniable.mechanisms.ranks.positions import PARTS, distances, within_gaps


def place(rows: tuple[int, ...], point: int, size: int) -> tuple[int, int]:
    """The lowest and the highest place in parts, from the words of the docstring."""
    below, within = sum(row < point for row in rows), sum(row <= point for row in rows)
    if within > below or point in (0, size - 1):
        return below * PARTS + PARTS // 2, within * PARTS - PARTS // 2
    before = max((row for row in rows if row < point), default=0)
    behind = min((row for row in rows if row > point), default=size - 1)
    exact = below - Fraction(1, 2) + Fraction(point - before, behind - before)
    return (floor(exact * PARTS),) * 2


def ours(rows: tuple[int, ...], size: int) -> tuple[np.ndarray, np.ndarray]:
    points, ordered = np.arange(size), np.sort(np.array(rows, dtype=np.int64))
    below, within = (np.searchsorted(ordered, points, side=side) for side in ("left", "right"))
    known = np.concatenate([[0], ordered, [size - 1]])
    return within_gaps(points, below, within, before=known[below], behind=known[within + 1], span=(0, size - 1))


SIZE = 9
TABLES = [rows for count in range(4) for rows in combinations_with_replacement(range(SIZE), count)]


def test_places_are_those_of_the_definition() -> None:
    for rows in TABLES:
        low, high = ours(rows, SIZE)
        assert [(int(a), int(b)) for a, b in zip(low, high, strict=True)] == [place(rows, c, SIZE) for c in range(SIZE)]


def test_places_grow_with_the_codes() -> None:
    for rows in TABLES:
        low, high = ours(rows, SIZE)
        assert np.all(high[:-1] <= low[1:])
        assert np.all(low[1:-1] <= high[1:-1])


def test_a_row_more_moves_every_end_by_no_more_than_a_rank() -> None:
    """All tables of up to three rows on nine points; both ends of the range are attained."""
    moved = np.concatenate(
        [np.subtract(ours((*rows, more), SIZE), ours(rows, SIZE)).ravel() for rows in TABLES for more in range(SIZE)]
    )
    assert moved.min() == 0
    assert moved.max() == PARTS
    assert len(set(moved.tolist())) > 20  # and what lies between


@given(
    rows=some.lists(some.integers(0, 2**62 - 1), max_size=4),
    more=some.integers(0, 2**62 - 1),
    point=some.integers(0, 2**62 - 1),
)
def test_codes_beyond_floats_are_exact(rows: list[int], more: int, point: int) -> None:
    def found(table: list[int]) -> tuple[int, int]:
        below, within = sum(row < point for row in table), sum(row <= point for row in table)
        before = max((row for row in table if row < point), default=0)
        behind = min((row for row in table if row > point), default=2**62 - 1)
        low, high = within_gaps(
            *(np.array([number]) for number in (point, below, within)),
            before=np.array([before]),
            behind=np.array([behind]),
            span=(0, 2**62 - 1),
        )
        return int(low[0]), int(high[0])

    assert found(rows) == place(tuple(rows), point, 2**62)
    for one, other in zip(found(rows), found([*rows, more]), strict=True):
        assert 0 <= other - one <= PARTS


@pytest.mark.parametrize("parts", [1, PARTS])
@pytest.mark.parametrize(("target", "wanted"), [(-5, (0, 7, 9)), ("5/2", (3, 0, 3)), (90, (89, 87, 0))])
def test_the_ends_of_the_grid_have_any_place_outwards(target: object, wanted: tuple[int, ...], parts: int) -> None:
    points, low, high = np.array([0, 3, 7]), np.array([1, 2, 4]) * parts, np.array([1, 3, 4]) * parts
    found = distances(points, low, high, target=Fraction(target), span=(0, 7), parts=parts)  # type: ignore[arg-type]
    assert (found // parts).tolist() == list(wanted)  # in halves where the target is 5/2

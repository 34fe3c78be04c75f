from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations
from math import factorial

import numpy as np
import pytest

from deniable.noise.bits import Bits, DeterministicBits
from deniable.statistics.regression.matchings import matched


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 100])
def test_every_row_is_in_two_pairs_of_a_ring_and_in_one_of_a_matching(rows: int) -> None:
    first, second = matched(rows, 5, bits=DeterministicBits(1))
    around = rows if rows > 1 else 0
    assert len(first) == len(second) == 2 * around + rows // 2
    for start in (0, around):
        for each in (first, second):
            assert sorted(each[start : start + around]) == list(range(around))
    single = np.concatenate([first[2 * around :], second[2 * around :]])
    assert len(np.unique(single)) == len(single)
    assert (first != second).all()


def test_a_ring_is_closed() -> None:
    first, second = matched(50, 2, bits=DeterministicBits(1))
    after, row, seen = dict(zip(first.tolist(), second.tolist(), strict=True)), 0, set()
    while row not in seen:
        seen.add(row)
        row = after[row]
    assert len(seen) == 50


@pytest.mark.parametrize("rows", [4, 5])
def test_all_rings_are_equally_likely(rows: int) -> None:
    """Directed rings of 4 rows are 6, of 5 are 24; 12,000 draws; chi-square below its quantile at 1 - 1e-6."""
    found: Counter[tuple[int, ...]] = Counter()
    bits = DeterministicBits(3)
    for _ in range(20):
        first, second = (each.reshape(-1, rows) for each in matched(rows, 1200, bits=bits))
        for one, other in zip(first, second, strict=True):
            after = dict(zip(one.tolist(), other.tolist(), strict=True))
            ring = [0]
            while (behind := after[ring[-1]]) != 0:
                ring.append(behind)
            found[tuple(ring)] += 1
    expected = 12_000 / factorial(rows - 1)
    assert len(found) == factorial(rows - 1)
    assert sum((count - expected) ** 2 for count in found.values()) / expected < {4: 35.9, 5: 71.2}[rows]


def test_all_pairings_are_equally_likely() -> None:
    """Four rows have three; 6,000 draws give 2,000 each, standard deviation 36.5; five of them."""
    partner: Counter[int] = Counter()
    bits = DeterministicBits(2)
    for _ in range(6000):
        first, second = (each.tolist() for each in matched(4, 1, bits=bits))
        partner += Counter(b if a == 0 else a for a, b in zip(first, second, strict=True) if 0 in (a, b))
    assert all(abs(partner[row] - 2000) < 183 for row in (1, 2, 3))


def test_equal_words_are_drawn_again() -> None:
    class Stuck(Bits):
        safe = False
        calls = 0

        def fill(self, out: "np.ndarray") -> None:  # type: ignore[type-arg]
            self.calls += 1
            out[:] = 5 if self.calls == 1 else np.arange(len(out))

    bits = Stuck()
    first, second = matched(4, 1, bits=bits)
    assert bits.calls == 2
    assert (first.tolist(), second.tolist()) == ([0, 2], [1, 3])


def pairings(rows: int) -> set[frozenset[frozenset[int]]]:
    """All pairings that leave out at most one row."""
    return {
        frozenset(frozenset(order[i : i + 2]) for i in range(0, rows - 1, 2)) for order in permutations(range(rows))
    }


def ring(order: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """The pairs of a ring, in a fixed order."""
    return tuple(sorted(zip(order, order[1:] + order[:1], strict=True)))


def test_one_row_more_opens_a_ring_at_one_place() -> None:
    """From the uniform law on rings of the old rows to that on rings of all, exactly: one pair out, two pairs in."""
    for rows in (2, 3, 4, 5):
        chances: Counter[tuple[tuple[int, int], ...]] = Counter()
        for order in permutations(range(rows)):
            before = Counter(ring(order))
            for place in range(rows):
                after = ring((*order[:place], rows, *order[place:]))
                assert sum((before - Counter(after)).values()) == 1
                assert sum((Counter(after) - before).values()) == 2
                chances[after] += 1
        assert set(chances) == {ring(order) for order in permutations(range(rows + 1))}
        assert len(set(chances.values())) == 1


@pytest.mark.parametrize(
    ("others", "before", "after"), [(2, 1, 1), (2, 1, 2), (1, 1, 3), (3, 2, 3), (0, 1, 2), (2, 2, 0)]
)
def test_a_unit_that_exchanges_its_rows_moves_a_ring_by_twice_the_larger_number(
    others: int, before: int, after: int
) -> None:
    """Pairs that come or go move ranks by a half each: rows are exchanged in their places, and the rest come or go."""
    low, high = sorted((before, after))
    new = [f"new {row}" for row in range(high)]
    for order in permutations([*range(others), *(f"old {row}" for row in range(low))]):
        kept = tuple(new[int(row[4:])] if isinstance(row, str) else row for row in order)
        for grown in _opened(kept, new[low:]):
            first, second = _pairs(order), _pairs(grown)
            moved = sum((first - second).values()) + sum((second - first).values())
            assert Fraction(moved, 2) <= 2 * high


def _pairs(order: tuple[object, ...]) -> Counter[frozenset[object]]:
    """Of a ring: none for a single row, the same one twice for two."""
    return Counter(frozenset(pair) for pair in zip(order, order[1:] + order[:1], strict=True) if pair[0] != pair[1])


def _opened(order: tuple[object, ...], rows: list[str]) -> Iterator[tuple[object, ...]]:
    """All orders with these rows put in one after the other, at any place."""
    if not rows:
        yield order
        return
    for place in range(max(len(order), 1)):
        yield from _opened((*order[:place], rows[0], *order[place:]), rows[1:])


def test_one_row_more_adds_one_pair_or_exchanges_one() -> None:
    """The coupling of docs/theory/statistics/regression.md, exactly: from the uniform law on pairings of the old
    rows to the uniform law on those of all, by steps that add the new row."""
    for rows in (1, 2, 3, 4, 5, 6):
        new, chances = rows, Counter()  # type: ignore[var-annotated]
        for before in pairings(rows):
            paired = frozenset().union(*before)
            if rows % 2:  # the row that was left out meets the new one
                (left,) = set(range(rows)) - paired
                chances[before | {frozenset({left, new})}] += Fraction(1)
                continue
            chances[before] += Fraction(1, rows + 1)
            for one in paired:  # the new row takes the place of one that is left out
                (pair,) = (pair for pair in before if one in pair)
                chances[before - {pair} | {pair - {one} | {new}}] += Fraction(1, rows + 1)
        assert set(chances) == pairings(rows + 1)
        assert len(set(chances.values())) == 1

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from deniable.noise.bits import Bits, DeterministicBits
from deniable.statistics.regression.matchings import matched


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 100])
def test_every_row_is_in_at_most_one_pair_of_a_matching(rows: int) -> None:
    first, second = matched(rows, 3, bits=DeterministicBits(1))
    assert len(first) == len(second) == 3 * (rows // 2)
    for start in range(0, len(first), max(rows // 2, 1)):
        part = np.concatenate([each[start : start + rows // 2] for each in (first, second)])
        assert len(np.unique(part)) == len(part)


def test_all_pairings_are_equally_likely() -> None:
    """Four rows have three; 6,000 draws give 2,000 each, standard deviation 36.5; five of them."""
    first, second = matched(4, 6000, bits=DeterministicBits(2))
    partner = Counter(
        int(other)
        for a, b in zip(first.reshape(-1, 2), second.reshape(-1, 2), strict=True)
        for one, other in ((a[0], b[0]), (b[0], a[0]), (a[1], b[1]), (b[1], a[1]))
        if one == 0
    )
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


def test_one_row_more_adds_one_pair_or_exchanges_one() -> None:
    """The coupling of docs/theory/regression.md, exactly: from the uniform law on pairings of the old rows to the
    uniform law on those of all, by steps that add the new row."""
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

from collections import Counter

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


def test_one_row_more_changes_one_pair_and_adds_at_most_one() -> None:
    """The coupling of the docstring: for every order of the others and every place of the new row."""
    from itertools import permutations

    for rows in (2, 3, 4, 5):
        orders = Counter()  # type: ignore[var-annotated]
        for order in permutations(range(rows)):
            before = {frozenset(order[i : i + 2]) for i in range(0, rows - 1, 2)}
            for place in range(rows + 1):
                moved = [*order, rows] if place == rows else [*order[:place], rows, *order[place + 1 :], order[place]]
                orders[tuple(moved)] += 1
                after = {frozenset(moved[i : i + 2]) for i in range(0, rows, 2)}
                after = {pair for pair in after if len(pair) == 2}
                assert len(before - after) <= 1
                assert len(after - before) - len(before - after) <= 1
        assert len(set(orders.values())) == 1  # the new order is uniform
        assert len(orders) == np.prod(np.arange(1, rows + 2))

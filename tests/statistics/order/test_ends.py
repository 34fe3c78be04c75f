from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable.mechanisms.ranks import ExponentialQuantile, Points
from deniable.mechanisms.ranks.records import RankWindow
from deniable.noise.bits import DeterministicBits
from deniable.statistics.order.ends import CELLS, lower_end, margin, upper_end

END = ExponentialQuantile(rate=Fraction(1, 3), quantile=Fraction(1, 2), points=Points(CELLS))
SIZE = 2**32
TABLES = {
    "spread": np.sort(np.random.default_rng(1).integers(0, SIZE, 400)),
    "equal": np.full(400, SIZE // 3),
    "two heaps": np.repeat([5, SIZE - 5], 200),
    "few": np.array([SIZE // 2]),
    "none": np.empty(0, dtype=np.int64),
}


def missed(table: np.ndarray, aside: int, estimate: int, runs: int = 200) -> tuple[int, int]:
    """How often the lower end was above the median, and the upper end below it."""
    bits, ranks = DeterministicBits(4), RankWindow(table, 0, table.size)
    low_end, high_end = (replace(END, shift=Fraction(side * aside)) for side in (-1, 1))
    low, high = table[(table.size - 1) // 2], table[table.size // 2]
    below = [lower_end(low_end, ranks, estimate, bits=bits) for _ in range(runs)]
    above = [upper_end(high_end, ranks, SIZE, estimate, bits=bits) for _ in range(runs)]
    assert max(below) <= estimate <= min(above)
    return int(np.sum(below > low)), int(np.sum(above < high))


@pytest.mark.parametrize("name", [name for name in TABLES if name != "none"])
def test_ends_miss_no_more_than_promised(name: str) -> None:
    """At level 0.9 each end may miss 5 in 100: 26 of 200 or more has chance 5e-6. Measured are none: it is a bound."""
    table = TABLES[name]
    for estimate in (int(table[table.size // 2]), 0, SIZE - 1):
        lower, upper = missed(table, margin(END.rate, 0.9), estimate)
        if estimate >= table[(table.size - 1) // 2]:
            assert lower < 26
        if estimate <= table[table.size // 2]:
            assert upper < 26


def test_ends_that_aim_inside_are_found_to_miss() -> None:
    """The twin: a margin with the wrong sign is noticed."""
    table = TABLES["spread"]
    assert missed(table, -80, SIZE - 1)[0] > 26
    assert missed(table, -80, 0)[1] > 26


def test_an_end_is_near_where_it_aims() -> None:
    table, bits = TABLES["spread"], DeterministicBits(1)
    ranks, end = RankWindow(table, 0, table.size), replace(END, rate=Fraction(5), shift=Fraction(-50))
    ends = [lower_end(end, ranks, int(table[200]), bits=bits) for _ in range(20)]
    # cells are a ninth of the distance wide
    assert np.abs(np.searchsorted(table, ends) - 150).max() < 10


def test_there_are_fewer_cells_than_the_margin_counts() -> None:
    seen = []

    class Counting(RankWindow):
        def in_cells(self, edges: np.ndarray) -> RankWindow:
            seen.append(edges.size)
            return super().in_cells(edges)

    ranks = Counting(TABLES["none"], 0, 0)
    lower_end(END, ranks, 2**62 - 1, bits=DeterministicBits(1))
    upper_end(END, ranks, 2**62, 0, bits=DeterministicBits(1))
    assert len(seen) == 2
    assert max(seen) <= CELLS

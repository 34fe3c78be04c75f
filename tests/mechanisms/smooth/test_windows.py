from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.mechanisms.smooth.base import LEAST_BOUND
from deniable.mechanisms.smooth.windows import smooth_width

UPPER = 10**9


def by_pairs(records: list[int], last: int, first: int, beta: float) -> float:
    """The definition, all pairs."""
    padded = np.concatenate([[0], np.sort(records), [UPPER]])
    best = float(LEAST_BOUND)
    for s in range(last + 1):
        for e in range(first, len(padded)):
            free = first - last + 1
            if e - s >= free:
                best = max(best, float(padded[e] - padded[s]) * np.exp(-beta * (e - s - free)))
    return best


@given(
    records=st.lists(st.integers(0, 40).map(lambda v: v**6 % UPPER), min_size=1, max_size=25),
    places=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    beta=st.sampled_from(["1/1000", "1/20", "1/3", "2"]),
)
def test_the_search_finds_the_widest_window(records: list[int], places: tuple[float, float], beta: str) -> None:
    last, first = sorted(1 + int(place * (len(records) - 1)) for place in places)
    exact = Fraction(beta)
    found = smooth_width(np.sort(records), 0, UPPER, last=last, first=first, beta=exact)
    assert float(found) == pytest.approx(by_pairs(records, last, first, float(exact)), rel=1e-7)


def test_a_hundred_thousand_records_take_the_same_window_as_a_direct_search() -> None:
    """With heavy ties and a window of 40,000 records; every width that the direct search tries, in one array each."""
    records = np.sort(np.concatenate([np.full(40_000, 500), np.arange(60_000) * 10_000])).astype(np.int64)
    beta, rank = Fraction(1, 5000), 30_000
    padded = np.concatenate([[0], records, [UPPER]])
    best = 0.0
    for k in range(0, 100_000, 31):
        s = np.arange(max(rank - k - 1, 0), min(rank, padded.size - k - 2) + 1)
        if s.size:
            best = max(best, float((padded[s + k + 1] - padded[s]).max()) * np.exp(-float(beta) * k))
    found = float(smooth_width(records, 0, UPPER, last=rank, first=rank, beta=beta))
    assert best * (1 - 1e-6) <= found <= best * np.exp(31 * float(beta))


def test_data_without_any_spread_keep_a_positive_bound() -> None:
    records = np.zeros(1000, dtype=np.int64)
    assert smooth_width(records, 0, 5, last=500, first=500, beta=Fraction(1)) == LEAST_BOUND

from fractions import Fraction

import numpy as np
import pytest

from deniable.mechanisms.ranks import MatchedQuantile, Points
from deniable.privacy import AddRemove, Replace
from tests.mechanisms.ranks.laws import distances


def mechanism(matchings: int, quantile: Fraction = Fraction(1, 2)) -> MatchedQuantile:
    return MatchedQuantile(rate=Fraction(1), quantile=quantile, matchings=matchings, points=Points(41))


def test_the_reach_is_half_of_the_pairs_that_come_or_go() -> None:
    numbers = (1, 2, 3, 10)
    assert [mechanism(number).rank_sensitivity(Replace) for number in numbers] == [1, 2, 3, 10]
    assert [mechanism(number).rank_sensitivity(AddRemove) for number in numbers] == [
        1,
        Fraction(3, 2),
        Fraction(5, 2),
        15 / Fraction(2),
    ]


@pytest.mark.parametrize("quantile", [Fraction(1, 2), Fraction(1, 4)])
def test_one_row_moves_the_distance_of_every_point_by_at_most_the_reach(quantile: Fraction) -> None:
    """A row more in a ring: one pair out and two in, some of them without a line; and one pair exchanged."""

    def away(heights: np.ndarray) -> np.ndarray:
        return distances(heights, float(quantile) * len(heights), 41, True)

    draw, more = np.random.default_rng(1), max(quantile, 1 - quantile)
    largest = dict.fromkeys(("ring", "exchange", "one in"), 0.0)
    for _ in range(800):
        before = draw.integers(0, 41, size=draw.integers(1, 6))
        new = draw.integers(0, 41, size=2)
        tables = {
            "ring": np.append(before[draw.integers(0, 2) :], new[draw.integers(0, 2) :]),
            "exchange": np.append(before[1:], new[1:]),
            "one in": np.append(before, new[1:]),
        }
        for name, after in tables.items():
            largest[name] = max(largest[name], float(np.abs(away(before) - away(after)).max()))
    assert largest["ring"] == pytest.approx(float(mechanism(2, quantile).rank_sensitivity(AddRemove)), abs=1e-3)
    assert largest["exchange"] == pytest.approx(float(mechanism(1, quantile).rank_sensitivity(AddRemove)), abs=1e-3)
    assert largest["one in"] == pytest.approx(float(more), abs=1e-3)

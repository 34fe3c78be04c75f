from fractions import Fraction

import numpy as np
import pytest

from deniable.mechanisms.ranks import ExponentialQuantile, Points
from deniable.privacy import AddRemove, Relation, Replace
from tests.mechanisms.ranks.laws import distances, neighbours


def reach(q: Fraction, relation: Relation) -> float:
    return float(ExponentialQuantile(rate=Fraction(1), quantile=q, points=Points(1)).rank_sensitivity(relation))


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(4, 5), Fraction(1)])
def test_a_row_moves_distances_by_the_reach_and_no_further(q: Fraction, relation: Relation) -> None:
    """All tables of up to four rows on four points, with the rank as it is and moved by constants."""
    most, span = 0.0, 0.0
    for one, other in neighbours(4, 4, relation):
        for constant in (-2, 0, 1.5):
            moved = distances(one, float(q) * len(one) + constant, 4) - distances(
                other, float(q) * len(other) + constant, 4
            )
            most, span = max(most, np.abs(moved).max()), max(span, float(np.ptp(moved)))
    assert most == pytest.approx(reach(q, relation))
    assert span == pytest.approx(2 * reach(q, relation))  # the whole of the bounded range is attained


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(4, 5), Fraction(1)])
def test_between_rows_distances_move_no_further(q: Fraction, relation: Relation) -> None:
    """All tables of up to three rows on five points, with the constant that numpy's quantile needs among others."""
    most = 0.0
    for one, other in neighbours(5, 3, relation):
        for constant in (-2, 0, float(Fraction(1, 2) - q)):
            moved = distances(one, float(q) * len(one) + constant, 5, True) - distances(
                other, float(q) * len(other) + constant, 5, True
            )
            most = max(most, np.abs(moved).max())
    assert most == pytest.approx(reach(q, relation))

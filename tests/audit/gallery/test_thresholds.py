"""Thresholds beside the mechanism that has the right one."""

from fractions import Fraction as F

import pytest

from deniable.audit.gallery import GALLERY


def test_the_right_threshold_is_the_next_one() -> None:
    """delta = P[noise > 5] is that of a threshold of 7 for a row that counts 1; the gallery's lets 6 pass."""
    told = GALLERY["threshold that lets equals pass"].law(1)[True]
    claimed = float(GALLERY["threshold that lets equals pass"].claim.infinite_mass)
    assert told == F(1, 48)
    assert told == pytest.approx(2 * claimed)


def test_a_row_more_changes_a_pair_to_another() -> None:
    one = GALLERY["lines through pairs of rows"]
    pairs = one.law(one.data), one.law(one.neighbour)
    assert max(pairs[0], key=pairs[0].__getitem__) == (1, 0)
    assert max(pairs[1], key=pairs[1].__getitem__) == (0, 1)

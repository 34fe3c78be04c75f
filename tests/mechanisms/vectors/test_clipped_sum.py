from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import ClippedSum, Laplace, Mechanism
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Relation, of_count

QUIET = Laplace(scale=Fraction(1, 100))  # whose noise is 0
PLANE = ClippedSum(noise=QUIET, columns=2, radius=Fraction(5), steps=1000, centre=(Fraction(1), Fraction(-1)))


def test_rows_are_clipped_around_the_centre_and_added_up() -> None:
    """(4, 3) away from the centre is on the sphere, and (8, 6) is clipped to it; both are rounded towards 0."""
    found = PLANE.release([[5, 2], [9, 5], [1, -1], [np.nan, np.nan]], bits=DeterministicBits(1)).value
    assert found.tolist() == [2 * 799, 2 * 599]


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("rows", [1, 3])
def test_no_rows_of_a_unit_move_the_sum_further_than_the_loss_says(relation: Relation, rows: int) -> None:
    """The l1 norm is what Laplace noise of scale 1 loses; units of rows on the sphere come close to it."""
    mechanism = ClippedSum(noise=Laplace(scale=Fraction(1)), columns=2, radius=Fraction(1), steps=100)
    limit = mechanism.privacy_loss(of_count(rows=rows, groups=1, cells=1, relation=relation)).pure_epsilon
    assert limit is not None
    angles = np.linspace(0, 2 * np.pi, 41)
    sums = [mechanism._sum([[50 * np.cos(a), 50 * np.sin(a)]] * rows) for a in angles]
    others = sums if relation is Relation.REPLACE else [np.zeros(2)]
    moved = max(np.abs(one - other).sum() for one in sums for other in others)
    assert 0.95 * limit < moved <= limit


def test_parameters_are_kept_exactly() -> None:
    assert Mechanism.from_json(PLANE.to_json()) == PLANE
    assert ClippedSum(noise=QUIET, columns=2, radius=0.1, steps=9).radius == Fraction(1, 10)  # type: ignore[arg-type]
    assert ClippedSum(noise=QUIET, columns=2, radius=Fraction(1), steps=9, centre=(0, 0)).centre == ()


def test_wrong_sizes_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="centre must be a list of 2 numbers"):
        ClippedSum(noise=QUIET, columns=2, radius=Fraction(1), steps=9, centre=(Fraction(1),))
    with pytest.raises(InvalidParameterError, match=r"steps must be <= 2\^30"):
        ClippedSum(noise=QUIET, columns=2, radius=Fraction(1), steps=2**31)
    with pytest.raises(InvalidParameterError, match="columns must be"):
        ClippedSum(noise=QUIET, columns=2**27 + 1, radius=Fraction(1), steps=9)
    with pytest.raises(InvalidParameterError, match="exact must be a table of 2 columns, got 3"):
        PLANE.release(np.zeros((1, 3)))
    with pytest.raises(InvalidParameterError, match="whole number of records"):
        PLANE.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Relation.REPLACE) * Fraction(1, 2))

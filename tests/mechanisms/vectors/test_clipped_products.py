from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import ClippedProducts, Laplace, Mechanism
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Relation, of_count

QUIET = Laplace(scale=Fraction(1, 100))  # whose noise is 0
TURNED = ((Fraction(0), Fraction(2)), (Fraction(2), Fraction(0)))
PLANE = ClippedProducts(noise=QUIET, columns=2, radius=Fraction(5), steps=1000, constant=600, transform=TURNED)


def test_rows_are_transformed_clipped_and_multiplied() -> None:
    """With a constant of 600 of 1000 steps, the radius 5 has 800: (2, 1.5) becomes (3, 4), on the sphere."""
    found = PLANE.release([[2, 1.5]], bits=DeterministicBits(1)).value
    z = np.array([600, 479, 639])
    assert (found == np.outer(z, z)).all()
    assert PLANE.step == 5 / 800


def test_without_a_constant_the_matrix_is_that_of_the_columns() -> None:
    plain = ClippedProducts(noise=QUIET, columns=2, radius=Fraction(5), steps=1000)
    assert (plain.release([[3, 4]], bits=DeterministicBits(1)).value == np.outer([599, 799], [599, 799])).all()


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("constant", [0, 70])
def test_no_rows_of_a_unit_move_the_matrix_further_than_the_loss_says(relation: Relation, constant: int) -> None:
    """The l1 norm is what Laplace noise of scale 1 loses."""
    mechanism = ClippedProducts(
        noise=Laplace(scale=Fraction(1)), columns=2, radius=Fraction(1), steps=100, constant=constant
    )
    limit = mechanism.privacy_loss(of_count(rows=2, groups=1, cells=1, relation=relation)).pure_epsilon
    assert limit is not None
    angles = np.linspace(0, 2 * np.pi, 41)
    sums = [mechanism._sum([[50 * np.cos(a), 50 * np.sin(a)]] * 2) for a in angles]
    others = sums if relation is Relation.REPLACE else [np.zeros(sums[0].shape)]
    moved = max(np.abs(one - other).sum() for one in sums for other in others)
    assert 0.6 * limit < moved <= limit


def test_the_constant_and_the_row_share_the_steps() -> None:
    """For every constant the norm of z is at most `steps`, with less than one step to spare."""
    for constant in range(100):
        assert 99**2 < isqrt(100**2 - constant**2) ** 2 + constant**2 <= 100**2


def test_parameters_are_kept_exactly_and_wrong_ones_refused() -> None:
    assert Mechanism.from_json(PLANE.to_json()) == PLANE
    for wrong in ({"constant": 1000}, {"steps": 2**17}, {"transform": ((1,),)}, {"transform": ((1,), (1, 2))}):
        with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
            ClippedProducts(**{**{name: getattr(PLANE, name) for name in PLANE.__dict__}, **wrong})

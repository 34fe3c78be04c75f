"""All or nothing: one coin for the whole table."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import AllOrNothing
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, of_count


def test_everything_or_nothing_is_shown() -> None:
    """With delta = 1/2 both come in 60 releases, but for a chance of 2^-59."""
    bits, table = DeterministicBits(2), np.arange(100)
    sizes = {AllOrNothing(delta=Fraction(1, 2)).release(table, bits=bits).value.size for _ in range(60)}
    assert sizes == {0, 100}


def test_groups_of_any_size_have_the_same_delta() -> None:
    loss = AllOrNothing(delta=Fraction(1, 10)).privacy_loss(of_count(rows=1, groups=1, relation=AddRemove))
    assert loss.delta(0).contains(0.1)


def test_an_empty_table_is_told_from_nothing() -> None:
    found = AllOrNothing(delta=Fraction(1, 2)).outcomes((), 60, bits=DeterministicBits(3))
    assert set(found) == {0, 1}


def test_delta_is_above_zero() -> None:
    with pytest.raises(InvalidParameterError, match="delta"):
        AllOrNothing(delta=Fraction(0))

"""AboveThreshold is the sparse vector technique with one answer."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms import AboveThreshold, SparseVector
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, of_count

REACH = of_count(rows=1, groups=1, relation=AddRemove)


@pytest.mark.parametrize("monotone", [False, True])
def test_it_is_the_sparse_vector_with_one_answer(monotone: bool) -> None:
    one = AboveThreshold.calibrated(REACH, epsilon="0.3", monotone=monotone)
    other = SparseVector.calibrated(REACH, epsilon="0.3", answers=1, monotone=monotone)
    assert (one.threshold_scale, one.query_scale) == (other.threshold_scale, other.query_scale)
    assert one.privacy_loss(REACH) == other.privacy_loss(REACH)
    assert one.half_width("0.9", questions=7) == other.half_width("0.9", questions=7)
    stream = np.arange(-300, 300)
    found, again = (each.release(stream, threshold=5, bits=DeterministicBits(3)) for each in (one, other))
    assert np.array_equal(found.value, again.value)
    assert found.value[-1]
    assert found.value.sum() == 1


def test_a_session_ends_with_its_first_answer() -> None:
    session = AboveThreshold(threshold_scale=Fraction(1), query_scale=Fraction(2)).open(threshold=1000)
    assert session.ask(-1000) is False
    assert session.ask(3000) is True
    with pytest.raises(UnprovedError, match="last answer"):
        session.ask(-1000)


def test_parameters_are_checked_when_the_mechanism_is_made() -> None:
    with pytest.raises(InvalidParameterError, match="monotone"):
        AboveThreshold(threshold_scale=Fraction(1), query_scale=Fraction(1), monotone="yes")  # type: ignore[arg-type]

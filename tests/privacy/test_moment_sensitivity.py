import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import Replace
from deniable.privacy.moment_sensitivity import SQUARE_WEIGHT, of_value_and_square


@pytest.mark.parametrize("reach", [8, 9, 10, 31, 64, 200])
def test_no_pair_of_values_moves_the_sums_further(reach: int) -> None:
    """All pairs of values; the bounds are attained up to the rounding, 1 in l1 and 1 in the square of l2."""
    value = np.arange(-reach, reach + 1)
    square = np.rint(float(SQUARE_WEIGHT) * value**2 / reach).astype(np.int64)
    first, second = (np.abs(np.subtract.outer(part, part)) for part in (value, square))
    bound = of_value_and_square(reach=reach)
    assert bound.l1 - 3 <= (first + second).max() <= bound.l1
    assert bound.l2_squared - 1 <= (first**2 + second**2).max() <= bound.l2_squared
    assert np.maximum(first, second).max() == bound.linf
    assert bound.relation is Replace


def test_a_heavier_square_would_move_more() -> None:
    """The twin: weight 2 breaks both bounds, so the test above can fail."""
    value = np.arange(-64, 65)
    first, second = (np.abs(np.subtract.outer(part, part)) for part in (value, 2 * value**2 // 64))
    bound = of_value_and_square(reach=64)
    assert (first + second).max() > bound.l1
    assert (first**2 + second**2).max() > bound.l2_squared


def test_reach_is_checked() -> None:
    with pytest.raises(InvalidParameterError, match="reach"):
        of_value_and_square(reach=0)

"""What is asked at many points is what is asked at each."""

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import GaussianLoss, Interval

LOSS = GaussianLoss(1)


@pytest.mark.parametrize("points", [[0, "1/2", 2], (0, 0.5, 2), np.array([0.0, 0.5, 2.0])])
def test_a_list_of_epsilons_gives_as_many_deltas(points: object) -> None:
    found = LOSS.delta(points)
    assert found == tuple(LOSS.delta(one) for one in ("0", "1/2", "2"))
    assert found.upper.shape == (3,)


def test_lists_of_deltas_and_orders_give_as_many_intervals() -> None:
    assert LOSS.epsilon(["1e-3", "1e-6"]) == (LOSS.epsilon("1e-3"), LOSS.epsilon("1e-6"))
    assert LOSS.renyi([1, 2, float("inf")]) == (LOSS.renyi(1), LOSS.renyi(2), LOSS.renyi(float("inf")))
    assert isinstance(LOSS.delta(np.float64(1)), Interval)


def test_one_wrong_number_in_a_list_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="epsilon must be >= 0"):
        LOSS.delta([1, -1])

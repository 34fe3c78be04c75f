"""What is read as numbers, and what is refused."""

import numpy as np
import pytest

from deniable.attacks.numbers import check_probability, read_numbers, whole
from deniable.errors import InvalidParameterError


@pytest.mark.parametrize("bad", [[], [np.nan, 1], [np.inf], ["x"], [None], [10**400], [[1], [2, 3]]])
def test_what_is_not_a_finite_number_is_refused(bad: list[object]) -> None:
    with pytest.raises(InvalidParameterError, match="outputs must"):
        read_numbers("outputs", bad)  # type: ignore[arg-type]


def test_shapes_and_infinity_are_as_asked() -> None:
    assert read_numbers("scores", [1, np.inf], dimensions=1, infinite=True).tolist() == [1, np.inf]
    assert read_numbers("rows", [[1]], dimensions=2).shape == (1, 1)
    with pytest.raises(InvalidParameterError, match=r"scores must be a vector of .* got shape \(1, 1\)"):
        read_numbers("scores", [[1]], dimensions=1)


def test_probabilities_and_whole_numbers() -> None:
    assert whole("people", np.int64(3)) == 3
    for value in (0, 1, np.nan):
        with pytest.raises(InvalidParameterError, match="rate must"):
            check_probability("rate", value)
    for given in (0, 5, 1.0, True):
        with pytest.raises(InvalidParameterError, match="people must"):
            whole("people", given, upper=4)  # type: ignore[arg-type]

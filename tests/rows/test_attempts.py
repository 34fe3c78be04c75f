"""Code of a user on private rows: nothing that it raises is seen, and one row changes no value but its own."""

import numpy as np
import pytest

from deniable.rows import attempted, each_row
from tests.rows.containers import ODD


def test_what_a_function_raises_is_seen_by_its_log_alone() -> None:
    heard: list[BaseException] = []

    def failing(error: BaseException) -> None:
        raise error

    for error in (ValueError("a row"), SystemExit("a row"), GeneratorExit(), type("Own", (BaseException,), {})()):
        assert attempted(failing, error) is None
        assert attempted(failing, error, log=heard.append) is None
        assert attempted(failing, error, log=failing) is None
        assert heard[-1] is error
    with pytest.raises(KeyboardInterrupt):
        attempted(failing, KeyboardInterrupt())


@pytest.mark.parametrize("name", [*ODD, "two rows", "a table"])
def test_a_row_on_which_a_function_fails_changes_no_other_value(name: str) -> None:
    """All at once an error or odd result, and alone for that row only."""
    rows, odd = np.array([1.0, 2.0, 3.0]), {"two rows": np.zeros(2), "a table": np.zeros((3, 2)), **ODD}[name]

    def function(given: np.ndarray) -> object:
        assert len(given)
        if 2.0 in given:
            if odd is None:
                raise KeyError("a row")
            return odd
        given *= 5  # the copy
        return given

    found = each_row(function, rows)
    assert found[[0, 2]].tolist() == [5.0, 15.0]
    assert (found.dtype, found.shape, rows.tolist()) == (np.float64, (3,), [1.0, 2.0, 3.0])
    assert each_row(function, rows[:0], width=(4,)).shape == (0, 4)


def test_a_row_that_fails_is_zero_wherever_it_stands() -> None:
    called: list[int] = []

    def function(given: np.ndarray) -> np.ndarray:
        called.append(len(given))
        if (given < 0).any():
            raise ValueError
        return np.stack([given, given + 1], axis=1)

    found = each_row(function, np.array([-1.0, 5.0, -2.0, -3.0, 7.0, -4.0]), width=(2,))
    assert found.tolist() == [[0, 0], [5, 6], [0, 0], [0, 0], [7, 8], [0, 0]]
    assert each_row(function, np.empty(0), width=(2,)).shape == (0, 2)
    assert called == [6, 1, 1, 1, 1, 1, 1]  # never without rows

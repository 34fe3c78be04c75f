"""Codes of mixed columns: the same from every container, and each entry by itself."""

from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.learning.estimators.bins import Bins

PUBLIC: dict[str, Any] = {"bounds": [(0, 10), None], "categories": {1: ["no", "yes"]}, "bins": 5}
ROWS = [[0, "no"], [1.99, "yes"], [2, "yes"], [10, "no"], [99, "maybe"], [-np.inf, None], [np.nan, "no"], ["x", 3]]
CODES = [[1, 1], [1, 2], [2, 2], [5, 1], [5, 0], [1, 0], [0, 1], [0, 0]]


def test_numbers_are_in_bins_and_what_is_missing_has_its_own() -> None:
    found = Bins.of(**PUBLIC, rows=ROWS)
    assert found.codes(ROWS).tolist() == CODES
    assert found.sizes.tolist() == [6, 3]
    assert found.ordered.tolist() == [True, False]
    assert found.names(0) == ["missing", "to 2", "to 4", "to 6", "to 8", "to 10"]
    assert found.names(1) == ["missing", "no", "yes"]


def test_frames_and_arrays_have_the_codes_of_lists() -> None:
    pd = pytest.importorskip("pandas")
    found = Bins.of(**PUBLIC, rows=None)
    assert found.codes(np.array(ROWS, dtype=object)).tolist() == CODES
    frame = pd.DataFrame(
        {"a": [0, 1.99, 2, 10, 99, -np.inf, np.nan], "b": ["no", "yes", "yes", "no", "maybe", None, "no"]}
    )
    assert found.codes(frame).tolist() == CODES[:-1]
    numbers = Bins.of([(0, 10), None], {1: [3, 4]}, 5, np.zeros((0, 2)))
    assert numbers.codes(np.array([[0.0, 3.0], [99.0, np.nan]])).tolist() == [[1, 1], [5, 0]]


def test_one_pair_stands_for_all_features_of_an_array() -> None:
    assert Bins.of((0, 10), None, 5, np.zeros((0, 3))).codes([[0, 2, 10]]).tolist() == [[1, 2, 5]]
    with pytest.raises(InvalidParameterError):
        Bins.of((0, 10), None, 5, [[1, 2]])


def test_a_row_of_another_length_is_missing_and_moves_no_other_row() -> None:
    found = Bins.of(**PUBLIC, rows=None)
    assert found.codes([*ROWS, [1], 7, None, [1, 2, 3]]).tolist() == [*CODES, *[[0, 0]] * 4]
    assert found.codes([]).shape == (0, 2)


@pytest.mark.parametrize("changed", [
    {"bounds": []}, {"bounds": (None, None)}, {"bounds": [(1, 0), None]}, {"bounds": "ab"}, {"categories": None},
    {"categories": {0: ["a"]}}, {"categories": {1: "ab"}}, {"categories": {1: ["a", "a"]}}, {"bins": 0},
    {"bins": 1025}, {"bounds": [(-1e308, 1e308), None]}, {"categories": 3}, {"rows": np.zeros((4, 3))}, {"rows": 5},
])  # fmt: skip
def test_what_does_not_fit_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        Bins.of(**{**PUBLIC, "rows": ROWS, **changed})

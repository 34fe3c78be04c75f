"""Rows within declared bounds and classes."""

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.learning.estimators.reading import Features, Labels, targets

BOUNDS = [(0, 10), (-1, 3)]


def test_values_are_cut_and_what_is_no_number_has_one_place() -> None:
    found = Features.of(BOUNDS, None).cut([[99, -7], [None, np.nan], ["x", np.inf], [5, 2]])
    assert found.tolist() == [[10, -1], [0, 1], [0, 3], [5, 2]]


def test_scaled_rows_are_within_one_of_the_place_of_what_is_no_number() -> None:
    found = Features.of(BOUNDS, None).scaled([[10, 3], [0, -1], [None, None], [5, 2]])
    assert found.tolist() == [[1, 1], [0, -1], [0, 0], [0.5, 0.5]]


def test_one_pair_serves_all_features_of_rows_that_have_a_shape() -> None:
    assert Features.of((0, 1), np.zeros((0, 3))).count == 3
    with pytest.raises(InvalidParameterError, match="one pair for each feature"):
        Features.of((0, 1), [[1, 2]])


@pytest.mark.parametrize("bounds", [None, "ab", [], (1, 0), [(0, 1), (0, 0)], [(0, 1), None], 3])
def test_bounds_that_are_none_are_refused(bounds: object) -> None:
    with pytest.raises(InvalidParameterError, match="bounds"):
        Features.of(bounds, np.zeros((0, 2)))


def test_rows_with_other_columns_are_refused_by_their_type() -> None:
    with pytest.raises(InvalidParameterError, match="X must have 2 columns"):
        Features.of(BOUNDS, np.zeros((0, 3)))


@pytest.mark.parametrize("classes", [None, "ab", ["a"], [1, 1], ["a", None], [1, "a"]])
def test_classes_that_are_none_are_refused(classes: object) -> None:
    with pytest.raises(InvalidParameterError):
        Labels.of(classes, None)


def test_a_label_that_was_not_declared_has_a_place_of_its_own() -> None:
    labels = np.array(["b", "c", None, 3], dtype=object)
    assert Labels.of(["a", "b"], labels).indices(labels).tolist() == [1, 2, 2, 2]


def test_numbers_to_predict_are_cut_to_their_bounds() -> None:
    assert targets([9.0, None, float("nan"), -3], (0.0, 4.0)).tolist() == [4, 2, 2, 0]

"""Secret integers: what is read, what is refused, and that no value decides it."""

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms.integers import array_of, clamped, integers, plus

LIMIT = 2**63 - 1


@pytest.mark.parametrize(
    "exact",
    [
        [5, -1],
        [2**63, -1],  # numpy makes floats of these
        [2**70, -(2**70)],
        [np.int64(3), 2**70],
        [np.uint64(2**63), np.int64(-1)],
        np.array([2**64 - 1, 0], dtype=np.uint64),
        np.array([250, 3], dtype=np.uint8),
        np.array([np.int64(1), 2**65], dtype=object),
        [True, 5],
        [True, 2**70],
        [np.bool_(True), 2**70],
        [],
        np.array([]),
        [[1, 2], [3, 2**64]],
    ],
)
def test_integers_of_any_size_are_read_as_they_are(exact: object) -> None:
    found = integers("exact", exact)  # type: ignore[arg-type]
    assert found.dtype in (np.int64, object)
    assert all(type(value) is int for value in found.ravel().tolist())
    assert found.tolist() == [
        [int(v) for v in row] if isinstance(row, list) else int(row)
        for row in (exact if isinstance(exact, list) else exact.tolist())  # type: ignore[attr-defined]
    ]


@pytest.mark.parametrize(
    "exact",
    [
        [77.5],
        np.array([77, True], dtype=object),
        [None],
        ["77"],
        [b"77"],
        None,
        {},
        [77 + 0j],
        np.array([77.0]),
        [True],
    ],
)
def test_what_is_no_integer_is_refused_and_not_shown(exact: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"scores must hold integers, got an array of \S+\. Put") as caught:
        integers("scores", exact)  # type: ignore[arg-type]
    assert "77" not in str(caught.value)


def test_rows_of_different_lengths_and_other_shapes_are_refused() -> None:
    for ragged in ([[1], [1, 2]], [np.zeros(2), np.zeros((2, 2))]):
        with pytest.raises(InvalidParameterError, match="rows must be an array; its rows differ in length"):
            array_of("rows", ragged)
    for exact, dimensions in ((3, 0), ([[1, 2]], 2)):
        with pytest.raises(InvalidParameterError, match=f"exact must be a list of integers, got {dimensions} dim"):
            integers("exact", exact, listed=True)


def test_clamping_has_no_error_for_any_value() -> None:
    assert clamped("exact", [-(2**90), 4, 2**90], lower=0, upper=9).tolist() == [0, 4, 9]
    assert clamped("exact", [-(2**90), 4, 2**90]).tolist() == [-LIMIT - 1, 4, LIMIT]
    assert clamped("exact", np.array([2**64 - 1], dtype=np.uint64)).tolist() == [LIMIT]
    assert clamped("exact", 2**90).tolist() == LIMIT


def test_sums_are_exact_and_small_where_they_fit() -> None:
    total = plus(np.array([LIMIT + 5], dtype=object), np.array([-10]))
    assert total.dtype == np.int64
    assert total.tolist() == [LIMIT - 5]
    assert plus(np.array([LIMIT]), np.array([1])).tolist() == [LIMIT + 1]
    assert plus(np.array([-LIMIT]), np.array([-2])).tolist() == [-LIMIT - 2]

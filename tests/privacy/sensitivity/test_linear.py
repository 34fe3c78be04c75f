"""The sensitivity of a matrix of answers: all integer changes of small vectors, eigenvalues, bad matrices."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, Replace, Sensitivity, of_clipped_sum, of_count
from deniable.privacy.sensitivity.linear import _eigenvalue_above, _products, as_whole_numbers, of_linear_map

entries = st.integers(-3, 3)
matrices = st.integers(1, 4).flatmap(
    lambda columns: st.lists(st.lists(entries, min_size=columns, max_size=columns), min_size=1, max_size=4)
)


@given(matrices, st.integers(1, 4), st.integers(1, 3), st.sampled_from([None, 1, 2]))
def test_no_change_moves_the_answers_further(
    matrix: list[list[int]], l1: int, linf: int, coordinates: int | None
) -> None:
    linf = min(l1, linf)
    l2_squared = min(l1**2, linf * l1)
    reach = Sensitivity(l1=l1, l2_squared=l2_squared, linf=linf, relation=AddRemove, coordinates=coordinates)
    found = of_linear_map(matrix, reach)
    changes = np.array(list(product(range(-linf, linf + 1), repeat=len(matrix[0]))))
    changed = np.count_nonzero(changes, axis=1)
    allowed = changes[
        (np.abs(changes).sum(axis=1) <= l1)
        & ((changes**2).sum(axis=1) <= l2_squared)
        & (changed <= (coordinates or len(matrix[0])))
    ]
    moved = allowed @ np.array(matrix).T
    assert np.abs(moved).sum(axis=1).max() <= found.l1
    assert (moved**2).sum(axis=1).max() <= found.l2_squared
    assert np.abs(moved).max() <= found.linf
    assert np.count_nonzero(moved, axis=1).max() <= (found.coordinates or 0)


@given(matrices)
def test_one_changed_entry_is_exact(matrix: list[list[int]]) -> None:
    found = of_linear_map(matrix, of_clipped_sum(lower=0, upper=5, rows=1, groups=1, relation=AddRemove))
    columns = 5 * np.array(matrix)
    assert found.l1 == np.abs(columns).sum(axis=0).max()
    assert found.l2_squared == (columns**2).sum(axis=0).max()
    assert found.linf == np.abs(columns).max()


def test_two_entries_that_change_by_one_are_exact() -> None:
    """A histogram under replace, answered as prefix sums: all pairs of entries."""
    prefixes = np.tril(np.ones((6, 6), dtype=int))
    reach = of_count(rows=1, groups=1, relation=Replace)
    changes = [np.eye(6)[i] + sign * np.eye(6)[j] for i in range(6) for j in range(6) for sign in (1, -1) if i != j]
    truth = max(((prefixes @ change) ** 2).sum() for change in changes)
    assert of_linear_map(prefixes, reach).l2_squared == truth == 6 + 5 + 2 * 5


def test_the_operator_norm_is_used_where_it_is_smaller() -> None:
    """An orthogonal matrix moves nothing further, however many entries change: here 4 times a Hadamard matrix."""
    hadamard = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
    reach = of_count(rows=1, groups=4, relation=AddRemove)
    assert of_linear_map(hadamard, reach).l2_squared == 4 * reach.l2_squared


@given(matrices)
def test_the_eigenvalue_is_bounded_and_near(matrix: list[list[int]]) -> None:
    products = _products(as_whole_numbers(matrix))
    truth = np.linalg.eigvalsh(products.astype(float)).max()
    found = float(_eigenvalue_above(products))
    assert truth * (1 - 1e-12) <= found <= truth * 1.5 + 1e-9


def test_large_entries_stay_exact() -> None:
    large = 10**30
    found = of_linear_map([[large, 1], [1, large]], of_count(rows=1, groups=1, relation=AddRemove))
    assert found.l2_squared == large**2 + 1
    assert found.linf == large


def test_a_thousand_questions_take_no_time() -> None:
    prefixes = np.tril(np.ones((600, 600), dtype=int))
    assert of_linear_map(prefixes, of_count(rows=1, groups=1, relation=AddRemove)).l2_squared == 600


def test_a_zero_matrix_moves_nothing() -> None:
    found = of_linear_map([[0, 0]], of_count(rows=1, groups=2, relation=AddRemove))
    assert (found.l1, found.l2_squared, found.linf) == (0, 0, 0)


@pytest.mark.parametrize(
    "matrix", [[], [[]], [[1], [1, 2]], 3, [1, 2], [[0.5]], [[True]], [["1"]], [[Fraction(1)]], np.array([[0.5]])]
)
def test_what_is_no_matrix_of_whole_numbers_is_refused(matrix: object) -> None:
    with pytest.raises(InvalidParameterError, match="matrix must"):
        as_whole_numbers(matrix)  # type: ignore[arg-type]


@pytest.mark.parametrize("row", [np.array([100, 0]), range(0), 5, None])
def test_a_row_that_cannot_be_read_is_not_left_out(row: object) -> None:
    """Among rows that can, an array of numpy would have vanished, and its sensitivity with it."""
    with pytest.raises(InvalidParameterError, match="rows of equal length"):
        as_whole_numbers([(1, 1), row])  # type: ignore[list-item]

"""Sensitivity of the answers of a matrix of whole numbers, in exact rationals."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.privacy.losses.discrete_laplace import checked_sensitivity
from deniable.privacy.sensitivity import Sensitivity

Matrix = Sequence[Sequence[int]] | NDArray[Any]

_EXACT_IN_FLOATS = 2**53  # integers up to it are floats
_POWER_ITERATIONS = 60  # of the power method; any positive vector gives a bound, a good one a close bound
_VECTOR_STEPS = 2**20  # entries of the vector are rounded to whole multiples of 1 over this


def of_linear_map(matrix: Matrix, sensitivity: Sensitivity) -> Sensitivity:
    """Return the sensitivity of matrix @ x, for integers x with this sensitivity.

    Args:
        matrix: whole numbers; multiply by a common denominator first.
        sensitivity: of the vector x, in lattice steps.

    Guarantee: with G the matrix of products of columns, l2^2 is at most l2^2 max G_jj + (l1^2 - l2^2) max |G_ij|, and
        at most l2^2 times a bound of the greatest eigenvalue of |G|; exact where one entry changes, or two change by 1.
    Source: docs/theory/mechanisms/additive.md, "Linear maps".
    """
    sizes = np.abs(as_whole_numbers(matrix))
    norms = checked_sensitivity(sensitivity).integral()
    l1 = norms.l1 * int(sizes.sum(axis=0).max())
    products = _products(as_whole_numbers(matrix))
    bounds = [_by_entries(products, norms), norms.l2_squared * _eigenvalue_above(products), l1**2]
    whole = Fraction(math.floor(min(bounds)))
    linf = min(norms.l1 * int(sizes.max()), norms.linf * int(sizes.sum(axis=1).max()), Fraction(math.isqrt(int(whole))))
    rows = sizes.shape[0]
    if norms.coordinates is not None:
        rows = min(rows, norms.coordinates * int(np.count_nonzero(sizes, axis=0).max()))
    return Sensitivity(l1=l1, l2_squared=whole, linf=linf, relation=norms.relation, coordinates=max(rows, 1))


def as_whole_numbers(matrix: Matrix, *, name: str = "matrix") -> NDArray[Any]:
    """Return a matrix as a two-dimensional object array of Python ints.

    Raises: InvalidParameterError unless it is a full rectangle of ints.
    """
    listed = matrix.tolist() if isinstance(matrix, np.ndarray) else matrix
    rows = [tuple(row) if isinstance(row, Sequence) else () for row in listed] if isinstance(listed, Sequence) else []
    if not rows or not rows[0] or {len(row) for row in rows} != {len(rows[0])}:
        raise InvalidParameterError(f"{name} must be a list of rows of equal length, with at least one entry")
    if not all(type(entry) is int for row in rows for entry in row):
        raise InvalidParameterError(
            f"entries of {name} must be ints. Multiply by the common denominator; the noise is then in that unit."
        )
    return np.array(rows, dtype=object)


def _by_entries(products: NDArray[Any], norms: Sensitivity) -> Fraction:
    """Return a bound on l2^2 by entries: l2^2 max G_jj + (l1^2 - l2^2) max |G_ij|.

    For two entries that change by 1, the largest pair.
    """
    own = products.diagonal()
    crossed = products - np.diag(own)
    if norms.l1 == 2 and norms.linf == 1 and own.size > 1:
        pairs = own[:, None] + own + 2 * crossed
        np.fill_diagonal(pairs, 0)
        return Fraction(int(pairs.max()))
    return norms.l2_squared * int(own.max()) + (norms.l1**2 - norms.l2_squared) * int(crossed.max())


def _products(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return |A^T A|, exactly: in floats where no sum can be rounded."""
    largest = int(np.abs(matrix).max())
    if largest**2 * matrix.shape[0] < _EXACT_IN_FLOATS:
        floats = matrix.astype(np.float64)
        return np.asarray(np.abs(floats.T @ floats).astype(np.int64).astype(object))
    return np.asarray(np.abs(matrix.T @ matrix))


def _eigenvalue_above(products: NDArray[Any]) -> Fraction:
    """Bound the greatest eigenvalue by max_i (|G| v)_i / v_i for a positive vector v.

    v is near the vector that makes the bound least.
    """
    if not products.any():
        return Fraction(0)
    floats = products.astype(np.float64)
    vector = np.ones(floats.shape[0])
    for _ in range(_POWER_ITERATIONS):
        vector = floats @ vector + floats.max() * 1e-9 * vector.max()
        vector /= vector.max()
    whole = np.maximum(np.rint(vector * _VECTOR_STEPS), 1).astype(np.int64).astype(object)
    moved = products @ whole
    return max(Fraction(int(top), int(bottom)) for top, bottom in zip(moved, whole, strict=True))

"""Smallest eigenvalue of a matrix of integers, rounded down exactly: a secret."""

import numpy as np
from numpy.typing import NDArray


def smallest_eigenvalue(matrix: NDArray[np.object_]) -> int:
    """Return the largest integer that is not above any eigenvalue.

    Args:
        matrix: symmetric, of Python ints, without negative eigenvalues.

    Guarantee: exact, so that its sensitivity is that of the eigenvalue, rounded up. All roots of the characteristic
        polynomial p of a symmetric matrix are real; they are all >= m if and only if the signs of the coefficients of
        p(x + m) alternate (Descartes).
    """
    from flint import fmpz_mat, fmpz_poly

    polynomial = fmpz_mat(matrix.tolist()).charpoly()

    def holds(candidate: int) -> bool:
        moved = polynomial(fmpz_poly([candidate, 1])).coeffs()
        return all((-1) ** (len(moved) - 1 - power) * int(each) >= 0 for power, each in enumerate(moved))

    low, high = 0, min(int(each) for each in matrix.diagonal()) + 1  # the smallest one is at most every diagonal entry
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low

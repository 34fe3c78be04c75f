"""Coefficients from noisy sums, and how far the noise may have moved them."""

from dataclasses import dataclass

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.statistics.regression.moments import system


@dataclass(frozen=True, eq=False)
class Fit:
    """Scaled coefficients, and the covariance of their error.

    Args:
        coefficients: shape (features + 1,).
        covariance: to first order in the noise, and of what the ridge may have taken, were coefficients about 1.
    """

    coefficients: Floats
    covariance: Floats


def steady(sums: Floats, noise: Floats, features: int) -> Fit:
    """Return the least-squares coefficients, steady where the noise drowns the sums.

    They minimise |G theta - g|^2 + t^2 |theta|^2 for the noisy matrix G and vector g, with t about the norm of the
    noise in G. Eigenvalues of G far above t are as in least squares; others are damped, negative ones too.

    Args:
        noise: covariance of the noise of the sums.
    """
    matrix, vector = system(sums, features)
    norm_squared = 4 * len(vector) * noise.diagonal().mean()
    operator = np.linalg.solve(matrix @ matrix + norm_squared * np.eye(len(vector)), matrix)
    return _fit(np.asarray(operator, dtype=np.float64), matrix, vector, noise)


def ridge(sums: Floats, noise: Floats, features: int, penalty: float) -> Fit:
    """Return the coefficients (G + penalty I)^-1 g.

    The penalty must lift all eigenvalues of the noisy matrix above 0.
    """
    matrix, vector = system(sums, features)
    lowest_eigenvalue = float(np.linalg.eigvalsh(matrix)[0])
    floor = float(np.sqrt(noise.diagonal().max()))
    penalty = max(penalty, floor - lowest_eigenvalue)  # once in many runs the penalty is not enough
    operator = np.linalg.inv(matrix + penalty * np.eye(len(vector)))
    return _fit(np.asarray(operator, dtype=np.float64), matrix, vector, noise)


def _fit(operator: Floats, matrix: Floats, vector: Floats, noise: Floats) -> Fit:
    """Return the fit theta = operator g, with the covariance of its error.

    With noise N in G and n in g, it moves by about operator (n - N theta); and where operator G is not the identity, by
    (operator G - 1) theta.
    """
    coefficients = operator @ vector
    matrices, vectors = system(np.eye(len(noise)), len(vector) - 1)  # one sum each: shape (sums, ...)
    moves = operator @ (vectors - matrices @ coefficients).T
    missing = operator @ matrix - np.eye(len(vector))
    return Fit(coefficients, moves @ noise @ moves.T + missing @ missing.T)

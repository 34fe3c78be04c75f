"""Rows of straight lines, and the least-squares answer without noise."""

import numpy as np
from numpy.typing import NDArray

from deniable.release import Release

GENERATOR = np.random.default_rng(5)
SLOPES = np.array([1.5, -0.5, 0.25])


def rows(size: int, features: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Features spread evenly over [0, 10], and 3 + slopes * features with normal errors."""
    x = GENERATOR.uniform(0, 10, size=(size, features))
    return x, 3 + x @ SLOPES[:features] + GENERATOR.normal(size=size)


def least_squares(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), y, rcond=None)[0]


def line_error(answer: Release, x: NDArray[np.float64], true: NDArray[np.float64], half: float) -> float:
    """Mean squared distance of the two fitted functions, in half widths of the target's bounds."""
    apart = np.column_stack([np.ones(len(x)), x]) @ (answer["coefficient"] - true)
    return float((apart**2).mean()) / half**2

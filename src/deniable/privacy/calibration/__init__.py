"""Calibration: the noise, number of steps or rate that meets a privacy target."""

from deniable.privacy.calibration.calibrate import calibrate, gaussian_sigma_squared, laplace_scale, split
from deniable.privacy.notions.classical import (
    analytic_gaussian_sigma,
    classical_gaussian_sigma,
    simple_gaussian_sigma,
)

__all__ = [
    "analytic_gaussian_sigma",
    "calibrate",
    "classical_gaussian_sigma",
    "gaussian_sigma_squared",
    "laplace_scale",
    "simple_gaussian_sigma",
    "split",
]

"""Noise added to integers: one law per file."""

from deniable.mechanisms.additive.bounded_laplace import BoundedLaplace
from deniable.mechanisms.additive.elliptical import EllipticalGaussian
from deniable.mechanisms.additive.gaussian import Gaussian
from deniable.mechanisms.additive.laplace import Laplace
from deniable.mechanisms.additive.law import NoiseLaw
from deniable.mechanisms.additive.snapping import Snapping
from deniable.mechanisms.additive.staircase import Staircase
from deniable.mechanisms.additive.truncated_laplace import TruncatedLaplace
from deniable.mechanisms.base import Mechanism

ADDITIVE: tuple[type[Mechanism], ...] = (
    BoundedLaplace,
    EllipticalGaussian,
    Gaussian,
    Laplace,
    Snapping,
    Staircase,
    TruncatedLaplace,
)

__all__ = [
    "BoundedLaplace",
    "EllipticalGaussian",
    "Gaussian",
    "Laplace",
    "NoiseLaw",
    "Snapping",
    "Staircase",
    "TruncatedLaplace",
]

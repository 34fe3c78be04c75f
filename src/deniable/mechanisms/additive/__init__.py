"""Noise added to integers: one law per file."""

from deniable.mechanisms.additive.base import AdditiveNoise, Noisy
from deniable.mechanisms.additive.gaussian import Gaussian
from deniable.mechanisms.additive.laplace import Laplace

ADDITIVE = (Gaussian, Laplace)

__all__ = ["ADDITIVE", "AdditiveNoise", "Gaussian", "Laplace", "Noisy"]

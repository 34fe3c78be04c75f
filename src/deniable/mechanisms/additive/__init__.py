"""Noise added to integers: one law per file."""

from deniable.mechanisms.additive.base import AdditiveNoise, Noisy
from deniable.mechanisms.additive.gaussian import Gaussian
from deniable.mechanisms.additive.laplace import Laplace
from deniable.mechanisms.additive.truncated_laplace import TruncatedLaplace
from deniable.mechanisms.base import Mechanism

ADDITIVE: tuple[type[Mechanism], ...] = (Gaussian, Laplace, TruncatedLaplace)

__all__ = ["ADDITIVE", "AdditiveNoise", "Gaussian", "Laplace", "Noisy", "TruncatedLaplace"]

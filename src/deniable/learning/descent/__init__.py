"""Projected descents: with exact gradients, with sampled ones, and with private ones."""

from deniable.learning.descent.noisy import NoisyDescent
from deniable.learning.descent.projected import Descent, descend, descend_by_samples

__all__ = ["Descent", "NoisyDescent", "descend", "descend_by_samples"]

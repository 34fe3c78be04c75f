"""Protocols that estimate the mean of numbers and vectors in declared bounds."""

from deniable.local.means.bounded import MeanProtocol
from deniable.local.means.vectors import VectorMean

__all__ = ["MeanProtocol", "VectorMean"]

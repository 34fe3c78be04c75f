"""Protocols that estimate the mean of numbers and vectors in declared bounds."""

from deniable.local.means.bounded import DuchiMean, HybridMean, MeanProtocol, PiecewiseMean
from deniable.local.means.vectors import VectorMean

MEANS = (DuchiMean, PiecewiseMean, HybridMean, VectorMean)

__all__ = ["MEANS", "DuchiMean", "HybridMean", "MeanProtocol", "PiecewiseMean", "VectorMean"]

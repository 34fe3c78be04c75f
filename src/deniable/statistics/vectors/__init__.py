"""Means and covariances of vectors, for which loose public bounds are enough."""

from deniable.statistics.vectors.covariance import VectorCovariance, vector_covariance
from deniable.statistics.vectors.mean import VectorMean, vector_mean

__all__ = ["VectorCovariance", "VectorMean", "vector_covariance", "vector_mean"]

"""Means and covariances of vectors, for which loose public bounds are enough."""

from deniable.statistics.vectors.covariance import vector_covariance
from deniable.statistics.vectors.mean import vector_mean

__all__ = ["vector_covariance", "vector_mean"]

"""Sums over rows that are clipped to a ball: of the rows, and of their products."""

from deniable.mechanisms.vectors.clipped_products import ClippedProducts
from deniable.mechanisms.vectors.clipped_sum import ClippedSum

VECTORS = (ClippedSum, ClippedProducts)

__all__ = ["ClippedProducts", "ClippedSum"]

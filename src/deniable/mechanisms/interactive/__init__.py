"""Mechanisms that answer question after question."""

from deniable.mechanisms.base import Mechanism
from deniable.mechanisms.interactive.above_threshold import AboveThreshold
from deniable.mechanisms.interactive.sparse_vector import SparseVector

INTERACTIVE: tuple[type[Mechanism], ...] = (AboveThreshold, SparseVector)

__all__ = ["AboveThreshold", "SparseVector"]

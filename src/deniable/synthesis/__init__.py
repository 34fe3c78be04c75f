"""Synthetic rows: noisy tables of a private one, a model of them, and rows drawn from it.

`Database.synthesize` makes them; see docs/guide/synthesis.md.
"""

from deniable.synthesis.hierarchy import HierarchicalCounts
from deniable.synthesis.synthesis import Synthesis

__all__ = ["HierarchicalCounts", "Synthesis"]

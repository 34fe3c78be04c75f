"""Counts of a hierarchy of units that add up on every level.

`Database.hierarchy` makes them; see docs/guide/hierarchies.md.
"""

from deniable.synthesis.hierarchy.counts import HierarchicalCounts

__all__ = ["HierarchicalCounts"]

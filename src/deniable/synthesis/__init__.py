"""Noisy tables of a private one that agree with each other, and synthetic rows.

`Database.marginals` and `Database.synthesize` make them; see docs/guide/marginals.md and docs/guide/synthesis.md.
"""

from deniable.synthesis.hierarchy import HierarchicalCounts
from deniable.synthesis.plan import MarginalPlan
from deniable.synthesis.ranges import RangeCounts, RangePlan
from deniable.synthesis.synthesis import Synthesis
from deniable.synthesis.tables import Marginals

__all__ = ["HierarchicalCounts", "MarginalPlan", "Marginals", "RangeCounts", "RangePlan", "Synthesis"]

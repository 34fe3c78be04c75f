"""Counts of a hierarchy of units that add up on every level.

`Database.hierarchy` makes them; see docs/guide/hierarchies.md.
"""

from deniable.synthesis.hierarchy.counts import HierarchicalCounts
from deniable.synthesis.hierarchy.redistricting import (
    HOUSING_KEYS,
    PERSON_KEYS,
    PERSONS_2020,
    TABLES,
    PublishedSplit,
    RedistrictingTable,
)

__all__ = [
    "HOUSING_KEYS",
    "PERSONS_2020",
    "PERSON_KEYS",
    "TABLES",
    "HierarchicalCounts",
    "PublishedSplit",
    "RedistrictingTable",
]

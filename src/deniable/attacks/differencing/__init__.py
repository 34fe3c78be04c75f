"""Counts that reveal one person: alone, as differences, and in a log of queries."""

from deniable.attacks.differencing.counts import isolate_people, subtract_counts
from deniable.attacks.differencing.log import Difference, Differences, find_determined_people, find_differences

__all__ = [
    "Difference",
    "Differences",
    "find_determined_people",
    "find_differences",
    "isolate_people",
    "subtract_counts",
]

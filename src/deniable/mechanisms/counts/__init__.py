"""Counts: running sums from a tree of noisy counts, and histograms of keys that nobody declared."""

from deniable.mechanisms.counts.stability_histogram import StabilityHistogram
from deniable.mechanisms.counts.tree import TreeOfCounts

COUNTS = (TreeOfCounts, StabilityHistogram)

__all__ = ["StabilityHistogram", "TreeOfCounts"]

"""Counts: running sums from a tree of noisy counts, histograms of undeclared keys."""

from deniable.mechanisms.counts.stability_histogram import StabilityHistogram
from deniable.mechanisms.counts.tree import TreeOfCounts
from deniable.mechanisms.counts.weighted_keys import WeightedKeys

COUNTS = (TreeOfCounts, StabilityHistogram, WeightedKeys)

__all__ = ["StabilityHistogram", "TreeOfCounts", "WeightedKeys"]

"""Releases that test privately how stable the data is, or split it so that it is."""

from deniable.mechanisms.tested.propose_test_release import ProposeTestRelease
from deniable.mechanisms.tested.sample_and_aggregate import SampleAndAggregate
from deniable.mechanisms.tested.stable_selection import StableSelection

TESTED = (ProposeTestRelease, StableSelection, SampleAndAggregate)

__all__ = ["ProposeTestRelease", "SampleAndAggregate", "StableSelection"]

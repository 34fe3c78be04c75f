"""What may be published: noisy values with their intervals, their cost, and what is left."""

from deniable.release.columns import Bounds, ErrorLaw, Estimate, Key, Measure, Noisy
from deniable.release.provenance import Provenance
from deniable.release.release import Release

__all__ = ["Bounds", "ErrorLaw", "Estimate", "Key", "Measure", "Noisy", "Provenance", "Release"]

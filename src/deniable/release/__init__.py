"""What may be published: noisy values with their intervals, their cost, and what is left."""

from deniable.release.columns import ErrorLaw, Key, Measure, Noisy
from deniable.release.intervals import Bounds
from deniable.release.release import Release

__all__ = ["Bounds", "ErrorLaw", "Key", "Measure", "Noisy", "Release"]

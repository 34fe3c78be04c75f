"""Published results: noisy values with intervals, their cost, and what is left."""

from deniable.release.provenance import Provenance
from deniable.release.release import Release

__all__ = ["Provenance", "Release"]

"""Noise that cancels over time, for streams and for training.

Proofs: docs/theory/mechanisms/correlated.md.
"""

from deniable.mechanisms.correlated.banded import Banded
from deniable.mechanisms.correlated.base import NoiseCorrelation, Uses
from deniable.mechanisms.correlated.buffered import Buffered
from deniable.mechanisms.correlated.tree import Tree
from deniable.mechanisms.correlated.triangular import Triangular
from deniable.mechanisms.correlated.whole import WholeBuffered

CORRELATIONS: dict[str, type[NoiseCorrelation]] = {each.__name__: each for each in (Banded, Buffered, Tree)}
"""Those that training plans take."""

__all__ = ["CORRELATIONS", "Banded", "Buffered", "NoiseCorrelation", "Tree", "Triangular", "Uses", "WholeBuffered"]

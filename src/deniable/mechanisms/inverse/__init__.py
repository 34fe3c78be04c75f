"""Values the likelier, the fewer records have to change to reach them."""

from deniable.mechanisms.inverse.median import InverseMedian
from deniable.mechanisms.inverse.quantile import InverseQuantile
from deniable.mechanisms.inverse.sensitivity import InverseSensitivity

INVERSE = (InverseSensitivity, InverseMedian, InverseQuantile)

__all__ = ["InverseMedian", "InverseQuantile", "InverseSensitivity"]

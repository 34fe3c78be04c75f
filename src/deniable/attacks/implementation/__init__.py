"""Attacks on how a release was computed: floating point, generators, sums, clocks, errors and repeated reads.

Each breaks textbook code whose formula is right. None knows anything of the code that it is run against.
"""

from deniable.attacks.implementation.precision import addable, grain, read_precision, tell_apart_by_precision
from deniable.attacks.implementation.support import (
    BOX_MULLER,
    LAPLACE,
    POLAR,
    Sampler,
    reachable,
    tell_apart_by_support,
)

__all__ = [
    "BOX_MULLER",
    "LAPLACE",
    "POLAR",
    "Sampler",
    "addable",
    "grain",
    "reachable",
    "read_precision",
    "tell_apart_by_precision",
    "tell_apart_by_support",
]


def __dir__() -> list[str]:
    return sorted(__all__)

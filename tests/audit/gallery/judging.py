"""What every room of the gallery is tested for."""

import math
from types import ModuleType

from deniable.audit.gallery import GALLERY


def names(module: ModuleType) -> list[str]:
    """The specimens that a file hangs."""
    return [name for name, one in GALLERY.items() if one.chances.__module__ == module.__name__]


def epsilon(name: str) -> float:
    """What is found at the delta of the claim."""
    return GALLERY[name].audit().epsilon


def probability(name: str, output: object, *, neighbour: bool = False) -> float:
    """The middle of the probability of one output."""
    one = GALLERY[name]
    mass = one.law(one.neighbour if neighbour else one.data)[output]  # type: ignore[index]
    return float(mass) if not hasattr(mass, "lower") else math.fsum((mass.lower, mass.upper)) / 2

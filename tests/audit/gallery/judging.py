"""What every room of the gallery is tested for."""

import math
from types import ModuleType

from deniable.audit.gallery import GALLERY


def names(module: ModuleType) -> list[str]:
    """The specimens that a file hangs."""
    return [name for name, one in GALLERY.items() if one.chances.__module__ == module.__name__]


def judge(name: str) -> None:
    """A broken mechanism is caught for certain, a sound one is not, and nothing is found above the known truth."""
    one = GALLERY[name]
    found = one.audit()
    assert found.violated != one.sound, found.sentence
    assert found.confidence == 1
    assert one.flaw.endswith(".")
    assert one.source
    if one.truth is not None:
        assert found.epsilon <= one.truth * (1 + 1e-9)
        if one.sound:
            assert one.truth <= found.claimed * (1 + 1e-9)


def epsilon(name: str) -> float:
    """What is found at the delta of the claim."""
    return GALLERY[name].audit().epsilon


def probability(name: str, output: object, *, neighbour: bool = False) -> float:
    """The middle of the probability of one output."""
    one = GALLERY[name]
    mass = one.law(one.neighbour if neighbour else one.data)[output]  # type: ignore[index]
    return float(mass) if not hasattr(mass, "lower") else math.fsum((mass.lower, mass.upper)) / 2

"""What draws in this library, for `replay`: whole mechanisms, or the samplers of deniable.noise alone."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from deniable.audit.recorded import RecordedSampler
from deniable.mechanisms import MECHANISMS, Mechanism
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.noise import (
    bernoulli,
    gaussian,
    geometric,
    laplace,
    race,
    races,
    rounded,
    simulation,
    staircase,
    truncated_laplace,
    uniform,
)
from deniable.privacy import AddRemove, PrivacyLoss, Sensitivity


def moved(mine: Any, theirs: Any) -> PrivacyLoss | None:
    """What additive noise reveals of the difference between two exact inputs, by the loss that it states."""
    one, other = (np.asarray(each["exact"], dtype=object).ravel() for each in (mine, theirs))
    steps = [abs(int(a) - int(b)) for a, b in zip(one, other, strict=True)]
    if not any(steps):
        return None
    found = Sensitivity(l1=sum(steps), l2_squared=sum(step**2 for step in steps), linf=max(steps), relation=AddRemove)
    return mine["self"].privacy_loss(found)  # type: ignore[no-any-return]


def _kinds(kind: type[Mechanism]) -> Iterator[type[Mechanism]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _kinds(below)


def _releases() -> Iterator[RecordedSampler]:
    assert MECHANISMS
    for kind in dict.fromkeys(_kinds(Mechanism)):
        if "release" in vars(kind):
            additive = issubclass(kind, AdditiveNoise)
            yield RecordedSampler(
                owner=kind, name="release", secret=frozenset({"exact", "bits"}),
                shaped=frozenset({"exact"} if additive else ()), loss=moved if additive else None,
            )  # fmt: skip


def _of(module: ModuleType, names: str, *, secret: str = "") -> tuple[RecordedSampler, ...]:
    hidden = frozenset({"bits", *secret.split()})
    return tuple(RecordedSampler(owner=module, name=name, secret=hidden) for name in names.split())


SIMULATION = _of(simulation, "uniforms normals")
RELEASES = (*_releases(), *SIMULATION)
"""What mechanisms release, and simulations draw: all that statistics and queries make of them is public."""

NOISE = (
    *_of(bernoulli, "sample sample_exp"),
    *_of(bernoulli, "sample_enclosed", secret="p"),
    *_of(bernoulli, "sample_each", secret="near exact"),
    *_of(gaussian, "sample"),
    *_of(geometric, "sample floored_laplace"),
    *_of(laplace, "sample"),
    *_of(race, "exponential_mechanism permute_and_flip noisy_max top", secret="scores weights"),
    *_of(races, "exponential_mechanism permute_and_flip noisy_max top", secret="scores weights"),
    *_of(rounded, "sample", secret="centre scale"),
    *_of(truncated_laplace, "sample"),
    *_of(truncated_laplace, "sample_within", secret="left right"),
    *_of(uniform, "sample", secret="limits"),
    *_of(uniform, "below"),
    RecordedSampler(owner=staircase.Stairs, name="sample", secret=frozenset({"bits"})),
)
"""What draws the noise of mechanisms; exact values reach a sampler only where it is made to protect them."""

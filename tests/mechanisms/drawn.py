"""The additive noise that a release really drew, and the loss of that noise at the measured moves of its inputs."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pytest

from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.base import Released
from deniable.noise.bits import Bits, DeterministicBits
from deniable.privacy import PrivacyLoss, Relation, Sensitivity, compose

Rows = TypeVar("Rows")


def drawn_loss(
    run: Callable[[Rows, Bits], object], here: Rows, there: Rows, *, relation: Relation, seed: int = 1
) -> PrivacyLoss:
    """The composed loss of all noise of `run` on two neighbouring inputs, where the second sees the first's answers."""
    first = recorded(lambda: run(here, DeterministicBits(seed)))
    second = recorded(lambda: run(there, DeterministicBits(seed)), [answer for *_, answer in first])
    assert [noise for noise, *_ in first] == [noise for noise, *_ in second]
    moves = [
        (noise, np.ravel(a).astype(object) - np.ravel(b).astype(object))
        for (noise, a, _), (_, b, _) in zip(first, second, strict=True)
    ]
    return compose([noise.privacy_loss(_measured(moved, relation)) for noise, moved in moves if moved.any()])


def recorded(run: Callable[[], object], answers: list[Any] | None = None) -> list[tuple[AdditiveNoise, Any, Any]]:
    """Every additive noise that was drawn, with its exact input and its answer; `answers` replace those drawn."""
    drawn: list[tuple[AdditiveNoise, Any, Any]] = []
    real = AdditiveNoise.release

    def release(self: AdditiveNoise, exact: Any, *, bits: Bits) -> Released[Any]:
        found = real(self, exact, bits=bits)  # takes the same words in both runs
        value = found.value if answers is None else answers[len(drawn)]
        drawn.append((self, np.array(exact), value))
        return Released(value, found.safe)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AdditiveNoise, "release", release)
        run()
    return drawn


def _measured(moved: Any, relation: Relation) -> Sensitivity:
    sizes = [Fraction(int(abs(entry))) for entry in moved]
    return Sensitivity(
        l1=sum(sizes, Fraction(0)),
        l2_squared=sum((size**2 for size in sizes), Fraction(0)),
        linf=max(sizes),
        relation=relation,
        coordinates=len(sizes),
    )

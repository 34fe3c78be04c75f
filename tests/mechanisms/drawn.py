"""The noise and the choices that a release really drew, and their loss at the measured moves of its inputs."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pytest

from deniable.mechanisms import MECHANISMS
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.base import Mechanism, Released
from deniable.mechanisms.ranks import RecursiveQuantiles
from deniable.mechanisms.ranks.base import OneQuantile, RankMechanism, SeveralQuantiles
from deniable.mechanisms.ranks.records import RankWindow, SortedRecords
from deniable.mechanisms.selection.base import Selection
from deniable.noise.bits import SECURE, Bits, DeterministicBits
from deniable.privacy import AddRemove, PrivacyLoss, PureLoss, Relation, Sensitivity, compose
from tests.mechanisms.ranks.laws import distances

Rows = TypeVar("Rows")
Run = Callable[[Rows, Bits], object]
GAPS = 8  # parts of the space between two records
assert MECHANISMS  # all of them are loaded


def drawn_loss(run: Run[Rows], here: Rows, there: Rows, *, relation: Relation, seed: int = 1) -> PrivacyLoss:
    """The composed loss of all noise of `run` on two neighbouring inputs, where the second sees the first's answers."""
    return compose(drawn_losses(run, here, there, relation=relation, seed=seed))


def drawn_share(
    run: Run[Rows], pairs: Iterable[tuple[Rows, Rows]], *, relation: Relation, stated: PrivacyLoss
) -> float:
    """Return the part of a stated pure epsilon, or rho, that draws spend on the worst of some neighbours."""
    kind = "rho" if stated.pure_epsilon is None else "pure_epsilon"
    spent = [sum(getattr(loss, kind) for loss in drawn_losses(run, *pair, relation=relation)) for pair in pairs]
    return float(max(spent) / getattr(stated, kind))


def drawn_losses(run: Run[Rows], here: Rows, there: Rows, *, relation: Relation, seed: int = 1) -> list[PrivacyLoss]:
    first = recorded(lambda: run(here, DeterministicBits(seed)))
    second = recorded(lambda: run(there, DeterministicBits(seed)), [answer for *_, answer in first])
    assert [noise for noise, *_ in first] == [noise for noise, *_ in second]
    pairs = [(noise, here, there) for (noise, here, _), (_, there, _) in zip(first, second, strict=True)]
    losses = [loss_between(*pair, relation) for pair in pairs]
    return [loss for loss in losses if loss is not None]


def loss_between(mechanism: Mechanism, here: Any, there: Any, relation: Relation) -> PrivacyLoss | None:
    """Return the loss of one draw on two exact inputs, or None where they are the same."""
    if isinstance(mechanism, RankMechanism):
        return None if np.array_equal(here, there) else loss_of_ranks(mechanism, here, there)
    moved = np.ravel(here).astype(object) - np.ravel(there).astype(object)
    return loss_of_move(mechanism, moved, relation) if moved.any() else None


def recorded(run: Callable[[], object], answers: list[Any] | None = None) -> list[tuple[Mechanism, Any, Any]]:
    """What drew, with its exact input and its answer, in order; `answers` replace those drawn."""
    drawn: list[tuple[Mechanism, Any, Any]] = []

    def release(
        real: Callable[..., Released[Any]], self: Mechanism, exact: Any, *, bits: Bits = SECURE
    ) -> Released[Any]:
        found = real(self, exact, bits=bits)  # takes the same words in both runs
        value = found.value if answers is None else answers[len(drawn)]
        drawn.append((self, np.array(_records(exact)), value))
        return Released(value, found.safe)

    with pytest.MonkeyPatch.context() as patch:
        for kind in _releasing():
            real = vars(kind)["release"]
            patch.setattr(kind, "release", lambda self, exact, real=real, **bits: release(real, self, exact, **bits))
        run()
    return drawn


def _records(exact: Any) -> Any:
    """All records in order, if they are known; other inputs as they are."""
    if isinstance(exact, SortedRecords):
        return exact.between(0, exact.size)
    whole = isinstance(exact, RankWindow) and (exact.start, exact.end) == (0, exact.total)
    return exact.known if whole else exact


def _releasing(
    kinds: tuple[type[Mechanism], ...] = (AdditiveNoise, Selection, OneQuantile, SeveralQuantiles),
) -> Iterator[type[Mechanism]]:
    for kind in kinds:
        if "release" in vars(kind):
            yield kind
        yield from _releasing(tuple(kind.__subclasses__()))


def loss_of_move(mechanism: Mechanism, moved: Any, relation: Relation) -> PrivacyLoss:
    """The loss at one measured move; a choice sees how far scores moved apart, as monotone ones by `linf`."""
    if isinstance(mechanism, Selection):
        apart = Fraction(int(max(moved) - min(moved)))
        sensitivity = Sensitivity(l1=apart, l2_squared=apart**2, linf=apart, relation=AddRemove)
        return replace(mechanism, monotone=True).privacy_loss(sensitivity)
    return mechanism.privacy_loss(sensitivity_of(moved, relation))


def loss_of_ranks(mechanism: RankMechanism, here: Any, there: Any) -> PrivacyLoss:
    """The interval of losses of points beside records and between them, by the definition of their distances."""
    assert here.dtype == there.dtype == np.int64, "windows that do not know all records"
    last = mechanism.points.size - 1
    records = np.unique(np.concatenate([here, there, [0, last]]))
    between = records[:-1] + np.diff(records) * np.arange(1, GAPS)[:, np.newaxis] // GAPS
    points = np.unique(np.clip(np.concatenate([records - 1, records, records + 1, between.ravel()]), 0, last))
    away = []
    for table in (here, there):
        if isinstance(mechanism, OneQuantile):
            target, parts = mechanism.target(len(table)), mechanism.interpolated
        else:
            assert isinstance(mechanism, RecursiveQuantiles)
            (quantile,), parts = mechanism.quantiles, False
            target = quantile * len(table)
        away.append(distances(table, float(target), last + 1, parts, points))
    return PureLoss(mechanism.rate * Fraction(float(np.ptp(away[0] - away[1]))))


def sensitivity_of(moved: Any, relation: Relation) -> Sensitivity:
    """One measured move in all norms."""
    sizes = [Fraction(int(abs(entry))) for entry in moved]
    return Sensitivity(
        l1=sum(sizes, Fraction(0)),
        l2_squared=sum((size**2 for size in sizes), Fraction(0)),
        linf=max(sizes),
        relation=relation,
        coordinates=len(sizes),
    )

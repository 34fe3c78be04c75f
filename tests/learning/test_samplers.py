"""Samplers: exact laws of tiny plans against their stated losses, and draws against their definitions."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy.special import logsumexp

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.learning import (
    BallsInBins,
    Clip,
    CyclicPoisson,
    FixedSize,
    Poisson,
    ShuffledEpochs,
    TrainingPlan,
    TruncatedPoisson,
)
from deniable.learning.samplers import Sampler
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace

Chances = Iterator[tuple[float, tuple[int, ...]]]  # of the place of each row, -1 for none
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def poisson(rows: int, rate: float, cap: int = 99) -> Chances:
    for kept in product((True, False), repeat=rows):
        chosen = [row for row in range(rows) if kept[row]]
        weight = math.prod(rate if each else 1 - rate for each in kept)
        cut = list(combinations(chosen, min(cap, len(chosen))))
        yield from ((weight / len(cut), tuple(-(row not in each) for row in range(rows))) for each in cut)


def subsets(rows: int, size: int) -> Chances:
    cut = list(combinations(range(rows), size))
    yield from ((1 / len(cut), tuple(-(row not in each) for row in range(rows))) for each in cut)


def bins(rows: int, count: int) -> Chances:
    yield from ((count**-rows, each) for each in product(range(count), repeat=rows))


def shuffles(rows: int, size: int) -> Chances:
    orders = list(permutations(range(rows)))
    yield from ((1 / len(orders), tuple(place // size for place in order)) for order in orders)


CASES: list[tuple[Sampler, Relation, Callable[[int], Chances], bool]] = [  # the last: one row alone attains the loss
    (Poisson(rate=HALF), AddRemove, lambda rows: poisson(rows, 0.5), True),
    (Poisson(rate=THIRD), Replace, lambda rows: poisson(rows, 1 / 3), True),
    (TruncatedPoisson(rate=HALF, cap=1, population=3), AddRemove, lambda rows: poisson(rows, 0.5, 1), False),
    (TruncatedPoisson(rate=HALF, cap=2, population=3), Replace, lambda rows: poisson(rows, 0.5, 2), False),
    (FixedSize(size=1, population=3), Replace, lambda rows: subsets(rows, 1), False),
    (FixedSize(size=2, population=3), Replace, lambda rows: subsets(rows, 2), False),
    (ShuffledEpochs(size=2, population=3), Replace, lambda rows: shuffles(rows, 2), False),
    (BallsInBins(bins=2), AddRemove, lambda rows: bins(rows, 2), True),
    (BallsInBins(bins=2), Replace, lambda rows: bins(rows, 2), True),
]
DRAWN = [
    *((sampler, chances) for sampler, _, chances, _ in CASES),
    (CyclicPoisson(classes=3), lambda rows: bins(rows, 3)),
]


def plan(sampler: Sampler, relation: Relation, **changed: object) -> TrainingPlan:
    settings = {"noise_multiplier": 1, "steps": 2, "dimensions": 1, "clip": Clip(lattice=1), **changed}
    return TrainingPlan(sampler=sampler, relation=relation, **settings)  # type: ignore[arg-type]


def named(value: object) -> str | None:
    """A name that does not change from run to run."""
    return None if callable(value) else str(value)


def law(rows: tuple[int, ...], chances: Callable[[int], Chances], period: int) -> np.ndarray:
    """Of both steps together: a mixture over all that can be drawn of two integers with noise of sigma 1."""
    grid = np.arange(-12, 13)
    noise = {at: np.exp(-((grid - at) ** 2) / 2) / np.exp(-(np.arange(-40, 41) ** 2) / 2).sum() for at in range(-3, 4)}

    def sums(place: int, places: tuple[int, ...]) -> int:
        return sum(row for row, each in zip(rows, places, strict=True) if each == place)

    if period == 2:
        return sum(w * np.outer(noise[sums(0, at)], noise[sums(1, at)]) for w, at in chances(len(rows)))  # type: ignore[return-value]
    once = sum(weight * noise[sums(0, at)] for weight, at in chances(len(rows)))
    return np.outer(once, once)


@pytest.mark.parametrize(("sampler", "relation", "chances", "attained"), CASES, ids=named)
def test_no_tiny_table_reveals_more_than_is_stated(
    sampler: Sampler, relation: Relation, chances: Callable[[int], Chances], attained: bool
) -> None:
    """All tables of up to three rows with gradients -1, 0 or 1, summed exactly; nothing lies beyond 9 sigma.

    The Rényi divergence of order a is at most a times the rho of public samples.
    """
    loss, worst = plan(sampler, relation).privacy_loss, 0.0
    rho, nearest = plan(sampler, relation).known_loss.rho, 0.0
    assert rho is not None
    assert relation in plan(sampler, relation).known_loss.relations
    whole = [3] if relation is Replace else [1, 2, 3]
    for others in {rows for size in whole for rows in product((-1, 0, 1), repeat=size - 1)}:
        tables = [(*others, own) for own in (-1, 1)] if relation is Replace else [(*others, 1), others]
        one, other = (law(rows, chances, sampler.period) for rows in tables)
        for epsilon in (Fraction(1, 2), Fraction(2)):
            limit = loss.delta(epsilon).upper
            found = max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((one, other), (other, one)))
            assert found <= limit * (1 + 1e-9)
            worst = max(worst, found / limit)
        for order, (a, b) in product((1.5, 4.0), ((np.log(one), np.log(other)), (np.log(other), np.log(one)))):
            divergence = float(logsumexp(order * a - (order - 1) * b)) / (order - 1)
            nearest = max(nearest, divergence / (order * float(rho)))
    assert 0.1 < nearest <= 1 + 1e-9
    assert worst > (0.99 if attained else 0.5)


@pytest.mark.parametrize(("sampler", "chances"), DRAWN, ids=named)
def test_draws_have_the_law_of_the_definition(sampler: Sampler, chances: Callable[[int], Chances]) -> None:
    """4,000 draws; five standard errors each: false alarms below 2e-5 in all."""
    bits, runs = DeterministicBits(7), 4000
    seen = Counter(tuple(sampler.allot(3, bits).tolist()) for _ in range(runs))
    law: Counter[tuple[int, ...]] = Counter()
    for weight, places in chances(3):
        law[places] += weight  # type: ignore[assignment]
    assert set(seen) <= set(law)
    assert all(abs(seen[at] / runs - p) <= 5 * math.sqrt(p * (1 - p) / runs) for at, p in law.items())


@pytest.mark.parametrize(("sampler", "relation", "chances", "attained"), CASES, ids=named)
def test_whole_runs_have_the_law_that_was_enumerated(
    sampler: Sampler, relation: Relation, chances: Callable[[int], Chances], attained: bool
) -> None:
    """700 runs of two steps, nine cells each; five standard errors: false alarms below 1e-4. Twin: two rows less."""
    rows, runs, bits = np.array([-1, -1, 1]), 700, DeterministicBits(11)
    made, seen = plan(sampler, relation), np.zeros((3, 3))
    for _ in range(runs):
        run = made.run(3, expected_rows=3, bits=bits)
        one, other = (int(np.sign(run.noisy(rows[batch].sum(keepdims=True))[0][0])) for batch in run)
        seen[one + 1, other + 1] += 1

    def cells(table: tuple[int, ...]) -> np.ndarray:
        parts = np.split(law(table, chances, sampler.period), [12, 13], axis=0)
        return np.array([[cell.sum() for cell in np.split(part, [12, 13], axis=1)] for part in parts])

    def apart(expected: np.ndarray) -> float:
        return float((np.abs(seen / runs - expected) / np.sqrt(expected * (1 - expected) / runs)).max())

    assert apart(cells((-1, -1, 1))) < 5 < apart(cells((0, 0, 1)))


@pytest.mark.parametrize("sampler", [FixedSize(size=1, population=3), ShuffledEpochs(size=1, population=3)], ids=str)
def test_other_draws_accounted_as_poisson_would_be_too_cheap(sampler: FixedSize) -> None:
    """The twin: the loss of a Poisson sample of the same share is exceeded by a table (Lebeda et al. 2024)."""
    chances = subsets if type(sampler) is FixedSize else shuffles
    one, other = (law((-1, -1, own), lambda rows: chances(rows, 1), min(sampler.period, 2)) for own in (-1, 1))
    claimed = plan(Poisson(rate=THIRD), AddRemove).privacy_loss.delta(1).upper
    assert np.maximum(other - math.e * one, 0).sum() > 1.5 * claimed


@pytest.mark.parametrize("sampler", [each[0] for each in CASES], ids=named)
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_there_are_always_as_many_batches_as_steps(sampler: Sampler, rows: int) -> None:
    relation = Replace if isinstance(sampler, FixedSize) else AddRemove
    if relation is Replace and rows != 3:
        with pytest.raises(InvalidParameterError, match="population"):
            plan(sampler, relation).run(rows, expected_rows=3)
        return
    run, seen = plan(sampler, relation, steps=7).run(rows, expected_rows=3, bits=DeterministicBits(1)), []
    for batch in run:
        seen.append(batch)
        assert np.isfinite(run.mean_gradient(np.ones((len(batch), 1)))).all()
    assert len(seen) == 7


@pytest.mark.parametrize("sampler", [BallsInBins(bins=4), ShuffledEpochs(size=6, population=22)], ids=str)
def test_an_epoch_has_every_row_once(sampler: Sampler) -> None:
    run = plan(sampler, Replace, steps=8).run(22, expected_rows=22, bits=DeterministicBits(2))
    batches = [(batch, run.mean_gradient(np.zeros((len(batch), 1))))[0] for batch in run]
    assert [sorted(np.concatenate(epoch)) for epoch in (batches[:4], batches[4:])] == [list(range(22))] * 2
    assert np.concatenate(batches[:4]).tolist() != np.concatenate(batches[4:]).tolist()


def test_an_epoch_that_is_cut_short_costs_a_whole_one() -> None:
    for sampler in (BallsInBins(bins=4), ShuffledEpochs(size=5, population=20)):
        five, eight = (plan(sampler, Replace, steps=steps).privacy_loss for steps in (5, 8))
        assert five.epsilon("1e-5").upper == eight.epsilon("1e-5").upper


@pytest.mark.parametrize("sampler", [each[0] for each in CASES], ids=named)
def test_lattices_and_dimensions_hardly_change_the_cost(sampler: Sampler) -> None:
    """A fine lattice has no table of its law and is known by mu: no sampler may need one, nor pay for it.

    Samples that are cut cost less with it: one pair is above data of all sizes for Gaussian noise alone.
    """
    relation = Replace if isinstance(sampler, FixedSize) else AddRemove
    coarse, fine = (
        plan(sampler, relation, noise_multiplier=3, dimensions=size, clip=Clip(lattice=steps)).privacy_loss
        for size, steps in ((1, 500), (10**6, 2**26))
    )
    more, less = (loss.delta(Fraction(1, 2)).upper for loss in (coarse, fine))
    assert (0.8 if isinstance(sampler, TruncatedPoisson) else 0.998) * more < less < 1.002 * more


def test_rows_beyond_the_population_are_never_drawn() -> None:
    bits = DeterministicBits(3)
    drawn = np.array([TruncatedPoisson(rate=HALF, cap=2, population=3).allot(5, bits) for _ in range(50)])
    assert (drawn[:, 3:] == -1).all()
    assert (drawn[:, :3] == 0).any()


def test_samplers_that_do_not_fit_are_refused() -> None:
    for sampler in (FixedSize(size=1, population=3), ShuffledEpochs(size=1, population=3)):
        with pytest.raises(UnprovedError, match="relation=Replace"):
            plan(sampler, AddRemove)
    for make in (
        lambda: Poisson(rate="11/10"),
        lambda: Poisson(rate=0),
        lambda: FixedSize(size=4, population=3),
        lambda: BallsInBins(bins=0),
        lambda: plan(TruncatedPoisson(rate=1, cap=1, population=3), AddRemove),
    ):
        with pytest.raises(InvalidParameterError):
            make()


@pytest.mark.parametrize("steps", range(1, 11))
def test_an_epoch_that_has_begun_counts_as_a_whole_one(steps: int) -> None:
    """Numbers of steps up to 3 k + 1, of which few divide: the last epoch or cycle uses rows as the others do."""
    mechanism = TrainingPlan(noise_multiplier=1, steps=1, dimensions=1).mechanism
    for sampler, relation in (
        (ShuffledEpochs(population=8, size=3), Replace), (BallsInBins(bins=3), AddRemove),
        (CyclicPoisson(rate="1/2", classes=3), AddRemove),
    ):  # fmt: skip
        assert sampler.period in (1, 3)
        whole = -(-steps // 3) * 3
        known = [sampler.privacy_loss(mechanism, relation, number).epsilon("1e-3").upper for number in (steps, whole)]
        assert known[0] == known[1]
    assert CyclicPoisson(rate="1/2", classes=3).uses(steps) == (len(range(0, steps, 3)), 3)

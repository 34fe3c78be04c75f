"""Correlated noise: exact mixing, sensitivities by brute force, errors by simulation and published values."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.learning import AdaptiveClip, Banded, Buffered, CyclicPoisson, TrainingPlan, Tree
from deniable.learning.correlated import NoiseCorrelation, Stream, Uses
from deniable.mechanisms import Gaussian
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, PrivacyLoss, Replace
from deniable.privacy.amplification.training.correlated import ToeplitzStrategy, banded_poisson_sampled
from deniable.privacy.constructors import CorrelatedLoss

BITS = DeterministicBits(1)
USES = Uses(steps=13, dimensions=3, times=3, separation=4, lattice=2**16)
KINDS = [
    Banded(coefficients=(1, 0.5, 0.375, 0.3)),
    Banded(coefficients=(1, -0.5)),
    Buffered(scales=(0.3, 0.1), decays=(0.5, 0.9)),
    Tree(),
]


class Still(Gaussian):
    """No noise: what is left is the arithmetic."""

    def _noise(self, shape: tuple[int, ...], bits: Any) -> Any:
        return np.zeros(shape, dtype=np.int64)


def mixed(correlation: NoiseCorrelation, totals: np.ndarray, uses: Uses) -> list[np.ndarray]:
    """The integers of all steps."""
    carried = correlation.blank(uses)
    return [correlation.mixed(total, carried, step, uses) for step, total in enumerate(totals, start=1)]


@pytest.mark.parametrize("correlation", KINDS)
def test_without_noise_the_sums_come_back(correlation: NoiseCorrelation) -> None:
    totals = np.random.default_rng(0).integers(-(2**18), 2**18, (13, 3))
    stream = Stream(correlation, Still(sigma_squared=Fraction(1)), USES)
    found = np.array([stream.add(total, bits=BITS) for total in totals])
    assert found == pytest.approx(totals, abs=8 if isinstance(correlation, Buffered) else 1e-6)
    with pytest.raises(InvalidParameterError, match="all 13 steps"):
        stream.add(totals[0], bits=BITS)


@pytest.mark.parametrize(("times", "separation"), [(1, 1), (2, 3), (3, 2), (4, 1)])
@pytest.mark.parametrize("correlation", KINDS)
def test_no_row_moves_the_integers_farther_than_stated(
    correlation: NoiseCorrelation, times: int, separation: int
) -> None:
    """All sets of steps and all signs, for seven steps of one number; the worst set comes near the stated reach."""
    uses = Uses(steps=7, dimensions=1, times=times, separation=separation, lattice=2**16)
    base = np.random.default_rng(1).integers(-(2**20), 2**20, (7, 1))
    still, worst = np.concatenate([part.ravel() for part in mixed(correlation, base, uses)]), 0.0
    for count in range(1, times + 1):
        for steps in combinations(range(7), count):
            if any(later - step < separation for step, later in pairwise(steps)):
                continue
            for signs in product((1, -1), repeat=count):
                moved = base.copy()
                moved[list(steps), 0] += np.array(signs) * uses.lattice
                change = np.concatenate([part.ravel() for part in mixed(correlation, moved, uses)]) - still
                worst = max(worst, float(np.linalg.norm(change)))
    assert worst <= correlation.sensitivity(uses)
    assert worst >= correlation.sensitivity(uses) * 0.99


def test_a_reach_without_the_charge_for_rounding_is_exceeded() -> None:
    """The twin: on a coarse lattice, rounding alone moves the integers beyond the sensitivity of the real matrix."""
    correlation, worst = Buffered(scales=(0.3, 0.1), decays=(0.5, 0.9)), 0.0
    uses = Uses(steps=7, dimensions=1, lattice=1)
    norm = np.linalg.norm([1.0, *(0.3 * 0.5 ** np.arange(6) + 0.1 * 0.9 ** np.arange(6))])

    class Coarse(Buffered):
        def fine(self, uses: Uses) -> int:
            return 1

    coarse = Coarse(scales=correlation.scales, decays=correlation.decays)
    for seed in range(200):
        base = np.random.default_rng(seed).integers(-4, 5, (7, 1))
        moved = base.copy()
        moved[0] += 1
        worst = max(
            worst, float(np.linalg.norm(np.ravel(mixed(coarse, moved, uses)) - np.ravel(mixed(coarse, base, uses))))
        )
    assert norm < worst <= coarse.sensitivity(uses)


@pytest.mark.parametrize("correlation", KINDS)
def test_sums_beyond_any_range_are_cut_and_bring_no_two_farther_apart(correlation: NoiseCorrelation) -> None:
    near, far = np.full((3, 3), 2**57), np.full((3, 3), 2**57)
    far[0] += USES.lattice
    one, other = (np.concatenate([part.ravel() for part in mixed(correlation, each, USES)]) for each in (near, far))
    assert np.linalg.norm((one - other).astype(np.float64)) <= 2 * correlation.sensitivity(USES)


def test_errors_are_the_published_ones() -> None:
    uses = Uses(steps=1024, dimensions=1)
    assert Banded(coefficients=(1.0,)).errors(uses) == pytest.approx((32, np.sqrt(512.5)))
    assert Tree().errors(uses) == pytest.approx((7.990, 5.649), abs=1.2e-3)
    assert Buffered.best(uses, buffers=1).errors(uses)[0] == pytest.approx(3.864890, abs=1e-6)
    assert Buffered.best(uses, buffers=2).errors(uses)[0] == pytest.approx(3.329793, abs=1e-6)


@pytest.mark.parametrize("correlation", KINDS)
def test_errors_are_those_of_runs(correlation: NoiseCorrelation) -> None:
    """4000 runs of 13 steps side by side: the root mean square is within 2%, five of its standard errors."""
    uses = Uses(steps=13, dimensions=4000, lattice=2**16)
    noise = Fraction(correlation.sensitivity(uses), uses.lattice * correlation.fine(uses))
    stream = correlation.stream(noise, uses)
    sums = np.cumsum([stream.add(np.zeros(4000, dtype=np.int64), bits=BITS) for _ in range(13)], axis=0)
    found = np.sqrt((sums**2).mean(axis=1)) / uses.lattice
    assert (found.max(), np.sqrt((found**2).mean())) == pytest.approx(correlation.errors(uses), rel=0.03)


def test_bands_and_buffers_beat_independent_noise_and_the_tree() -> None:
    uses = Uses(steps=200, dimensions=1, times=4, separation=50)
    plain, tree = (each.errors(uses)[1] for each in (Banded(coefficients=(1.0,)), Tree()))
    assert (
        max(Banded.best(uses, bands=50).errors(uses)[1], Buffered.best(uses, buffers=2).errors(uses)[1]) < tree < plain
    )


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_without_bands_the_loss_is_that_of_all_steps(relation: Any) -> None:
    uses = Uses(steps=16, dimensions=2, times=4, separation=4)
    loss = Banded(coefficients=(1.0,)).privacy_loss(Fraction(3), uses, relation)
    mu = 2 / 3 if relation is AddRemove else 4 / 3
    assert float(loss.statement.mu) == pytest.approx(mu, rel=1e-4)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Banded(coefficients=(0.5, 1)),
        lambda: Banded(coefficients=()),
        lambda: Buffered(scales=(1,), decays=(1,)),
        lambda: Buffered(scales=(9,), decays=(0.5,)),
        lambda: Uses(steps=0, dimensions=1),
        lambda: Tree().privacy_loss(Fraction(1, 10**9), Uses(steps=2, dimensions=1), AddRemove),
    ],
)
def test_what_is_no_correlation_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidParameterError):
        wrong()


# --- in plans --------------------------------------------------------------------------------------------------------


def plan(correlation: NoiseCorrelation | None, **changed: Any) -> TrainingPlan:
    settings: dict[str, Any] = {
        "noise_multiplier": 2,
        "steps": 12,
        "dimensions": 3,
        "sampler": CyclicPoisson(classes=4),
    }
    return TrainingPlan(**settings | changed, correlation=correlation)


@pytest.mark.parametrize("correlation", [None, *KINDS])
def test_plans_hold_their_correlation(correlation: NoiseCorrelation | None) -> None:
    made = plan(correlation)
    assert TrainingPlan.from_json(made.to_json()) == made
    run = made.run(40, expected_rows=40, bits=BITS)
    batches = [(tuple(batch), run.mean_gradient(np.ones((len(batch), 3)))) for batch in run]
    assert len(batches) == 12
    assert sorted(row for batch, _ in batches[:4] for row in batch) == list(range(40))
    assert [batch for batch, _ in batches[:4]] == [batch for batch, _ in batches[4:8]]


def test_the_loss_of_a_plan_is_that_of_its_noise_and_of_how_rows_take_part() -> None:
    """Against the loss of continuous noise, found by another route; discrete noise and a lattice cost little."""
    banded = Banded(coefficients=(1, 0.5, 0.375, 0.3125))
    strategy = ToeplitzStrategy(banded.coefficients, steps=12)
    known = CorrelatedLoss(strategy, noise_multiplier=2, participations=3, separation=4).epsilon("1e-5").upper
    assert plan(banded).privacy_loss.epsilon("1e-5").upper == pytest.approx(known, rel=1e-4)
    sampled = plan(banded, sampler=CyclicPoisson(classes=4, rate="1/2")).privacy_loss.epsilon("1e-5").upper
    known = PrivacyLoss(banded_poisson_sampled(strategy, noise_multiplier=2, rate="1/2")).epsilon("1e-5").upper
    assert sampled == pytest.approx(known, rel=1e-3)
    assert sampled < plan(banded).privacy_loss.epsilon("1e-5").upper
    wide = plan(Banded(coefficients=(1, *[0.1] * 4)), sampler=CyclicPoisson(classes=4, rate="1/2"))
    assert wide.privacy_loss == plan(wide.correlation).privacy_loss


def test_correlated_sums_of_a_run_are_nearer_than_independent_ones() -> None:
    """1,000 numbers in each of 64 steps at equal mu: the ratio of errors of sums is the stated one within a tenth."""
    found, stated = [], []
    uses = Uses(steps=64, dimensions=1000, times=4, separation=16)
    for correlation in (Banded(coefficients=(1.0,)), Banded.best(uses, bands=16)):
        made = plan(correlation, steps=64, dimensions=1000, sampler=CyclicPoisson(classes=16))
        scaled = replace(made, noise_multiplier=Fraction(correlation.sensitivity(uses), 2**32))
        run = scaled.run(0, expected_rows=1, bits=BITS)
        sums = np.cumsum([run.mean_gradient(np.zeros((len(batch), 1000))) for batch in run], axis=0)
        found.append(float(np.sqrt((sums**2).mean())))
        stated.append(correlation.errors(uses)[1])
        assert float(scaled.privacy_loss.statement.mu) == pytest.approx(1, rel=1e-4)
    assert found[0] / found[1] == pytest.approx(stated[0] / stated[1], rel=0.1)


def test_what_correlated_noise_cannot_do_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="norm that stays"):
        plan(Tree(), clip=AdaptiveClip())
    run = plan(Tree()).run(4, expected_rows=4, bits=BITS)
    with pytest.raises(InvalidParameterError, match="no text should hold"):
        run.checkpoint()


def test_a_cyclic_run_goes_on_with_its_classes() -> None:
    whole = plan(None, sampler=CyclicPoisson(classes=4, rate="1/2"))
    run = whole.run(30, expected_rows=30, bits=BITS)
    for _ in range(4):
        run.mean_gradient(np.zeros((len(next(run)), 3)))
    before = np.array(json.loads(run.checkpoint())["allotted"])
    again = whole.run(30, expected_rows=30, checkpoint=run.checkpoint(), bits=BITS)
    assert set(next(again)) <= set(np.flatnonzero(np.maximum(before, -1 - before) == 0))

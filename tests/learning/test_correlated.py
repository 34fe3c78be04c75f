"""Plans with correlated noise: their loss, their sums, and what they refuse."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.learning import AdaptiveClip, CyclicPoisson, TrainingPlan
from deniable.mechanisms.correlated import Banded, Buffered, NoiseCorrelation, Tree, Uses
from deniable.noise.bits import DeterministicBits
from deniable.privacy import PrivacyLoss
from deniable.privacy.amplification.training.correlated import ToeplitzStrategy, banded_poisson_sampled
from deniable.privacy.constructors import CorrelatedLoss

BITS = DeterministicBits(1)
KINDS = [
    Banded(coefficients=(1, 0.5, 0.375, 0.3)),
    Banded(coefficients=(1, -0.5)),
    Buffered(scales=(0.3, 0.1), decays=(0.5, 0.9)),
    Tree(),
]


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
        assert float(scaled.privacy_loss.mu_squared) == pytest.approx(1, rel=1e-4)
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

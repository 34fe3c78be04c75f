"""Random allocation under replace: whole mechanisms written out, quadrature in the plane, and what removing costs."""

import itertools
import math
from functools import lru_cache

import numpy as np
import pytest

from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
    of_count,
)
from deniable.privacy.amplification.sampling.allocation import RandomlyAllocatedStatement
from deniable.privacy.amplification.sampling.allocation_replace import AllocatedReplacedStatement
from deniable.privacy.composition.group import GroupStatement


@lru_cache
def noisy_runs(runs: int) -> list[np.ndarray]:
    """Discrete Laplace noise on each run; the unit counts -1, 0 or 1 in one of them: the laws of all outputs."""
    places = np.arange(-12, 13)
    noise = {value: np.exp(-np.abs(places - value) / 1.5) * math.tanh(1 / 3) for value in (-1, 0, 1)}
    laws = []
    for value in (-1, 0, 1):
        total = np.zeros((places.size,) * runs)
        for turn in range(runs):
            part = np.ones(())
            for run in range(runs):
                part = np.multiply.outer(part, noise[value if run == turn else 0])
            total += part / runs
        laws.append(total)
    return laws


@pytest.mark.parametrize("runs", [2, 4])
def test_no_values_exceed_the_bound_and_some_are_near(runs: int) -> None:
    """The twins: a bound for add/remove is too small; removing and adding is larger."""
    base = DiscreteLaplaceLoss("1.5", of_count(rows=1, groups=1, relation=AddRemove))
    loss, added = base.randomly_allocated(of=runs, relation=Replace), base.randomly_allocated(of=runs)
    twice = PrivacyLoss(GroupStatement(added, 2, Replace))
    assert isinstance(loss.statement, AllocatedReplacedStatement)
    for epsilon in (0.0, 0.3, 0.6):
        pairs = itertools.permutations(noisy_runs(runs), 2)
        worst = max(float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) for p, q in pairs)
        found = loss.delta(epsilon)
        assert found.lower <= worst <= found.upper * (1 + 1e-9)
        assert found.upper <= 1.1 * worst
        assert added.delta(epsilon).upper < worst
        assert found.upper <= twice.delta(epsilon).upper * (1 + 1e-9)


def test_gaussian_noise_by_quadrature_in_the_plane() -> None:
    """Two runs, means +1 and -1 in one of them."""
    loss = GaussianLoss(1).randomly_allocated(of=2, relation=Replace)
    z = np.linspace(-9, 9, 1201)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    plane = np.multiply.outer(density, density) * (z[1] - z[0]) ** 2
    up, down = (np.exp(sign * z - 0.5) for sign in (1, -1))
    p, q = ((side[:, None] + side) / 2 for side in (up, down))
    for epsilon in (0.1, 1.0, 2.5):
        truth = float((plane * np.maximum(p - math.exp(epsilon) * q, 0)).sum())
        found = loss.delta(epsilon)
        assert truth <= found.upper * (1 + 1e-4)
        assert found.upper <= 1.15 * truth
    assert (loss * 4).epsilon("1e-5").upper > loss.epsilon("1e-5").upper


def test_a_replaced_unit_costs_far_less_than_two() -> None:
    loss = PureLoss(1).randomly_allocated(of=100, relation=Replace)
    added = PrivacyLoss(RandomlyAllocatedStatement(PureLoss(1), 100))
    found = loss.epsilon("1e-5")
    assert found.lower == pytest.approx(added.epsilon("1e-5").lower, rel=1e-3)
    assert PrivacyLoss(GroupStatement(added, 2, Replace)).delta(1.3 * found.upper).upper > 1e-5


def test_it_is_a_loss_like_others() -> None:
    loss = PrivacyLoss(AllocatedReplacedStatement(ApproximateLoss("1/2", "0.001"), 3))
    assert loss.relations == {Replace}
    assert (loss.pure_epsilon, loss.failing_epsilon) == (None, 1)
    assert loss.failure > 0
    assert loss.delta(1).upper >= 0.001
    normal = PrivacyLoss(AllocatedReplacedStatement(GaussianLoss(1), 3))
    assert (normal.mu_squared, normal.rho, normal.pure_epsilon) == (4, 2, None)
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert repr(loss).endswith(".randomly_allocated(of=3, relation=Replace)")


def test_replace_in_blocks_of_one_run_is_an_exchange_in_every_run() -> None:
    run = GaussianLoss(4).randomly_allocated(of=3, uses=3, relation=Replace)
    assert run.epsilon("1e-5").upper == pytest.approx((GaussianLoss(2) * 3).epsilon("1e-5").upper, rel=1e-2)
    assert (GaussianLoss(4).randomly_allocated(of=6, uses=3, relation=Replace)).relations == {Replace}


def test_many_runs_with_little_noise_are_answered() -> None:
    """It did not end: the tilt overflowed, and Fourier sums of 2^22 terms were asked for."""
    loss = GaussianLoss("0.7").randomly_allocated(of=1000, relation=Replace)
    found, alone = loss.epsilon("1e-6"), GaussianLoss("0.7").randomly_allocated(of=1000).epsilon("1e-6")
    assert alone.lower <= found.upper < 1.02

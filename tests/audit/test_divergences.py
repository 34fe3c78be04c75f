"""Divergences from densities, against closed formulas."""

import math
from typing import Any

import numpy as np
import pytest

from deniable.audit import estimate_divergences
from deniable.audit.divergences import _means
from deniable.errors import InvalidParameterError
from deniable.privacy import GaussianLoss, LaplaceLoss

EPSILONS = [0.0, 0.3, 0.9]


def normal(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return lambda exact, runs: exact + rng.normal(size=runs)


def log_normal(outputs: Any, exact: float) -> Any:
    return -((outputs - exact) ** 2) / 2


def test_intervals_hold_the_curve_of_gaussian_and_laplace_noise() -> None:
    rng = np.random.default_rng(1)
    found = estimate_divergences(normal(2), 0, 1, log_density=log_normal, epsilons=EPSILONS, batched=True)
    laplace = estimate_divergences(
        lambda exact, runs: exact + rng.laplace(size=runs), 0, 1,
        log_density=lambda outputs, exact: -np.abs(outputs - exact), epsilons=EPSILONS, batched=True,
    )  # fmt: skip
    for one, loss in ((found, GaussianLoss(noise_multiplier=1)), (laplace, LaplaceLoss(noise_multiplier=1))):
        truth = np.array([loss.delta(epsilon).upper for epsilon in EPSILONS])
        assert (one.delta_lower <= truth).all()
        assert (truth <= one.delta_upper).all()
        assert one.delta == pytest.approx(truth, abs=0.01)
        assert (one.delta_upper - one.delta_lower).max() < 0.03
    assert found.renyi == pytest.approx([1, 2], rel=0.2)
    assert found.runs == 100_000


def test_the_intervals_of_200_audits_hold_the_truth_at_once() -> None:
    """At confidence 0.8; more than 58 misses: one seed in 1,000."""
    truth = np.array([GaussianLoss(noise_multiplier=1).delta(epsilon).upper for epsilon in EPSILONS])
    misses = 0
    for seed in range(200):
        found = estimate_divergences(
            normal(seed), 0, 1, log_density=log_normal, epsilons=EPSILONS, confidence=0.8, runs=500, batched=True
        )
        misses += bool((found.delta_lower > truth).any() or (found.delta_upper < truth).any())
    assert misses <= 58


def test_the_worse_direction_counts() -> None:
    """One output in ten is possible on one input only: delta(epsilon) is at least 0.1 however large epsilon is."""
    rng = np.random.default_rng(3)
    draw = {0: lambda runs: rng.random(runs), 1: lambda runs: 0.9 * rng.random(runs)}

    def density(outputs: Any, exact: int) -> Any:
        width = 0.9 if exact else 1.0
        return np.where(outputs <= width, -math.log(width), -math.inf)

    for pair in ((0, 1), (1, 0)):
        found = estimate_divergences(
            lambda exact, runs: draw[exact](runs), *pair, log_density=density, epsilons=[5], batched=True
        )
        assert found.delta_lower[0] < 0.1 < found.delta_upper[0]
        assert math.isinf(found.renyi[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"orders": [1]}, "orders must be above 1"), ({"epsilons": [-1]}, "epsilons must be >= 0"),
        ({"runs": 1}, "runs must be >= 2"), ({"log_density": lambda outputs, exact: 0.0}, "one number for each output"),
    ],
)  # fmt: skip
def test_parameters_outside_their_domain_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        estimate_divergences(normal(1), 0, 1, **{"log_density": log_normal, "batched": True, **options})


def test_means_are_bounded_as_maurer_and_pontil_do() -> None:
    values = np.random.default_rng(2).uniform(size=(2, 50)) ** 2
    mean, low, high = _means(values, 0.01)
    variance = ((values[:, :, None] - values[:, None, :]) ** 2).sum(axis=(1, 2)) / (2 * 50 * 49)
    slack = np.sqrt(2 * variance * np.log(200) / 50) + 7 * np.log(200) / (3 * 49)
    assert mean == pytest.approx(values.mean(axis=1))
    assert low == pytest.approx(np.maximum(mean - slack, 0))
    assert high == pytest.approx(np.minimum(mean + slack, 1))
    few = _means(values[:, :4] * 1e-3, 0.01)
    assert (few[1].tolist(), few[2].tolist()) == ([0, 0], [1, 1])

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil, exp, log
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Gaussian, Laplace, StabilityHistogram, TruncatedLaplace
from deniable.mechanisms.base import NO_ANSWER, Released
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace, Sensitivity, of_count

PRICES = pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), ("0.5", 1e-9), (3, 1e-5), ("0.1", 1e-3)])


def counted(groups: int, relation: Relation = AddRemove) -> Sensitivity:
    return of_count(rows=1, groups=groups, relation=relation)


def calibrated(epsilon: Any, delta: Any, groups: int = 1, relation: Relation = AddRemove) -> StabilityHistogram:
    return StabilityHistogram.calibrated(counted(groups, relation), epsilon=epsilon, delta=delta, groups=groups)


def outputs(mechanism: StabilityHistogram, count: int) -> dict[int, float]:
    """The law of what is published of one key: its noisy count, or nothing (-1)."""
    bound = mechanism.threshold
    noise = np.arange(-bound, bound + 1)
    weight = np.exp(-np.abs(noise) / float(mechanism.noise.scale))  # type: ignore[attr-defined]
    law: dict[int, float] = {}
    for k, w in zip(noise.tolist(), (weight / weight.sum()).tolist(), strict=True):
        seen = count + k if count and count + k > bound else -1
        law[seen] = law.get(seen, 0.0) + w
    return law


@PRICES
def test_one_key_a_unit_has_the_published_threshold(epsilon: Any, delta: float) -> None:
    """ceil(ln((e^eps + 2 delta - 1) / ((e^eps + 1) delta)) / eps): Desfontaines, Voss, Gipson, Mandayam (2020)."""
    e = float(epsilon)
    optimum = ceil(log((exp(e) + 2 * delta - 1) / ((exp(e) + 1) * delta)) / e)
    found = calibrated(epsilon, delta)
    assert found.threshold == optimum
    assert found.threshold <= 1 + log(1 / (2 * delta)) / e  # Laplace noise without a bound


@PRICES
def test_keys_are_published_nearly_as_often_as_can_be(epsilon: Any, delta: float) -> None:
    """The optimum is a recursion in the number of units: Desfontaines, Voss, Gipson, Mandayam (2020)."""
    e, found = float(epsilon), calibrated(epsilon, delta)
    best, far = [0.0], 2 * found.threshold
    for _ in range(far):
        best.append(min(exp(e) * best[-1] + delta, 1 - exp(-e) * (1 - best[-1] - delta), 1))
    ours = [1 - outputs(found, count)[-1] if count <= far else 1.0 for count in range(len(best) + 2)]
    assert all(mine <= most + 1e-12 for mine, most in zip(ours, best, strict=False))
    assert all(mine >= most - 1e-12 for mine, most in zip(ours[2:], best, strict=True))


@pytest.mark.parametrize(("groups", "relation"), [(1, AddRemove), (2, AddRemove), (1, Replace)])
def test_the_law_of_what_is_published_keeps_epsilon_and_delta(groups: int, relation: Relation) -> None:
    """Enumeration of all outputs for all pairs of small tables of two keys; nothing is released of absent keys."""
    found = calibrated(1, "0.1", groups, relation)
    assert isinstance(found.noise, TruncatedLaplace)
    top = found.threshold + 2
    seen = range(-1, top + found.threshold + 1)
    laws = np.array([[outputs(found, count).get(output, 0.0) for output in seen] for count in range(top + 1)])
    moves = [m for m in product((-1, 0, 1), repeat=2) if 0 < sum(map(abs, m)) <= counted(groups, relation).l1]
    worst = 0.0
    for counts in product(range(top), repeat=2):
        for move in moves if relation is Replace else [m for m in moves if min(m) >= 0 or max(m) <= 0]:
            other = np.add(counts, move)
            if other.min() >= 0:
                here, there = (np.outer(laws[first], laws[second]) for first, second in (counts, other))
                worst = max(worst, float(np.maximum(here - exp(1) * there, 0).sum()))
    assert 0.02 < worst <= 0.1


def test_many_keys_a_unit_get_gaussian_noise() -> None:
    found = calibrated(1, 1e-5, groups=20)
    assert isinstance(found.noise, Gaussian)
    truncated = TruncatedLaplace.calibrated(counted(20), epsilon=1, delta=1e-5)
    assert found.threshold < truncated.bound / 2
    beyond = np.arange(found.threshold, found.threshold + 999, dtype=np.float64)
    sigma_squared = float(found.noise.sigma_squared)
    passes = np.exp(-(beyond**2) / (2 * sigma_squared)).sum() / np.sqrt(2 * np.pi * sigma_squared)
    assert 0.8 * 0.5e-5 < 20 * passes <= 0.5e-5  # half of delta for all twenty keys that one unit alone may have


def test_a_threshold_that_is_too_low_for_its_failure_is_refused() -> None:
    for found in (calibrated(1, 1e-5, groups=20), replace(calibrated(1, 1e-5), failure="1e-9")):
        found.privacy_loss(counted(found.groups))
        with pytest.raises(InvalidParameterError, match="threshold must be at least"):
            replace(found, threshold=found.threshold - 2).privacy_loss(counted(found.groups))
    with pytest.raises(InvalidParameterError, match="threshold must be at least"):
        StabilityHistogram(noise=Laplace(scale=1), threshold=99).privacy_loss(counted(1))


def test_more_keys_than_were_counted_on_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="more than groups=20 keys"):
        calibrated(1, 1e-5, groups=20).privacy_loss(counted(21))


def test_a_key_that_nobody_has_is_never_shown() -> None:
    found = replace(calibrated(1, "0.1"), noise=Laplace(scale=1000))
    assert (found.release([0] * 1000, bits=DeterministicBits(1)).value == NO_ANSWER).all()
    assert (found.release([1] * 1000, bits=DeterministicBits(1)).value > found.threshold).any()


@pytest.mark.parametrize(("above", "shown"), [(-1, False), (0, False), (1, True)])
def test_a_key_is_shown_above_the_threshold_and_not_at_it(
    above: int, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies at the threshold is no part of the chance that delta pays for."""
    reach = of_count(rows=1, groups=1, relation=AddRemove)
    made = StabilityHistogram.calibrated(reach, epsilon=1, delta="1e-3")
    drawn = Released(np.array([made.threshold + above]), False)
    monkeypatch.setattr(TruncatedLaplace, "release", lambda *_, **__: drawn)
    assert (made.release([1]).value[0] != NO_ANSWER) == shown


def test_the_failure_of_noise_without_a_bound_is_in_the_loss() -> None:
    reach = of_count(rows=1, groups=2, relation=AddRemove)
    noise = Gaussian.calibrated(reach, rho="1/2")
    made = StabilityHistogram.above(noise, reach, groups=2, failure=Fraction(1, 1000))
    assert made.privacy_loss(reach).delta(60).upper == pytest.approx(1e-3, rel=1e-6)


def test_a_threshold_one_too_low_is_refused() -> None:
    """Of bounded noise, which may not lift a count of 0 above it; and of noise that does so with some probability."""
    reach, bounded = of_count(rows=1, groups=2, relation=AddRemove), TruncatedLaplace(scale=Fraction(2), bound=7)
    for threshold in (7, 8):
        found = StabilityHistogram(noise=bounded, threshold=threshold, groups=2)
        assert found.privacy_loss(reach) == bounded.privacy_loss(reach)
    lowest = StabilityHistogram.above(Gaussian(sigma_squared=Fraction(9)), reach, groups=2, failure=Fraction(1, 1000))
    assert lowest.privacy_loss(reach).failure == Fraction(1, 1000)
    for low in (
        StabilityHistogram(noise=bounded, threshold=6, groups=2),
        replace(lowest, threshold=lowest.threshold - 1),
    ):
        with pytest.raises(InvalidParameterError, match="threshold must be at least"):
            low.privacy_loss(reach)

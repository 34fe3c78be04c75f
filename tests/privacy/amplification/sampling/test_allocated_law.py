"""The law of one of many runs holds the truth in both directions, by enumeration, quadrature and fine sums."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm

from deniable.privacy.amplification.sampling.allocated_law import allocated_law
from deniable.privacy.pld.law import LossLaw, ReversedLaw
from deniable.privacy.pld.laws import NormalLaw, randomized_response_law


def curve(law: LossLaw, epsilon: float) -> float:
    """delta of one run of the law, from its tails."""
    found = law.above(np.array([epsilon]))
    return float(found.p[0]) + law.infinite - math.exp(epsilon) * float(found.q[0])


def enumerated(p: list[float], q: list[float], runs: int, epsilon: float, *, reverse: bool) -> float:
    """delta of the allocated pair of a finite pair, every sequence of outputs written out."""
    total = 0.0
    for outputs in itertools.product(range(len(p)), repeat=runs):
        without = math.prod(q[i] for i in outputs)
        present = (
            sum(math.prod(p[i] if j == place else q[i] for j, i in enumerate(outputs)) for place in range(runs)) / runs
        )
        first, second = (without, present) if reverse else (present, without)
        total += max(first - math.exp(epsilon) * second, 0.0)
    return total


@pytest.mark.parametrize("runs", [2, 5])
@pytest.mark.parametrize("failed", [0.0, 0.1])
def test_finite_pairs_match_enumeration_in_both_directions(runs: int, failed: float) -> None:
    high, low = (1 - failed) / (1 + math.exp(-1)), (1 - failed) / (1 + math.exp(1))
    p, q = [failed, high, low, 0.0], [0.0, low, high, failed]
    base = randomized_response_law(1.0, failed=failed)
    upper, lower = (allocated_law(base, runs, upper=side) for side in (True, False))
    for epsilon in (-0.3, 0.0, 0.2, 0.7):
        for reverse in (False, True):
            truth = enumerated(p, q, runs, epsilon, reverse=reverse)
            above = curve(ReversedLaw(upper) if reverse else upper, epsilon)
            below = curve(ReversedLaw(lower) if reverse else lower, epsilon)
            assert below <= truth * (1 + 1e-12) <= above * (1 + 2e-12)
            assert above - below <= 1e-4 * truth


def two_runs(mu: float, epsilon: float, *, reverse: bool) -> float:
    """delta for two runs of a Gaussian: the inner integral in closed form, the outer by Gauss-Legendre quadrature.

    Inside: E over the other one of ((X + ratio)/2 - x)_+, or of (1 - x (X + ratio)/2)_+.
    """
    x = math.exp(epsilon)
    kink = (math.log(2 / x if reverse else 2 * x) + mu * mu / 2) / mu  # where the edge is 0
    ends = np.sort([*np.linspace(-12, 12, 49), *(kink + np.linspace(-0.5, 0.5, 21))])
    nodes, weights = np.polynomial.legendre.leggauss(60)
    half = np.diff(ends)[:, None] / 2
    y = half * nodes + (ends[1:, None] + ends[:-1, None]) / 2
    rest = np.exp(mu * y - mu * mu / 2)
    edge = (2 / x if reverse else 2 * x) - rest
    place = (np.log(np.maximum(edge, 1e-300)) + mu * mu / 2) / mu
    if reverse:
        inner = np.where(edge <= 0, 0.0, (1 - x * rest / 2) * ndtr(place) - x / 2 * ndtr(place - mu))
    else:
        inner = np.where(edge <= 0, (1 + rest) / 2 - x, ndtr(mu - place) / 2 + (rest / 2 - x) * ndtr(-place))
    return float((half * weights * norm.pdf(y) * inner).sum())


@pytest.mark.parametrize("mu", [0.5, 1.5])
@pytest.mark.parametrize("reverse", [False, True])
def test_two_gaussian_runs_match_quadrature(mu: float, reverse: bool) -> None:
    upper, lower = (allocated_law(NormalLaw(mu), 2, upper=side) for side in (True, False))
    for epsilon in (0.0, 0.6):
        truth = two_runs(mu, epsilon, reverse=reverse)
        above = curve(ReversedLaw(upper) if reverse else upper, epsilon)
        below = curve(ReversedLaw(lower) if reverse else lower, epsilon)
        assert below <= truth * (1 + 1e-9)
        assert above >= truth * (1 - 1e-9)
        assert above - below <= 2e-4 * truth


def test_small_deltas_keep_their_relative_accuracy() -> None:
    """Two runs of a Gaussian at epsilon where delta is near 1e-20."""
    upper, lower = (allocated_law(NormalLaw(1.0), 2, upper=side) for side in (True, False))
    truth = two_runs(1.0, 9.0, reverse=False)
    assert truth < 1e-19
    assert curve(lower, 9.0) <= truth <= curve(upper, 9.0)
    assert curve(upper, 9.0) <= curve(lower, 9.0) * 1.001


def test_three_runs_match_a_fine_sum_over_all_places() -> None:
    """Three Gaussian runs by a midpoint sum in three dimensions, in both directions."""
    mu, epsilon = 1.0, 0.2
    axis = np.linspace(-7, 8, 151)
    axis = (axis[1:] + axis[:-1]) / 2
    weights = np.exp(-(axis**2) / 2)
    weights /= weights.sum()
    ratios = np.exp(mu * axis - mu * mu / 2)
    mean = (ratios[:, None, None] + ratios[:, None] + ratios) / 3
    q = weights[:, None, None] * weights[:, None] * weights
    upper, lower = (allocated_law(NormalLaw(mu), 3, upper=side) for side in (True, False))
    for law, truth in (
        ((lower, upper), float((q * np.maximum(mean - math.exp(epsilon), 0)).sum())),
        ((ReversedLaw(lower), ReversedLaw(upper)), float((q * np.maximum(1 - math.exp(epsilon) * mean, 0)).sum())),
    ):
        assert curve(law[0], epsilon) == pytest.approx(truth, rel=1e-3)
        assert curve(law[1], epsilon) == pytest.approx(truth, rel=1e-3)


def test_a_wrong_mean_is_seen() -> None:
    """A twin whose masses are moved to the next place without keeping the mean leaves the interval."""
    upper, lower = (allocated_law(NormalLaw(1.0), 2, upper=side) for side in (True, False))
    truth = two_runs(1.0, 0.3, reverse=False)
    moved = curve(upper, 0.3 - (upper.losses[1] - upper.losses[0]))  # all losses larger by one step
    assert moved > 1.001 * truth
    assert curve(upper, 0.3) < 1.0001 * truth
    assert curve(lower, 0.3) > 0.9999 * truth

"""Random allocation: enumeration of finite bases, quadrature for two and three runs, and the order of things."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
    of_count,
)
from deniable.privacy.amplification.sampling.allocation import RandomlyAllocatedStatement


@pytest.mark.parametrize("base", [GaussianLoss(1), LaplaceLoss(1)])
def test_more_runs_hide_better_and_blocks_compose(base: PrivacyLoss) -> None:
    few, many = base.randomly_allocated(of=2), base.randomly_allocated(of=4)
    assert many.relations == {AddRemove}
    for epsilon in ("0.05", "0.5"):
        assert many.delta(epsilon).lower <= few.delta(epsilon).upper
        assert few.delta(epsilon).lower <= base.delta(epsilon).upper
    assert few.epsilon("0.01").upper <= base.epsilon("0.01").upper * (1 + 1e-3)
    twice = base.randomly_allocated(of=8, uses=2)
    assert twice == many * 2
    assert twice.delta("0.1").lower >= many.delta("0.1").lower
    assert PrivacyLoss.from_json(twice.to_json()) == twice
    assert base.randomly_allocated(of=1) == base
    assert base.randomly_allocated(of=4, uses=4) == base * 4


def test_the_known_bounds_of_the_base_remain() -> None:
    loss = LaplaceLoss(2).randomly_allocated(of=10)
    assert loss.pure_epsilon == Fraction(1, 2)
    assert loss.rho == Fraction(1, 8)
    assert loss.delta("0.5").upper == 0
    assert loss.charge() == LaplaceLoss(2).charge()
    failing = ApproximateLoss(1, "0.01").randomly_allocated(of=4)
    assert failing.infinite_mass == Fraction(1, 100)
    assert failing.epsilon("0.001").lower == math.inf
    assert repr(failing) == "ApproximateLoss(epsilon=1, delta=0.01).randomly_allocated(of=4)"


def test_a_loss_that_no_epsilon_bounds_has_a_positive_delta() -> None:
    """Beyond losses of 300 the bound is that of the base, here below the smallest float: 0 would be no bound."""
    assert 0 < GaussianLoss(1).randomly_allocated(of=2).delta(300).upper <= GaussianLoss(1).delta(300).upper


def test_allocation_is_near_poisson_sampling_at_the_same_rate() -> None:
    """Feldman and Shenfeld (2025): the two are close when a unit is expected in one of many runs."""
    allocated = GaussianLoss(2).randomly_allocated(of=64).epsilon("1e-6")
    poisson = (GaussianLoss(2).poisson_sampled(rate="1/64") * 64).epsilon("1e-6")
    assert allocated.width < 1e-3
    assert 0.8 * poisson.lower < allocated.upper < 1.2 * poisson.upper


def test_fixed_batches_are_not_poisson_samples() -> None:
    """Erratum E69: one epoch, 100 batches, noise multiplier 0.8, delta = 1e-5: Poisson 1.515 at most, fixed 5.680.

    A secret random place is in between, and far from fixed batches, where delta at 1.515 is 0.128.
    """
    poisson = (GaussianLoss("0.8").poisson_sampled(rate="0.01") * 100).epsilon("1e-5")
    fixed = GaussianLoss("0.8")
    allocated = fixed.randomly_allocated(of=100).epsilon("1e-5")
    assert 1.5 < poisson.upper <= 1.515
    assert fixed.epsilon("1e-5").upper == pytest.approx(5.680, abs=1e-3)
    assert fixed.delta("1.515").upper == pytest.approx(0.128, abs=1e-3)
    assert allocated.upper < fixed.epsilon("1e-5").lower
    assert allocated.upper < 1.5


def test_integer_noise_is_allocated_too() -> None:
    """Discrete laws keep their lattice: two runs against enumeration on -60 ... 60."""
    reach = of_count(rows=1, groups=1, relation=AddRemove)
    k = np.arange(-60, 62)
    for loss, weights in (
        (DiscreteLaplaceLoss(2, reach), np.exp(-np.abs(k) / 2)),
        (DiscreteGaussianLoss(4, reach), np.exp(-(k.astype(float) ** 2) / 8)),
    ):
        q = weights / weights.sum()
        p = np.roll(q, 1)
        present = (np.multiply.outer(p, q) + np.multiply.outer(q, p)) / 2
        without = np.multiply.outer(q, q)
        truth = max(
            float(np.maximum(a - math.exp(0.2) * b, 0).sum()) for a, b in ((present, without), (without, present))
        )
        found = loss.randomly_allocated(of=2).delta("0.2")
        assert found.lower <= truth * (1 + 1e-9)
        assert found.upper >= truth * (1 - 1e-9)
        assert found.width <= 1e-3 * truth


def test_unproved_uses_are_refused() -> None:
    replace = of_count(rows=1, groups=1, relation=Replace)
    with pytest.raises(UnprovedError, match="add/remove"):
        DiscreteGaussianLoss(3, replace).randomly_allocated(of=5)
    with pytest.raises(UnprovedError, match="known by a bound alone"):
        (ConcentratedLoss("0.1") * 2).randomly_allocated(of=5)
    with pytest.raises(InvalidParameterError, match="multiple of uses"):
        GaussianLoss(1).randomly_allocated(of=5, uses=2)
    with pytest.raises(InvalidParameterError, match="runs must be from 2"):
        PrivacyLoss(RandomlyAllocatedStatement(GaussianLoss(1), 1))
    with pytest.raises(InvalidParameterError, match="uses must be at most of=10, got 11"):
        GaussianLoss(1).randomly_allocated(of=10, uses=11)


def test_a_loss_of_nothing_remains_nothing() -> None:
    loss = PureLoss(0).randomly_allocated(of=10)
    assert loss.epsilon("1e-5").upper == loss.delta(0).upper == 0
    assert (loss * 3).delta(0).upper <= 1e-12


def responses(limit: float, runs: int, epsilon: float) -> float:
    """delta of allocated randomised response in its worse direction: without the unit the ones are binomial."""
    with mpmath.workdps(60):
        low = 1 / (1 + mpmath.exp(limit))
        total, back, x = mpmath.mpf(0), mpmath.mpf(0), mpmath.exp(epsilon)
        for ones in range(runs + 1):
            q = mpmath.binomial(runs, ones) * low**ones * (1 - low) ** (runs - ones)
            ratio = (ones * mpmath.exp(limit) + (runs - ones) * mpmath.exp(-mpmath.mpf(limit))) / runs
            total, back = total + q * max(ratio - x, mpmath.mpf(0)), back + q * max(1 - x * ratio, mpmath.mpf(0))
        return float(max(total, back))


@pytest.mark.parametrize(("limit", "runs"), [("1e-6", 10), ("0.01", 10), ("0.01", 100), ("1", 7), ("1e-9", 3)])
def test_little_loss_is_cut_as_finely_as_much(limit: str, runs: int) -> None:
    """Randomised response, enumerated: its grid was billions of points long, as if losses were of the order of 1."""
    loss, size = PureLoss(limit).randomly_allocated(of=runs), float(limit)
    for share in (0.0, 0.3, 0.6):
        epsilon = share * size / math.sqrt(runs)
        truth = responses(size, runs, epsilon)
        found = loss.delta(epsilon)
        assert found.lower <= truth * (1 + 1e-9)
        assert found.upper >= truth * (1 - 1e-9)
        assert found.width <= max(2e-3 * truth, 2e-12)


def test_much_noise_is_allocated_as_precisely_as_little() -> None:
    """Noise multiplier 1000, ten runs: nearly the noise of multiplier 1000 sqrt(10), which is a lower end for small mu.

    The mean of ten ratios has the spread mu / sqrt(10) up to a relative mu^2, so that delta(0) agrees to six digits.
    """
    found = GaussianLoss(1000).randomly_allocated(of=10).delta(0)
    truth = math.erf(1e-3 / math.sqrt(10) / 2 / math.sqrt(2))
    assert found.width <= 1e-4 * truth
    assert found.lower <= truth * (1 + 1e-6)
    assert found.upper >= truth * (1 - 1e-6)


@pytest.mark.parametrize("noise", ["1e-3", "0.04", "1", "1000", "1e8"])
def test_the_grid_is_small_for_every_noise(noise: str) -> None:
    base = GaussianLoss(noise)
    for runs in (2, 10):
        laws = base.randomly_allocated(of=runs).statement.laws()
        assert laws is not None
        for law in (laws.upper[0], laws.lower[0]):
            atoms = law.atoms()
            assert atoms is not None
            assert atoms.losses.size <= 2**15
    allocated = base.randomly_allocated(of=10).epsilon("1e-5")
    assert allocated.upper <= base.epsilon("1e-5").upper


def test_allocation_may_be_nested() -> None:
    """Ten blocks of a hundred runs, one block and one run in it drawn: at most and about one of a thousand runs."""
    nested = GaussianLoss(1).randomly_allocated(of=100).randomly_allocated(of=10).epsilon("1e-5")
    flat = GaussianLoss(1).randomly_allocated(of=1000).epsilon("1e-5")
    assert nested.lower <= flat.upper
    assert flat.lower <= nested.upper
    assert nested.width <= 1e-2 * nested.upper

"""Truncated Poisson samples: enumeration of whole mechanisms, and what a cap costs."""

import itertools
import math

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    CappedPoissonLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
    of_count,
)

PLACES = np.arange(-80, 81)


def release(values: tuple[int, ...], rate: float, cap: int, scale: float) -> np.ndarray:
    """The exact law of a noisy sum over a sample that is cut: all samples and all cuts written out."""
    noise = np.exp(-np.abs(PLACES) / scale)
    noise /= noise.sum()
    total = np.zeros(PLACES.size)
    for chosen in itertools.product((0, 1), repeat=len(values)):
        sample = [value for value, member in zip(values, chosen, strict=True) if member]
        chance = rate ** len(sample) * (1 - rate) ** (len(values) - len(sample))
        cuts = list(itertools.combinations(sample, min(cap, len(sample))))
        for kept in cuts:
            total += chance / len(cuts) * np.roll(noise, sum(kept))
    return total


@pytest.mark.parametrize(("cap", "others"), [(1, 1), (1, 3), (2, 3), (3, 3)])
@pytest.mark.parametrize("epsilon", [0.0, 0.15, 0.6])
def test_no_data_exceed_the_bound(cap: int, others: int, epsilon: float) -> None:
    """Values -1, 0, 1: every data set of the others, every unit, both directions."""
    rate, scale = 0.3, 2.0
    worst = 0.0
    for rest in itertools.combinations_with_replacement((-1, 0, 1), others):
        without = release(rest, rate, cap, scale)
        for value in (-1, 1):
            present = release((value, *rest), rate, cap, scale)
            for p, q in ((present, without), (without, present)):
                worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0)[8:-8].sum()))
    base = DiscreteLaplaceLoss(2, of_count(rows=1, groups=1, relation=AddRemove))
    found = base.capped_poisson_sampled(rate=rate, cap=cap, population=others + 1).delta(epsilon)
    free = base.poisson_sampled(rate=rate).delta(epsilon)
    assert worst <= found.upper * (1 + 1e-9) + 1e-12
    if cap > others:
        assert found.upper == pytest.approx(worst, rel=1e-6, abs=1e-12)
    assert found.lower <= free.upper


def test_pure_poisson_sampling_does_not_bound_a_cut_sample() -> None:
    """A twin that forgets the cut: with a cap of 1 a unit may push another out, and more is revealed."""
    without, present = release((-1, -1, -1), 0.5, 1, 2.0), release((1, -1, -1, -1), 0.5, 1, 2.0)
    truth = max(
        float(np.maximum(p - math.exp(0.45) * q, 0)[8:-8].sum()) for p, q in ((present, without), (without, present))
    )
    base = DiscreteLaplaceLoss(2, of_count(rows=1, groups=1, relation=AddRemove))
    assert base.capped_poisson_sampled(rate="0.5", cap=1, population=4).delta("0.45").upper >= truth
    assert base.poisson_sampled(rate="0.5").pure_epsilon < math.log(1 + 0.5 * math.expm1(1.0))  # type: ignore[operator]


def test_a_generous_cap_costs_nothing_and_a_tight_one_is_seen() -> None:
    base = GaussianLoss("1.1")
    free = (base.poisson_sampled(rate="256/60000") * 1000).epsilon("1e-5")
    generous = base.capped_poisson_sampled(rate="256/60000", cap=400, population=60_000)
    tight = base.capped_poisson_sampled(rate="256/60000", cap=300, population=60_000)
    assert generous.full.upper < 1e-16
    assert 0.003 < tight.full.lower <= tight.full.upper < 0.004
    assert (generous * 1000).epsilon("1e-5").upper <= free.upper + 2e-3
    assert (tight * 1000).epsilon("1e-5").upper > free.upper
    assert (tight * 1000).epsilon("1e-5").lower == pytest.approx(free.lower, rel=2e-3)


@pytest.mark.parametrize("base", [GaussianLoss(1), LaplaceLoss(1), PureLoss(1), ApproximateLoss(1, "0.01")])
def test_capped_samples_are_losses_like_others(base: PrivacyLoss) -> None:
    loss = CappedPoissonLoss(base, "0.1", 12, 100)
    assert loss.relations == {AddRemove}
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert loss.delta("0.1").lower <= base.poisson_sampled(rate="0.1").delta("0.1").upper
    assert loss.delta("0.1").upper <= (loss * 2).delta("0.1").upper
    assert loss.delta("0.1").upper <= CappedPoissonLoss(base, "0.1", 10, 100).delta("0.1").upper
    assert CappedPoissonLoss(base, "0.1", 100, 100).delta("0.1").upper == pytest.approx(
        base.poisson_sampled(rate="0.1").delta("0.1").upper, rel=1e-3
    )
    assert repr(loss).endswith(".capped_poisson_sampled(rate='1/10', cap=12, population=100)")


def test_unproved_uses_are_refused() -> None:
    replace = of_count(rows=1, groups=1, relation=Replace)
    with pytest.raises(UnprovedError, match="add/remove"):
        DiscreteLaplaceLoss(2, replace).capped_poisson_sampled(rate="0.1", cap=1, population=2)
    with pytest.raises(InvalidParameterError, match="rate must be in"):
        GaussianLoss(1).capped_poisson_sampled(rate=1, cap=1, population=2)
    with pytest.raises(InvalidParameterError, match="cap must be"):
        GaussianLoss(1).capped_poisson_sampled(rate="0.1", cap=0, population=2)

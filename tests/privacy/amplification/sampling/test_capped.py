"""Truncated Poisson samples: enumeration of whole mechanisms, and what a cap costs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom, norm

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
    of_count,
)
from deniable.privacy.amplification.sampling.capped import CappedPoissonStatement
from deniable.privacy.losses.dominated import curve_of
from deniable.privacy.pld.accountant import RepeatedPair, composed_delta

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


@pytest.mark.parametrize(("cap", "others"), [(1, 1), (1, 3), (2, 3), (3, 3), (4, 3)])
@pytest.mark.parametrize("epsilon", [0.0, 0.15, 0.6])
def test_no_data_exceed_the_bound_under_replace(cap: int, others: int, epsilon: float) -> None:
    """Values -1, 0, 1: every data set of the others, one unit with each two values."""
    rate, scale = 0.3, 2.0
    worst = 0.0
    for rest in itertools.combinations_with_replacement((-1, 0, 1), others):
        laws = [release((value, *rest), rate, cap, scale) for value in (-1, 0, 1)]
        for p, q in itertools.permutations(laws, 2):
            worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0)[8:-8].sum()))
    base = DiscreteLaplaceLoss(2, of_count(rows=1, groups=1, relation=AddRemove))
    loss = base.capped_poisson_sampled(rate=rate, cap=cap, population=others + 1, relation=Replace)
    free = base.poisson_sampled(rate=rate, relation=Replace)
    found = loss.delta(epsilon)
    assert worst <= found.upper * (1 + 1e-9) + 1e-12
    assert found.lower <= free.delta(epsilon).upper
    if cap > others:
        assert worst == pytest.approx(found.upper, rel=1e-6, abs=1e-9)
    else:
        assert found.upper >= free.delta(epsilon).lower


def test_a_cut_sample_costs_more_under_replace_than_poisson_sampling_says() -> None:
    """A twin that forgets the cut is below the truth: with a cap of 1 a unit pushes out one at the other end."""
    rate, scale, epsilon = 0.5, 2.0, 0.45
    laws = [release((value, -1, -1, -1), rate, 1, scale) for value in (0, 1)]
    truth = max(float(np.maximum(p - math.exp(epsilon) * q, 0)[8:-8].sum()) for p, q in itertools.permutations(laws, 2))
    base = DiscreteLaplaceLoss(2, of_count(rows=1, groups=1, relation=AddRemove))
    loss = base.capped_poisson_sampled(rate=rate, cap=1, population=4, relation=Replace)
    assert truth <= loss.delta(epsilon).upper
    assert loss.delta(epsilon).upper > 1.2 * base.poisson_sampled(rate=rate, relation=Replace).delta(epsilon).upper


def test_closed_forms_under_replace_agree_with_laws() -> None:
    loss = GaussianLoss(1).capped_poisson_sampled(rate="0.1", cap=12, population=100, relation=Replace)
    assert 0.1 < loss.statement.full.lower < 0.5
    for epsilon in ("0.2", "1"):
        closed, composed = (
            loss.delta(epsilon),
            composed_delta([[RepeatedPair(loss.statement.laws().upper[0], 1)]], Fraction(epsilon), 1e-3),
        )
        assert 0.5 * composed.upper <= closed.upper <= composed.upper * (1 + 2e-3)
    added = GaussianLoss(1).capped_poisson_sampled(rate="0.1", cap=12, population=100)
    assert added.delta(1).upper < loss.delta(1).upper
    assert (loss * 10).epsilon("1e-5").upper < 2 * (added * 10).epsilon("1e-5").upper


def mixed(mu: float, rate: float, cap: int, size: int, epsilon: float, *, kept: float = 1.0) -> float:
    """The bound for exactly `size` units, summed over the others; `kept` scales the chance to be kept."""
    others = np.arange(size)
    chances = binom.pmf(others, size - 1, rate)
    cut = others >= cap
    full = float(chances[cut].sum())
    share = float((chances * rate * cap / (others + 1))[cut].sum()) / full * kept

    def removed(distance: float, weight: float) -> float:
        odds = 1 + math.expm1(epsilon) / weight
        if odds <= 0:
            return -math.expm1(epsilon)
        place = (math.log(odds) + distance**2 / 2) / distance  # where the densities meet
        without, present = ndtr(-place), ndtr(distance - place)
        return float(weight * present + (1 - weight) * without - math.exp(epsilon) * without)

    return (1 - full) * removed(mu, rate) + full * removed(2 * mu, share)


def sizes_of_data(cap: int, population: int) -> list[int]:
    return [*range(cap + 1, population, max(population // 60, 1)), population]


@pytest.mark.parametrize(
    ("cap", "population", "epsilon"), [(15, 1000, 0.3), (12, 1000, 1.3), (5, 1000, 1.3), (3, 40, 0.3)]
)
def test_noise_on_cut_samples_is_bounded_for_data_of_every_size(cap: int, population: int, epsilon: float) -> None:
    """Sizes up to the population, by sums in floats: below the upper end, and the worst of them near it."""
    worst = max(mixed(1.0, 0.01, cap, size, epsilon) for size in sizes_of_data(cap, population))
    found = GaussianLoss(1).capped_poisson_sampled(rate="0.01", cap=cap, population=population).delta(epsilon)
    assert worst <= found.upper * (1 + 1e-9)
    assert found.upper <= 1.15 * max(worst, found.lower)


@pytest.mark.parametrize(("cap", "population"), [(15, 1000), (5, 1000), (3, 40)])
def test_one_pair_is_above_data_of_every_size_in_both_directions(cap: int, population: int) -> None:
    """The pair that is composed, at thresholds on both sides of 1."""
    upper = GaussianLoss(1).capped_poisson_sampled(rate="0.01", cap=cap, population=population).statement.laws().upper
    for epsilon in (-1.0, -0.011, -0.008, -0.003, 0.003, 0.3, 1.3):
        worst = max(mixed(1.0, 0.01, cap, size, epsilon) for size in sizes_of_data(cap, population))
        found = curve_of(upper[0], Fraction(epsilon)).upper
        assert worst <= found * (1 + 1e-9)
        assert math.exp(epsilon) * curve_of(upper[1], Fraction(-epsilon)).upper + 1 - math.exp(epsilon) == (
            pytest.approx(found, rel=1e-4, abs=1e-12)
        )


def test_many_runs_on_cut_samples_cost_less_than_published() -> None:
    """dp_accounting's own test states 17.904330; its numbers for data of 1000 units: 2.722, 4.080, 6.179."""
    noise = GaussianLoss(1)
    runs = [noise.capped_poisson_sampled(rate="0.5", cap=2, population=size) for size in (4, 3)]
    assert (runs[0] * 3 + runs[1] * 2).epsilon("1e-6").upper < 17
    loss = noise.capped_poisson_sampled(rate="0.01", cap=15, population=1000)
    for steps, peer in ((10, 2.722), (100, 4.080), (1000, 6.179)):
        assert (loss * steps).epsilon("1e-5").upper < 1.006 * peer


@pytest.mark.parametrize(("rate", "cap", "population"), [(0.5, 2, 8), (0.5, 2, 12), (0.1, 3, 90)])
def test_the_lower_end_is_what_a_full_sample_reveals(rate: float, cap: int, population: int) -> None:
    """All others at -1, written out on a fine grid: the lower end is below, and close."""
    loss = GaussianLoss(1).capped_poisson_sampled(rate=str(rate), cap=cap, population=population)
    others = loss.statement.filling_size - 1
    sizes = np.arange(others + 1)
    chances, grid = binom.pmf(sizes, others, rate), np.linspace(-cap - 10, 12, 40_001)
    joins = rate * np.minimum(1, cap / (sizes + 1))
    noise = {place: norm.pdf(grid, place, 1) * (grid[1] - grid[0]) for place in range(-cap - 1, 2)}
    without = sum(chance * noise[-min(size, cap)] for size, chance in enumerate(chances))
    there = [noise[1 - min(size, cap - 1)] for size in range(others + 1)]
    present = sum(
        c * ((1 - j) * noise[-min(k, cap)] + j * there[k]) for k, (c, j) in enumerate(zip(chances, joins, strict=True))
    )
    for epsilon in (2.0, 5.5):
        truth = float(np.maximum(present - math.exp(epsilon) * without, 0).sum())
        found, free = loss.delta(epsilon), GaussianLoss(1).poisson_sampled(rate=str(rate)).delta(epsilon)
        assert found.lower <= max(truth, free.upper) * (1 + 1e-6)
        assert found.lower >= 0.98 * truth


def test_a_full_sample_is_composed_where_it_reveals_more() -> None:
    """2000 data fill a sample of 12 nearly always: the runs reveal 1.83 by Poisson sampling, 2.845 on a fine grid."""
    loss = GaussianLoss(1).capped_poisson_sampled(rate="0.01", cap=12, population=2000) * 1000
    assert 2.8 < loss.epsilon("1e-5").lower < 2.95


def test_a_cut_sample_of_noise_has_the_published_epsilon() -> None:
    """dp_accounting: 1.317 and 2.025 for data of 1000 units; without the chance to be dropped 1.488 and 2.303."""
    base = GaussianLoss(1)
    for cap, peer in ((15, 1.317), (12, 2.025)):
        found = base.capped_poisson_sampled(rate="0.01", cap=cap, population=1000)
        assert found.delta(peer).upper < 1e-5 < found.delta(0.99 * peer).upper


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_gaussian_noise_on_a_cut_sample_written_out(epsilon: float) -> None:
    """Three others at -1, a cap of 1: densities on a grid. The twin, kept half as often, is below the truth."""
    sigma, rate = 0.4, 0.5
    grid = np.linspace(-6, 6, 24_001)
    laws = {value: norm.pdf(grid, value, sigma) * (grid[1] - grid[0]) for value in (-1, 0, 1)}
    chances = binom.pmf(np.arange(4), 3, rate)
    without = chances[0] * laws[0] + (1 - chances[0]) * laws[-1]
    kept = rate / np.arange(1, 5)
    present = sum(
        c * (k * laws[1] + (1 - k) * laws[0 if j == 0 else -1])
        for j, (c, k) in enumerate(zip(chances, kept, strict=True))
    )
    truth = float(np.maximum(present - math.exp(epsilon) * without, 0).sum())
    found = GaussianLoss("0.4").capped_poisson_sampled(rate="0.5", cap=1, population=4).delta(epsilon)
    assert truth <= found.upper
    assert mixed(1 / sigma, rate, 1, 4, epsilon, kept=0.5) < truth


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
    assert generous.statement.full.upper < 1e-16
    assert 0.003 < tight.statement.full.lower <= tight.statement.full.upper < 0.004
    assert (generous * 1000).epsilon("1e-5").upper <= free.upper + 2e-3
    assert (tight * 1000).epsilon("1e-5").upper > free.upper
    assert (tight * 1000).epsilon("1e-5").lower == pytest.approx(free.lower, rel=2e-3)


@pytest.mark.parametrize("base", [GaussianLoss(1), LaplaceLoss(1), PureLoss(1), ApproximateLoss(1, "0.01")])
def test_capped_samples_are_losses_like_others(base: PrivacyLoss) -> None:
    loss = PrivacyLoss(CappedPoissonStatement(base, "0.1", 12, 100))
    assert loss.relations == {AddRemove}
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert loss.delta("0.1").lower <= base.poisson_sampled(rate="0.1").delta("0.1").upper
    assert loss.delta("0.1").upper <= (loss * 2).delta("0.1").upper
    assert loss.delta("0.1").upper <= PrivacyLoss(CappedPoissonStatement(base, "0.1", 10, 100)).delta("0.1").upper
    assert PrivacyLoss(CappedPoissonStatement(base, "0.1", 100, 100)).delta("0.1").upper == pytest.approx(
        base.poisson_sampled(rate="0.1").delta("0.1").upper, rel=1e-3
    )
    assert repr(loss).endswith(".capped_poisson_sampled(rate=0.1, cap=12, population=100)")
    exchanged = PrivacyLoss(CappedPoissonStatement(base, "0.1", 12, 100, Replace))
    assert exchanged.relations == {Replace}
    assert PrivacyLoss.from_json(exchanged.to_json()) == exchanged
    assert loss.delta("0.1").upper <= exchanged.delta("0.1").upper <= (exchanged * 2).delta("0.1").upper
    assert repr(exchanged).endswith("cap=12, population=100, relation=Replace)")
    assert PrivacyLoss(CappedPoissonStatement(base, "0.1", 100, 100, Replace)).delta("0.1").upper == pytest.approx(
        base.poisson_sampled(rate="0.1", relation=Replace).delta("0.1").upper, rel=1e-3
    )


def test_unproved_uses_are_refused() -> None:
    replace = of_count(rows=1, groups=1, relation=Replace)
    with pytest.raises(UnprovedError, match="add/remove"):
        DiscreteLaplaceLoss(2, replace).capped_poisson_sampled(rate="0.1", cap=1, population=2)
    with pytest.raises(InvalidParameterError, match="rate must be in"):
        GaussianLoss(1).capped_poisson_sampled(rate=1, cap=1, population=2)
    with pytest.raises(InvalidParameterError, match="cap must be"):
        GaussianLoss(1).capped_poisson_sampled(rate="0.1", cap=0, population=2)


@pytest.mark.parametrize(("cap", "population"), [(5, 600), (3, 40)])
def test_every_size_of_the_data_is_within_one_range(cap: int, population: int) -> None:
    """A range has the greatest f and the greatest r of its sizes, which are at its two ends."""
    loss = GaussianLoss(1).capped_poisson_sampled(rate="0.01", cap=cap, population=population)
    for size in range(cap + 1, population + 1):
        full, kept = loss.statement._full(size).lower, loss.statement._kept(size).lower
        assert any(f >= full and r >= kept for f, r in loss.statement.cuts), size

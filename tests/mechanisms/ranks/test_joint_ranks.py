from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from math import factorial

import numpy as np
import pytest
from scipy import stats

from deniable.mechanisms.ranks import joint_ranks as module
from deniable.mechanisms.ranks.joint_ranks import RankSampler, Targets, coin
from deniable.noise.bits import DeterministicBits


def weights_of_all(targets: Targets, weights: np.ndarray, factor: float = 1.0) -> dict[tuple[int, ...], float]:
    """The weight of every way, by the definition."""
    found = {}
    for ranks in combinations_with_replacement(range(targets.total + 1), targets.count):
        if targets.holds(np.array(ranks)):
            rows = np.diff([0, *ranks, targets.total])
            wanted = np.diff(np.array([0, *targets.ranks, targets.total], dtype=np.float64))
            weight = np.prod([float(weights[rank]) for rank in ranks])
            weight /= np.prod([float(factorial(number)) for number in Counter(ranks).values()])
            found[ranks] = float(weight * np.exp(-float(targets.rate) * factor * np.abs(rows - wanted).sum()))
    return found


def some_targets(rows: int, count: int, rate: Fraction, width: int) -> Targets:
    ranks = [Fraction(place * rows, count + 1) for place in range(1, count + 1)]
    return Targets(ranks=ranks, total=rows, rate=rate, width=width)


CASES = [
    (9, 3, Fraction(1, 5), 20),
    (9, 3, Fraction(1, 5), 2),
    (6, 4, Fraction(3), 9),
    (0, 3, Fraction(1), 1),
    (30, 2, Fraction(1), 4),
]


@pytest.mark.parametrize("heaviest", [64, 0])
@pytest.mark.parametrize(("rows", "count", "rate", "width"), CASES)
def test_the_sum_over_all_ways_is_bounded_closely(
    rows: int, count: int, rate: Fraction, width: int, heaviest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of light ranks many quantiles at once count a little too much: 4 quantiles enter at once, then more."""
    monkeypatch.setattr(module, "_HEAVIEST", heaviest)
    weights = np.random.default_rng(1).integers(0, 2**40, rows + 1)
    weights[rows // 2] = 2**40
    targets = some_targets(rows, count, rate, width)
    exact = np.log(sum(weights_of_all(targets, weights).values()))
    bound = RankSampler(targets, lambda first, last: weights[first : last + 1]).start
    assert exact <= bound <= exact + 1e-6


@pytest.mark.parametrize("run", [4, 1, 2])
def test_ways_have_the_stated_law(run: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pearson's chi-square at false-alarm rate 10^-4; the twin at 1.5 times the rate must be rejected.

    With run = 1 or 2 and no heavy ranks, the last coin must undo what the bounds count too often.
    """
    monkeypatch.setattr(module, "_RUN", run)
    monkeypatch.setattr(module, "_HEAVIEST", 64 if run == 4 else 0)
    weights = np.array([50, 3, 0, 7, 1, 9, 2, 40])
    targets, bits = some_targets(7, 3, Fraction(1, 4), 4), DeterministicBits(run)
    sampler = RankSampler(targets, lambda first, last: weights[first : last + 1])
    draws = [sampler.propose(bits) for _ in range(1500)]
    counts = Counter(tuple(ranks.tolist()) for ranks in draws if ranks is not None)
    assert sum(counts.values()) > (1490 if run == 4 else 900)
    for factor, wanted in ((1.0, True), (1.5, False)):
        law = weights_of_all(targets, weights, factor)
        scale = sum(counts.values()) / sum(law.values())
        common = {ranks for ranks, weight in law.items() if weight * scale > 8}
        observed = [counts[ranks] for ranks in common]
        expected = [law[ranks] * scale for ranks in common]
        rest = sum(law.values()) * scale - sum(expected), sum(counts.values()) - sum(observed)
        p = stats.chisquare([*observed, rest[1]], [*expected, rest[0]]).pvalue
        assert p > 1e-4 if wanted else p < 1e-6


def test_tiny_weights_and_many_quantiles_do_not_underflow() -> None:
    """Forty quantiles among equal rows, whose ranks weigh 2^-50 of those outside: e^-1386 against e^-1800."""
    weights = np.full(10_001, 1, dtype=np.int64)
    weights[[0, -1]] = 2**50
    targets = some_targets(10_000, 40, Fraction(1), 2000)
    sampler = RankSampler(targets, lambda first, last: weights[first : last + 1])
    ranks = sampler.propose(DeterministicBits(1))
    assert ranks is not None
    assert np.abs(ranks - np.array(targets.ranks, dtype=np.float64)).max() < 50


def test_proposals_are_hardly_ever_refused() -> None:
    weights = np.random.default_rng(2).integers(1, 2**50, 2001)
    sampler = RankSampler(some_targets(2000, 9, Fraction(1, 4), 400), lambda first, last: weights[first : last + 1])
    bits = DeterministicBits(1)
    assert all(sampler.propose(bits) is not None for _ in range(100))  # fewer than 1 in 10^4 is


def test_a_coin_shows_what_its_ball_says() -> None:
    from flint import arb

    bits = DeterministicBits(1)
    assert coin(lambda: arb(1), bits)
    assert not coin(lambda: arb(0), bits)
    heads = sum(coin(lambda: arb(-1).exp(), bits) for _ in range(1000))
    assert 290 < heads < 450  # 368, standard deviation 15

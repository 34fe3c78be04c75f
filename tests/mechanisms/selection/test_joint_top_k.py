"""The joint choice: gaps and numbers of sequences by brute force, the law, exact weights, sensitivity of the gap."""

from fractions import Fraction
from itertools import permutations, product
from math import prod

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.mechanisms import JointTopK
from deniable.mechanisms.selection import joint_top_k
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, ExponentialMechanismLoss, Replace, Restricted, of_count
from tests.mechanisms.selection.laws import joint


def gap_of(scores: tuple[int, ...], chosen: tuple[int, ...]) -> int:
    best = sorted(scores, reverse=True)
    return max(best[place] - scores[i] for place, i in enumerate(chosen))


def test_numbers_of_sequences_agree_with_enumeration() -> None:
    generator = np.random.default_rng(1)
    for _ in range(60):
        size = int(generator.integers(1, 7))
        scores, count = generator.integers(-4, 5, size), int(generator.integers(1, size + 1))
        falling = -np.sort(-scores)
        gaps = joint_top_k._gaps(falling, count)
        every = np.array([gap_of(tuple(falling), chosen) for chosen in permutations(range(size), count)])
        assert set(every) <= set(gaps.tolist())
        for gap, row in zip(gaps, joint_top_k._open_places(falling, count, gaps), strict=True):
            assert prod(int(n) - i for i, n in enumerate(row)) == (every <= gap).sum()


def test_sequences_follow_the_law_and_no_other_rate() -> None:
    """Chi-square over 60 sequences, one seed in a million; ties, and gaps that no sequence attains alone."""
    scores, runs = (7, 2, 7, 3, 0), 100_000
    mechanism = JointTopK(rate=Fraction(1, 3), count=3)
    codes = mechanism.outcomes(scores, runs, bits=DeterministicBits(2))
    kinds, observed = np.unique(codes, return_counts=True)
    for rate, passes in ((Fraction(1, 3), True), (Fraction(2, 5), False)):
        shares = joint(JointTopK(rate=rate, count=3), scores)
        expected = {int("".join(map(str, chosen)), 5): share * runs for chosen, share in shares.items()}
        assert set(kinds.tolist()) <= set(expected)
        hoped = np.array([expected[int(kind)] for kind in kinds])
        often = hoped > 20
        statistic = ((observed - hoped)[often] ** 2 / hoped[often]).sum()
        assert (stats.chi2.sf(statistic, often.sum() - 1) > 1e-6) is np.bool_(passes)


def test_single_releases_follow_the_same_law() -> None:
    scores, runs, bits = (3, 1, 0), 1500, DeterministicBits(3)
    mechanism = JointTopK(rate=Fraction(1, 2), count=2)
    chosen = [mechanism.release(scores, bits=bits).value for _ in range(runs)]
    shares = joint(mechanism, scores)
    observed = np.array([chosen.count(sequence) for sequence in shares])
    assert observed.sum() == runs
    assert stats.chisquare(observed, np.array(list(shares.values())) * runs).pvalue > 1e-6


@pytest.mark.parametrize("rate", [Fraction(1, 10**6), Fraction(1, 50), Fraction(3), Fraction(10**4, 7)])
def test_float_weights_lie_within_their_errors_of_the_exact_ones(rate: Fraction) -> None:
    falling = np.sort(np.random.default_rng(4).integers(0, 300, 40))[::-1].copy()
    gaps = joint_top_k._gaps(falling, 6)
    base, error = joint_top_k._log_weights(falling, gaps, 6, float(rate))
    assert (error < 1e-4).all()
    with mp.workdps(50):
        r = mp.mpf(rate.numerator) / rate.denominator
        for m, row in enumerate(joint_top_k._open_places(falling, 6, gaps)):
            truth = mp.log(prod(int(n) - i for i, n in enumerate(row))) - r * int(gaps[m])
            if m + 1 < gaps.size:
                truth += mp.log(-mp.expm1(-r * int(gaps[m + 1] - gaps[m])))
            assert abs(mp.mpf(float(base[m])) - truth) <= mp.mpf(float(error[m]))


def test_a_choice_that_floats_leave_open_is_settled_by_exact_weights(monkeypatch) -> None:
    """With errors as wide as the weights every draw takes the slow way, and has the same law."""
    narrow = joint_top_k._log_weights

    def wide(*arguments: object) -> tuple[np.ndarray, np.ndarray]:
        base, error = narrow(*arguments)  # type: ignore[arg-type]
        return base, error + 50.0

    monkeypatch.setattr(joint_top_k, "_log_weights", wide)
    scores, runs = (3, 1, 0), 1200
    mechanism = JointTopK(rate=Fraction(1, 2), count=2)
    codes = mechanism.outcomes(scores, runs, bits=DeterministicBits(5))
    shares = joint(mechanism, scores)
    observed = np.array([(codes == 3 * a + b).sum() for a, b in shares])
    assert stats.chisquare(observed, np.array(list(shares.values())) * runs).pvalue > 1e-6


@pytest.mark.parametrize(("moves", "factor"), [((-1, 0, 1), 2), ((0, 1), 1)])
def test_the_gap_moves_by_twice_the_scores_or_once_if_they_are_monotone(moves: tuple[int, ...], factor: int) -> None:
    """All moves of all small scores: the bound holds, and is attained."""
    attained = 0
    for scores in product(range(4), repeat=3):
        for move in product(moves, repeat=3):
            moved = tuple(a + b for a, b in zip(scores, move, strict=True))
            for chosen in permutations(range(3), 2):
                attained = max(attained, abs(gap_of(scores, chosen) - gap_of(moved, chosen)))
    assert attained == factor


@pytest.mark.parametrize(("moves", "limit"), [((-1, 0, 1), 4), ((0, 1), 2)])
def test_no_sequence_betrays_more_than_the_claim(moves: tuple[int, ...], limit: int) -> None:
    """Exact laws of random scores and all their neighbours; half of the claim would not do."""
    generator, rate, worst = np.random.default_rng(8), Fraction(1, 2), 0.0
    for _ in range(12):
        scores = tuple(generator.integers(0, 7, 4).tolist())
        p = np.array(list(joint(JointTopK(rate=rate, count=2), scores).values()))
        for move in product(moves, repeat=4):
            moved = tuple(a + b for a, b in zip(scores, move, strict=True))
            q = np.array(list(joint(JointTopK(rate=rate, count=2), moved).values()))
            worst = max(worst, float(np.abs(np.log(p / q)).max()))
    assert 0.5 * limit * rate < worst <= limit * rate * (1 + 1e-12)


def test_the_loss_is_that_of_one_exponential_mechanism() -> None:
    one = of_count(rows=1, groups=1, relation=Replace)
    assert JointTopK(rate=Fraction(1, 4), count=9).privacy_loss(one) == Restricted(ExponentialMechanismLoss(1), Replace)
    counts = of_count(rows=1, groups=5, relation=AddRemove)
    monotone = JointTopK.calibrated(counts, epsilon=1, count=9, monotone=True)
    assert monotone.rate == Fraction(1, 2)
    assert monotone.privacy_loss(counts) == ExponentialMechanismLoss(1, monotone=True)


def test_scores_of_any_size_and_kind_are_taken() -> None:
    mechanism = JointTopK(rate=Fraction(50), count=2)
    assert mechanism.release([-(2**63), 2**63 - 1, 2**63 - 2**61]).value == (1, 2)
    assert mechanism.release([2**90 - 9, 2**90, -5]).value == (1, 0)
    assert mechanism.release(np.array([2**64 - 1, 5, 2**64 - 2**61], dtype=np.uint64)).value == (0, 2)
    assert mechanism.release([7, 3]).value == (0, 1)
    assert sorted(mechanism.release([5, 5]).value) == [0, 1]  # type: ignore[arg-type]


def test_every_member_is_near_the_score_of_its_place() -> None:
    """Binomial of 4,000 at most 1/10: 500 is seven deviations away. Many scores, so that the bound is tried."""
    scores = tuple(np.random.default_rng(6).integers(0, 40, 30).tolist())
    mechanism = JointTopK(rate=Fraction(1, 2), count=3)
    codes = mechanism.outcomes(scores, 4000, bits=DeterministicBits(7))
    chosen = np.stack([codes // 900, codes // 30 % 30, codes % 30], axis=1)
    gaps = (-np.sort(-np.array(scores))[:3] - np.array(scores)[chosen]).max(axis=1)
    assert (gaps > mechanism.gap_bound(30, failure=0.1)).sum() < 500


def test_more_than_there_are_cannot_be_chosen() -> None:
    with pytest.raises(InvalidParameterError, match="count must be <= the number of candidates, 2, got 3"):
        JointTopK(rate=Fraction(1), count=3).release([1, 2])
    with pytest.raises(InvalidParameterError, match="count must be >= 1"):
        JointTopK(rate=Fraction(1), count=0)

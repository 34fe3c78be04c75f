"""The joint choice: its law by enumeration, on every way that a draw may take; sensitivity of the gap; speed."""

import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.mechanisms import ExponentialMechanism, JointTopK
from deniable.mechanisms.selection import joint_top_k, sequences
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, ExponentialMechanismLoss, Replace, of_count
from tests.mechanisms.laws import law_of
from tests.mechanisms.selection.laws import joint


def gap_of(scores: tuple[int, ...], chosen: tuple[int, ...]) -> int:
    best = sorted(scores, reverse=True)
    return max(best[place] - scores[i] for place, i in enumerate(chosen))


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


@pytest.mark.parametrize(("growth", "faint"), [(np.inf, 40.0), (0.0, 40.0), (np.inf, -3.0), (0.0, -3.0)])
def test_the_law_does_not_depend_on_how_gaps_are_cut_into_pieces(
    growth: float, faint: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One piece, of which most draws are refused; pieces of one gap; a last piece that begins early, so that those far
    behind are sorted late. One seed in a million; the twin accepts every draw."""
    monkeypatch.setattr(sequences, "GROWTH", growth)
    monkeypatch.setattr(sequences, "FAINT", faint)
    scores, runs = (9, 0, 7, 3, 9, -200), 40_000
    mechanism = JointTopK(rate=Fraction(1, 3), count=2)
    assert law_fits(mechanism, scores, runs, DeterministicBits(11))
    monkeypatch.setattr(
        joint_top_k._Gaps, "reached", lambda _self, piece, _attained, _bits: np.ones(piece.size, dtype=bool)
    )
    assert law_fits(mechanism, scores, runs, DeterministicBits(12)) is (growth == 0.0 and faint > 0)


def law_fits(mechanism: JointTopK, scores: tuple[int, ...], runs: int, bits: DeterministicBits) -> bool:
    codes = mechanism.outcomes(scores, runs, bits=bits)
    shares = joint(mechanism, scores)
    observed = np.array([(codes == a * len(scores) + b).sum() for a, b in shares])
    hoped = np.array(list(shares.values())) * runs
    assert observed.sum() == runs
    if observed[hoped < 1e-3].sum():
        return False
    often = hoped > 20
    statistic = ((observed - hoped)[often] ** 2 / hoped[often]).sum()
    return bool(stats.chi2.sf(statistic, often.sum() - 1) > 1e-6)


def test_single_releases_follow_the_same_law() -> None:
    scores, runs, bits = (3, 1, 0), 600, DeterministicBits(3)
    mechanism = JointTopK(rate=Fraction(1, 2), count=2)
    chosen = [mechanism.release(scores, bits=bits).value for _ in range(runs)]
    shares = joint(mechanism, scores)
    observed = np.array([chosen.count(sequence) for sequence in shares])
    assert observed.sum() == runs
    assert stats.chisquare(observed, np.array(list(shares.values())) * runs).pvalue > 1e-6


def test_a_choice_that_floats_leave_open_is_settled_by_exact_weights(monkeypatch) -> None:
    """With errors as wide as the weights every draw takes the slow way, and has the same law."""
    narrow = sequences.log_weights

    def wide(*arguments: object) -> tuple[np.ndarray, np.ndarray]:
        base, error = narrow(*arguments)  # type: ignore[arg-type]
        return base, error + 50.0

    monkeypatch.setattr(sequences, "log_weights", wide)
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


def test_one_of_all_is_the_exponential_mechanism_and_costs_as_much() -> None:
    """The same law, hence the same loss; the distance of neighbouring laws comes close to it."""
    scores, moved, reach = (20, 0, 0, 0), (19, 1, 1, 1), of_count(rows=1, groups=4, relation=AddRemove)
    alone, one = JointTopK(rate=Fraction(1, 2), count=1), ExponentialMechanism(rate=Fraction(1, 2))
    p, q = (np.array(list(law_of(alone, each).values())) for each in (scores, moved))
    assert p == pytest.approx(list(law_of(one, scores).values()))
    assert alone.privacy_loss(reach) == one.privacy_loss(reach)
    epsilon = float(alone.privacy_loss(reach).pure_epsilon or 0)
    assert 0.99 * epsilon < np.abs(np.log(p / q)).max() <= epsilon


def test_the_loss_is_that_of_one_exponential_mechanism() -> None:
    one = of_count(rows=1, groups=1, relation=Replace)
    assert JointTopK(rate=Fraction(1, 4), count=9).privacy_loss(one) == ExponentialMechanismLoss(1).under(Replace)
    counts = of_count(rows=1, groups=5, relation=AddRemove)
    assert JointTopK(rate=Fraction(1, 4), count=1).privacy_loss(one) == ExponentialMechanismLoss(Fraction(1, 2)).under(
        Replace
    )
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


def test_probabilities_are_those_of_all_sequences() -> None:
    for scores, count in (((4, 1, 1, -3, 0), 3), ((7,), 1), ((2**63 - 1, 2**63 - 2, -(2**63)), 2)):
        mechanism = JointTopK(rate=Fraction(1, 3), count=count)
        found = law_of(mechanism, scores)
        assert found == pytest.approx(joint(mechanism, scores), abs=1e-14)
        assert sum(found.values()) == pytest.approx(1)
        mean = sum(p * gap_of(scores, chosen) for chosen, p in found.items())
        assert mean <= mechanism.expected_gap(len(scores)) + 1e-12
    with pytest.raises(InvalidParameterError, match="at most 100000 sequences"):
        law_of(JointTopK(rate=Fraction(1), count=4), range(20))


def test_large_scores_keep_their_differences_in_the_law() -> None:
    """Floats of 2^61 and 2^61 + 1 are equal, and gave one half each; the logistic function of 1 is right."""
    mechanism = JointTopK(rate=Fraction(1), count=2)
    for scores in ([2**61, 0, -1], [2**70, 2**70 - 2**61, 2**70 - 2**61 - 1]):
        assert law_of(mechanism, scores)[0, 1] == pytest.approx(1 / (1 + np.exp(-1)), abs=1e-12)


def test_scores_far_behind_count_alike_in_the_draw_and_in_the_law() -> None:
    """Behind by 2^62 + 1 and by 2^64 - 1: both are chosen as if by 2^62 - 1, and for a rate of 2^-62 that matters.

    Chi-square, one seed in a million; the twin is the law of the scores as they are.
    """
    scores, runs = (2**63 - 1, 2**62 - 2, -(2**63)), 4000
    mechanism = JointTopK(rate=Fraction(1, 2**62), count=1)
    observed = np.bincount(mechanism.outcomes(scores, runs, bits=DeterministicBits(9)), minlength=3)
    law = np.array(list(law_of(mechanism, scores).values()))
    moved = np.exp([0.0, -1.0, -1.0])
    assert law == pytest.approx(moved / moved.sum(), abs=1e-12)
    assert stats.chisquare(observed, law * runs).pvalue > 1e-6
    plain = np.array(list(joint(mechanism, scores).values()))
    assert stats.chisquare(observed, plain * runs).pvalue < 1e-6


def test_sequences_beyond_64_bits_have_numbers_of_their_own() -> None:
    """Nine of 200 need 69 bits, of which the first five were lost."""
    found = JointTopK(rate=Fraction(50), count=9).outcomes(tuple(range(200)), 2, bits=DeterministicBits(4))
    digits = [[int(code) // 200**place % 200 for place in reversed(range(9))] for code in found]
    assert digits == [list(range(199, 190, -1))] * 2
    assert int(found[0]) > 2**63


def test_bounds_of_very_many_sequences() -> None:
    mechanism = JointTopK(rate=Fraction(1), count=10**6)
    mean, bound = mechanism.expected_gap(10**7), mechanism.gap_bound(10**7, failure="1/10")
    assert mean == pytest.approx(math.lgamma(10**7 + 1) - math.lgamma(9 * 10**6 + 1), rel=1e-9)
    assert bound == pytest.approx(mean + math.log(9), rel=1e-12)


def test_very_many_distinct_scores() -> None:
    scores = np.random.default_rng(3).permutation(500_000)
    chosen = JointTopK(rate=Fraction(1, 20), count=10).release(scores).value
    assert len(set(chosen)) == 10  # type: ignore[arg-type]


def test_more_than_there_are_cannot_be_chosen() -> None:
    with pytest.raises(InvalidParameterError, match="count must be <= the number of candidates, 2, got 3"):
        JointTopK(rate=Fraction(1), count=3).release([1, 2])
    with pytest.raises(InvalidParameterError, match="count must be >= 1"):
        JointTopK(rate=Fraction(1), count=0)

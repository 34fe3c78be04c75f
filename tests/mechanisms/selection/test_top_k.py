from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.mechanisms import ExponentialMechanism, JointTopK, PeelingTopK
from deniable.mechanisms.selection.top_k import Noise, transcripts
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, ExponentialMechanismLoss, of_count
from tests.mechanisms.laws import law_of
from tests.mechanisms.selection.laws import rounds

COUNT = of_count(rows=1, groups=1, relation=AddRemove)


@pytest.mark.parametrize("noise", ["gumbel", "exponential", "laplace"])
def test_sequences_follow_the_law_of_rounds(noise: Noise) -> None:
    """Bulk draws by chi-square, one seed in a million; the twin is the law of other noise."""
    scores, runs = (3, 2, 0, 1), 60_000
    mechanism = PeelingTopK(rate=Fraction(3, 4), count=3, noise=noise)
    codes = mechanism.outcomes(scores, runs, bits=DeterministicBits(3))
    every = list(permutations(range(4), 3))
    observed = np.array([(codes == int("".join(map(str, chosen)), 4)).sum() for chosen in every])
    assert observed.sum() == runs
    other: Noise = "exponential" if noise == "gumbel" else "gumbel"
    for law, passes in ((mechanism, True), (PeelingTopK(rate=Fraction(3, 4), count=3, noise=other), False)):
        shares = rounds(law, scores)
        expected = np.array([shares[chosen] for chosen in every]) * runs
        often = expected > 30
        statistic = ((observed - expected)[often] ** 2 / expected[often]).sum()
        assert (stats.chi2.sf(statistic, often.sum() - 1) > 1e-6) is np.bool_(passes)


@pytest.mark.parametrize("noise", ["gumbel", "exponential", "laplace"])
def test_single_releases_follow_the_same_law(noise: Noise) -> None:
    scores, runs = [3, 2, 0], 1500
    mechanism = PeelingTopK(rate=Fraction(1, 2), count=2, noise=noise)
    bits = DeterministicBits(4)
    chosen = [mechanism.release(scores, bits=bits).value for _ in range(runs)]
    shares = rounds(mechanism, (3, 2, 0))
    observed = np.array([chosen.count(sequence) for sequence in shares])
    assert observed.sum() == runs
    assert stats.chisquare(observed, np.array(list(shares.values())) * runs).pvalue > 1e-6


def test_oneshot_laplace_noise_is_no_sequence_of_rounds() -> None:
    """Why only Gumbel noise is drawn once: for two of three the largest two noises at once have another law."""
    from deniable.noise import races

    runs = 100_000
    scores = np.broadcast_to([2, 0, 0, 0], (runs, 4))
    found = races.top(scores, count=2, rate=1, noise="exponential", bits=DeterministicBits(5))
    shares = rounds(PeelingTopK(rate=Fraction(1), count=2, noise="exponential"), (2, 0, 0, 0))
    codes = transcripts(found, 4)
    observed = np.array([(codes == 4 * a + b).sum() for a, b in shares])
    assert stats.chisquare(observed, np.array(list(shares.values())) * runs).pvalue < 1e-12


def test_numbers_of_sequences_never_wrap() -> None:
    """Both rows gave 0 when the first digit stood for more than 64 bits."""
    rows = np.array([[1, 0, 0, 0, 0], [7, 0, 0, 0, 0]])
    assert transcripts(rows, 2**16).tolist() == [2**64, 7 * 2**64]
    last = transcripts(np.full((1, 9), 127), 128)  # the greatest that has room
    assert last.dtype == np.int64
    assert last.tolist() == [2**63 - 1]


def test_the_loss_is_that_of_the_rounds_together() -> None:
    loss = PeelingTopK(rate=Fraction(1, 2), count=5).privacy_loss(COUNT)
    assert loss == (ExponentialMechanismLoss(1) * 5).under(AddRemove)
    assert loss.rho == Fraction(5, 8)
    assert PeelingTopK(rate=Fraction(1, 2), count=5, noise="exponential").privacy_loss(COUNT).rho == Fraction(5, 2)
    assert loss.epsilon("1e-6").upper < 5


def test_clear_winners_come_first_and_in_order() -> None:
    for noise in ("gumbel", "exponential", "laplace"):
        mechanism = PeelingTopK(rate=Fraction(100), count=3, noise=noise)  # type: ignore[arg-type]
        assert mechanism.release([5, 90, 7, 60, 1]).value == (1, 3, 2)
        assert mechanism.release([5, 90, 7]).value == (1, 2, 0)  # all of them, in order


@pytest.mark.parametrize(("count", "words"), [(0, "count must be >= 1"), (1.5, "count must be a whole number")])
def test_wrong_counts_are_refused(count: object, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        PeelingTopK(rate=Fraction(1), count=count)  # type: ignore[arg-type]


def test_more_than_there_are_cannot_be_chosen() -> None:
    with pytest.raises(InvalidParameterError, match="count must be <= the number of candidates, 2, got 3"):
        PeelingTopK(rate=Fraction(1), count=3).release([1, 2])
    with pytest.raises(InvalidParameterError, match="noise must be one of"):
        PeelingTopK(rate=Fraction(1), count=3, noise="gauss")  # type: ignore[arg-type]


@pytest.mark.parametrize("noise", ["gumbel", "exponential", "laplace"])
def test_probabilities_are_those_of_the_rounds(noise: Noise) -> None:
    """Against quadrature in mpmath; ties, and one candidate that is as good as never chosen."""
    for scores, count in (((3, 3, -1, 1), 3), ((8, 0, -9000), 2), ((5,), 1)):
        mechanism = PeelingTopK(rate=Fraction(3, 4), count=count, noise=noise)
        found = law_of(mechanism, scores)
        assert found == pytest.approx(rounds(mechanism, scores), abs=1e-11)
        assert sum(found.values()) == pytest.approx(1)


def test_probabilities_of_too_many_sequences_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="at most 100000 sequences"):
        law_of(PeelingTopK(rate=Fraction(1), count=4), range(20))
    with pytest.raises(InvalidParameterError, match="count must be <="):
        law_of(PeelingTopK(rate=Fraction(1), count=4), range(3))
    for candidates in (9, 10**6):
        with pytest.raises(InvalidParameterError, match="at most 100000 sequences"):
            law_of(PeelingTopK(rate=Fraction(1), count=candidates), range(candidates))


@pytest.mark.parametrize("noise", ["gumbel", "exponential", "laplace"])
def test_no_scores_exceed_the_bounds(noise: Noise) -> None:
    """Exact laws of random scores: the farthest member is rarely beyond the bound, each is near on average."""
    generator, closest = np.random.default_rng(6), 0.0
    for _ in range(12):
        scores = tuple((-generator.integers(0, int(generator.choice([3, 40])), 6)).tolist())
        mechanism = PeelingTopK(rate=Fraction(int(generator.integers(1, 30)), 10), count=3, noise=noise)
        best = sorted(scores, reverse=True)
        law = law_of(mechanism, scores)
        gaps = np.array([[best[place] - scores[i] for place, i in enumerate(chosen)] for chosen in law])
        p = np.array(list(law.values()))
        mean = (p @ gaps).max()
        assert mean <= mechanism.expected_gap(6)
        closest = max(closest, mean / mechanism.expected_gap(6))
        for failure in (0.5, 0.1, 1e-3):
            assert p[gaps.max(axis=1) > mechanism.gap_bound(6, failure=failure)].sum() <= failure
    assert 0.2 < closest <= 1


def test_bounds_need_as_many_candidates_as_are_chosen() -> None:
    for question in (
        PeelingTopK(rate=Fraction(1), count=3).expected_gap,
        JointTopK(rate=Fraction(1), count=3).expected_gap,
    ):
        with pytest.raises(InvalidParameterError, match="candidates"):
            question(2)
    with pytest.raises(InvalidParameterError, match="count must be <= the number of candidates"):
        PeelingTopK(rate=Fraction(1), count=3).gap_bound(2, failure=0.1)
    assert PeelingTopK(rate=Fraction(1), count=1).expected_gap(9) == ExponentialMechanism(
        rate=Fraction(1)
    ).expected_gap(9)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_all_rounds_together_fail_as_seldom_as_said(count: int) -> None:
    single, several = ExponentialMechanism(rate=Fraction(1, 3)), PeelingTopK(rate=Fraction(1, 3), count=count)
    assert several.gap_bound(10, failure="0.03") == single.gap_bound(10, failure=Fraction(3, 100 * count))

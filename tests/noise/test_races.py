"""Many races at once: laws, ties, zero weights, every row for itself."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.noise import race, races
from deniable.noise.bits import DeterministicBits
from deniable.noise.contest import Noise
from tests.noise.streams import ScriptedBits
from tests.noise.test_contest import KINDS
from tests.noise.test_race import law

RUN = {"gumbel": races.exponential_mechanism, "exponential": races.permute_and_flip, "laplace": races.noisy_max}


@pytest.mark.parametrize("kind", KINDS)
def test_winners_follow_the_law_and_no_other_rate(kind: Noise) -> None:
    """Chi-square of 200,000 races; a correct race fails for one seed in a million."""
    scores, rate, runs = [3, 2, 0, 1], Fraction(1, 2), 200_000
    winners = RUN[kind](np.broadcast_to(np.array(scores), (runs, 4)), rate=rate, bits=DeterministicBits(3))
    counts = np.bincount(winners, minlength=4)
    for factor, passes in ((Fraction(1), True), (Fraction(21, 20), False), (Fraction(19, 20), False)):
        expected = np.array(law(kind, scores, rate * factor)) * runs
        statistic = ((counts - expected) ** 2 / expected).sum()
        assert (stats.chi2.sf(statistic, 3) > 1e-6) is np.bool_(passes)


def test_weights_count_and_zero_weights_never_win() -> None:
    runs = 100_000
    scores, weights = np.array([3, 2, 0, 9]), np.array([2, 5 * 10**17, 2**62, 0])
    shape = (runs, 4)
    winners = races.exponential_mechanism(
        np.broadcast_to(scores, shape), rate=1, weights=np.broadcast_to(weights, shape), bits=DeterministicBits(4)
    )
    counts = np.bincount(winners, minlength=4)
    assert counts[3] == 0
    mass = weights[:3] * np.exp(scores[:3].astype(float))
    assert stats.chisquare(counts[1:3], runs * mass[1:3] / mass.sum()).pvalue > 1e-6
    for run in (races.permute_and_flip, races.noisy_max):
        some = run(np.broadcast_to(scores, (1000, 4)), rate=1, weights=np.broadcast_to([1, 1, 1, 0], (1000, 4)))
        assert set(np.unique(some)) == {0, 1, 2}


def test_every_row_has_its_own_scores_and_weights() -> None:
    scores = np.array([[0, 1000], [1000, 0], [-(2**63), 2**63 - 1], [5, 5]])
    weights = np.array([[1, 1], [1, 1], [1, 1], [0, 1]])
    found = races.exponential_mechanism(scores, rate=1, weights=weights, bits=DeterministicBits(5))
    assert found.tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_few_are_those_of_single_races(kind: Noise) -> None:
    scores = np.random.default_rng(1).integers(-9, 9, (40, 30))
    found = races.top(scores, count=4, rate=Fraction(1, 3), noise=kind, bits=DeterministicBits(6))
    bits = DeterministicBits(6)
    single = [race.top(row, count=4, rate=Fraction(1, 3), noise=kind, bits=bits) for row in scores]
    assert found.tolist() == np.array(single).tolist()


def test_the_first_few_with_gumbel_noise_are_rounds_of_the_exponential_mechanism() -> None:
    """Of ordered pairs out of four, against the product of two soft maxima; false alarm 1e-6."""
    runs, mass = 120_000, np.exp(np.array([3, 2, 0, 1]) * 0.5)
    found = races.top(np.broadcast_to([3, 2, 0, 1], (runs, 4)), count=2, rate=Fraction(1, 2), bits=DeterministicBits(7))
    chance = np.array([[mass[i] * mass[j] / mass.sum() / (mass.sum() - mass[i]) for j in range(4)] for i in range(4)])
    counts = np.bincount(found[:, 0] * 4 + found[:, 1], minlength=16).reshape(4, 4)
    assert (np.diag(counts) == 0).all()
    apart = ~np.eye(4, dtype=bool)
    assert stats.chisquare(counts[apart], runs * chance[apart]).pvalue > 1e-6
    swapped = chance.T[apart]  # the twin: the order of the two is not symmetric
    assert stats.chisquare(counts[apart], runs * swapped).pvalue < 1e-12


@pytest.mark.parametrize("count", [1, 2])
def test_a_row_that_words_leave_open_gets_more_and_others_do_not(count: int) -> None:
    """Equal words tie the second row; its appended words decide."""
    bits = ScriptedBits([2**60, 2**63, 2**62, 2**62, 2**60, 2**63, 9, 5])
    scores = np.zeros((3, 2), dtype=np.int64)
    found = races.top(scores, count=count, rate=1, noise="exponential", bits=bits)
    assert found[:, 0].tolist() == [0, 1, 0]
    assert bits.used == 8


def test_a_number_that_may_be_anything_keeps_the_whole_row_open() -> None:
    """The second number begins with ones: its Gumbel noise has no ends yet, and it may be ahead of everybody."""
    bits = ScriptedBits([2**63, 2**64 - 1, 2**62, 2**50, 7, 7, 7])
    found = races.top(np.zeros((1, 4), dtype=np.int64), count=2, rate=1, bits=bits)
    assert found.tolist() == [[1, 0]]
    assert bits.used == 7  # the last is behind the two others in any case


def test_blocks_of_rows_use_the_same_words_as_one() -> None:
    scores = np.random.default_rng(2).integers(0, 5, (50, 20))
    whole = races.permute_and_flip(scores, rate=1, bits=DeterministicBits(8))
    bits = DeterministicBits(8)
    assert whole.tolist() == [int(races.permute_and_flip(row[None], rate=1, bits=bits)[0]) for row in scores]
    assert races._CANDIDATES_PER_BLOCK > 50 * 20
    many = races.permute_and_flip(np.tile(scores, (100, 1)), rate=1, bits=DeterministicBits(8))
    assert many.shape == (5000,)
    assert many[:50].tolist() == whole.tolist()


def test_every_block_of_rows_has_its_own_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows to a block; in each row, the only candidate with a weight wins."""
    monkeypatch.setattr(races, "_CANDIDATES_PER_BLOCK", 10)
    weights = np.eye(5, dtype=np.int64)
    found = races.exponential_mechanism(np.zeros((5, 5), dtype=np.int64), rate=1, weights=weights)
    assert found.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("scores", "options", "words"),
    [
        (np.zeros(3, dtype=int), {}, "scores must be two-dimensional integer arrays, got 1-d"),
        (np.zeros((3, 3)), {}, "got 2-d float64"),
        (np.zeros((3, 0), dtype=int), {}, "at least 1 candidates of positive weight"),
        (np.zeros((3, 2), dtype=int), {"count": 3}, "at least 3 candidates of positive weight"),
        (np.zeros((3, 2), dtype=int), {"count": 0}, "at least 1 candidates"),
        (np.zeros((1, 2), dtype=int), {"weights": np.array([[0, 0]])}, "at least 1 candidates of positive weight"),
        (np.zeros((1, 2), dtype=int), {"weights": np.array([[0, -1]])}, "weights must be >= 0"),
        (np.zeros((1, 2), dtype=int), {"weights": np.array([[1]])}, "weights must have the shape of scores"),
        (np.zeros((1, 2), dtype=int), {"rate": 0.5}, "rate must be"),
    ],
)
def test_wrong_input_is_refused(scores: np.ndarray, options: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        races.top(scores, **{"count": 1, "rate": 1, **options})  # type: ignore[arg-type]


def test_no_races_have_no_winners() -> None:
    assert races.permute_and_flip(np.zeros((0, 3), dtype=int), rate=1).shape == (0,)

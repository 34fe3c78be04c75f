"""Races: intervals at their corners, every bit string at small words, forced near-ties, laws, streams of candidates."""

from collections.abc import Iterator
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.noise import race
from deniable.noise.bits import Bits, DeterministicBits
from deniable.noise.race import Noise, _Race, exponential_mechanism, permute_and_flip

from .streams import ScriptedBits, enumerate_law

KINDS: list[Noise] = ["gumbel", "exponential"]


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(60):
        yield


def noise_at(kind: Noise, uniform: mp.mpf) -> mp.mpf:
    """The noise as a function of the uniform number; both kinds fall where -ln u falls or rises, so corners suffice."""
    arrival = mp.inf if uniform == 0 else -mp.log(uniform)
    if kind == "exponential":
        return arrival
    return -mp.inf if arrival == mp.inf else mp.inf if arrival == 0 else -mp.log(arrival)


def corners(kind: Noise, word: int, width: int) -> tuple[mp.mpf, mp.mpf]:
    """The least and the largest noise of the uniform numbers that begin with this word."""
    ends = [noise_at(kind, (mp.mpf(word) + j) / mp.mpf(2) ** width) for j in (0, 1)]
    return min(ends), max(ends)


EXTREME = [0, 1, 2, 3, 2**11, 2**30, 2**53 - 1, 2**63, 2**64 - 2**12, 2**64 - 2**11, 2**64 - 3, 2**64 - 2, 2**64 - 1]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=300)
@given(word=st.integers(0, 2**64 - 1) | st.sampled_from(EXTREME))
def test_the_interval_of_a_word_holds_both_corners(kind: Noise, word: int) -> None:
    with mp.workdps(60):
        centre, below, above = (float(x[0]) for x in _Race(kind, 1, DeterministicBits(0))._noise_bounds(
            np.array([word], dtype=np.uint64)))  # fmt: skip
        low, high = corners(kind, word, 64)
        assert mp.mpf(centre) - mp.mpf(below) <= low
        assert mp.mpf(centre) + mp.mpf(above) >= high
        if 2**40 < word < 2**64 - 2**40:
            assert below < 1e-6
            assert above < 1e-6


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=200)
@given(
    words=st.lists(st.integers(0, 2**64 - 1) | st.sampled_from(EXTREME), min_size=2, max_size=2),
    scores=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=2),
    weights=st.lists(st.integers(1, 2**63 - 1), min_size=2, max_size=2),
    rate=st.fractions(Fraction(1, 10**12), 2**90, max_denominator=10**12),
)
def test_the_coarse_bound_is_above_the_score(kind: Noise, words, scores, weights, rate) -> None:
    with mp.workdps(80):
        runner = _Race(kind, rate, DeterministicBits(0))
        runner.reference = scores[0]
        coarse = runner._coarse_bounds(
            np.array(scores, dtype=np.int64), np.array(weights, dtype=np.int64), np.array(words, dtype=np.uint64)
        )
        for i in range(2):
            exact = mp.mpf(rate.numerator) / rate.denominator * (scores[i] - scores[0]) + mp.log(weights[i])
            assert mp.mpf(float(coarse[i])) >= exact + corners(kind, words[i], 64)[1]


@pytest.mark.parametrize("kind", KINDS)
def test_every_string_of_small_words_gives_the_law(kind: Noise) -> None:
    """Two candidates, words of 4 bits: each decision holds at the worst corner, and the counts enclose the law."""
    scores, rate = np.array([0, 1]), Fraction(3, 4)

    def draw(bits: Bits) -> int:
        return _Race(kind, rate, bits, width=4).run(scores, None)

    decided = 0
    for first in range(16):
        for second in range(16):
            runner = _Race(kind, rate, ScriptedBits([first, second]), width=4)
            runner._pass(0, scores, None)
            low, high = zip(corners(kind, first, 4), corners(kind, second, 4), strict=True)
            gap = mp.mpf(3) / 4
            may_win = {i for i, wins in enumerate((high[0] >= low[1] + gap, high[1] + gap >= low[0])) if wins}
            assert {c.index for c in runner.contenders} >= may_win  # nobody is dropped who might win
            decided += len(runner.contenders) == 1
    assert decided > 120
    found, still_open = enumerate_law(draw, width=4, depth=4)
    chance = law(kind, [0, 1], rate)[1]
    assert found[1] <= chance * 2**16 <= found[1] + still_open
    assert still_open < 0.1 * 2**16


def law(kind: Noise, scores: list[int], rate: Fraction, weights: list[int] | None = None) -> list[float]:
    """Exact probabilities: the soft maximum; for permute-and-flip the integral of Ding et al. by quadrature."""
    gain = [mp.mpf(rate.numerator) / rate.denominator * (s - max(scores)) for s in scores]
    if kind == "gumbel":
        mass = [mp.exp(g) * w for g, w in zip(gain, weights or [1] * len(scores), strict=True)]
        return [float(m / sum(mass)) for m in mass]
    best = []
    for i, mine in enumerate(gain):
        # P(i) = integral over t > 0 of e^-t times the product over j of P[gain_j + X_j <= gain_i + t]
        others = [g for j, g in enumerate(gain) if j != i]
        start = max([mp.mpf(0)] + [g - mine for g in others])

        def density(t: mp.mpf, others: list[mp.mpf] = others, mine: mp.mpf = mine) -> mp.mpf:
            return mp.exp(-t) * mp.fprod(1 - mp.exp(g - mine - t) for g in others)

        best.append(float(mp.quad(density, [start, start + 5, start + 20, mp.inf])))
    return best


def test_published_probability_of_permute_and_flip() -> None:
    # golden value: scores (3, 2, 0), epsilon 1, sensitivity 1
    assert law("exponential", [3, 2, 0], Fraction(1, 2))[0] == pytest.approx(0.63028135114833, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_winners_follow_the_law_and_no_other_rate(kind: Noise) -> None:
    scores, rate, weights = [3, 2, 0, -40], Fraction(1, 2), [2, 5, 1, 10**12]
    bits, runs = DeterministicBits(11), 6000
    if kind == "gumbel":
        winners = [
            exponential_mechanism(np.array(scores), rate=rate, weights=np.array(weights), bits=bits)
            for _ in range(runs)
        ]
    else:
        scores = [3, 2, 0, 1]
        winners = [permute_and_flip(np.array(scores), rate=rate, bits=bits) for _ in range(runs)]
    counts = np.bincount(winners, minlength=4)
    for factor, passes in ((Fraction(1), True), (Fraction(13, 10), False), (Fraction(7, 10), False)):
        expected = np.array(law(kind, scores, rate * factor, weights)) * runs
        statistic = ((counts - expected) ** 2 / expected).sum()
        assert (stats.chi2.sf(statistic, 3) > 1e-6) is np.bool_(passes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_near_tie_is_settled_by_appended_words(kind: Noise) -> None:
    """The second number is chosen so that the scores agree to 64 bits; its next word is set to either side."""
    first, gap = (
        (2**63 + 987654321, 5),
        mp.mpf(1) / 3,
    )  # (word, next word) of candidate 0, which scores 1 more at rate 1/3
    number = (mp.mpf(first[0]) * 2**64 + first[1] + mp.mpf(1) / 2) / mp.mpf(2) ** 128
    arrival = -mp.log(number)
    tie = arrival + gap if kind == "exponential" else arrival * mp.exp(-gap)
    word, after = divmod(int(mp.floor(mp.exp(-tie) * mp.mpf(2) ** 128)), 2**64)
    for shift, winner in ((-(2**20), {"gumbel": 0, "exponential": 1}), (2**20, {"gumbel": 1, "exponential": 0})):
        bits = ScriptedBits([first[0], word, first[1], after + shift])
        runner = _Race(kind, Fraction(1, 3), bits)
        assert runner.run(np.array([1, 0]), None) == winner[kind]
        assert bits.used == 4


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_all_zeros_or_ones_wait_for_more_words(kind: Noise) -> None:
    for word in (0, 2**64 - 1):
        bits = ScriptedBits([word, word, word, word, 5, 2**40])
        winner = _Race(kind, 1, bits).run(np.array([0, 0]), None)
        assert winner == (
            0 if kind == "exponential" else 1
        )  # the smaller number wins with -ln u, the larger with Gumbel
        assert bits.used == 6


@pytest.mark.parametrize("sizes", [[40_000], [1, 39_999], [20_000, 0, 20_000], [7] * 5714 + [2]])
def test_a_stream_of_chunks_gives_the_winner_of_the_whole(sizes: list[int]) -> None:
    scores = np.random.default_rng(3).integers(-50, 50, 40_000)
    weights = np.random.default_rng(4).integers(1, 9, 40_000)
    cuts = np.cumsum(sizes)[:-1]
    for mechanism, extra in ((exponential_mechanism, {"weights": True}), (permute_and_flip, {})):
        whole = {"weights": weights} if extra else {}
        pieces = {"weights": np.split(weights, cuts)} if extra else {}
        expected = mechanism(scores, rate=Fraction(1, 10), bits=DeterministicBits(5), **whole)
        found = mechanism(np.split(scores, cuts), rate=Fraction(1, 10), bits=DeterministicBits(5), **pieces)
        assert found == expected


def test_chunks_are_read_once_and_may_be_endless_in_memory() -> None:
    def chunks() -> Iterator[np.ndarray]:
        for start in range(100):
            yield np.arange(start * 1000, (start + 1) * 1000)

    assert exponential_mechanism(chunks(), rate=50, bits=DeterministicBits(1)) == 99_999
    assert permute_and_flip(chunks(), rate=50, bits=DeterministicBits(1)) == 99_999


@pytest.mark.parametrize("kind", KINDS)
def test_scores_at_the_ends_of_int64_do_not_overflow(kind: Noise) -> None:
    ends = np.array([-(2**63), 2**63 - 1, 0])
    assert _Race(kind, 1, DeterministicBits(1)).run(ends, None) == 1
    assert _Race(kind, Fraction(2**90), DeterministicBits(1)).run(ends[::-1].copy(), None) == 1
    large = np.array([2**63, 2**64 - 1], dtype=np.uint64)
    assert _Race(kind, 1, DeterministicBits(1)).run(large, None) == 1


def test_close_large_scores_are_told_apart() -> None:
    """2^62 and 2^62 + 1 are one float64; the odds at rate 3 are e^3 to 1."""
    scores, bits = np.array([2**62, 2**62 + 1]), DeterministicBits(2)
    wins = sum(exponential_mechanism(scores, rate=3, bits=bits) for _ in range(300))
    assert 270 <= wins <= 298  # mean 285.8, deviation 3.7


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (np.array([1.0, 2.0]), "scores must be one-dimensional integer arrays, got 1-d float64"),
        (np.zeros((2, 2), dtype=int), "scores must be one-dimensional integer arrays, got 2-d int64"),
        (np.array([True]), "got 1-d bool"),
        ([1, 2], "scores must be one-dimensional integer arrays, got int"),
        (np.array([], dtype=int), "scores must hold at least one candidate"),
        ([], "scores must hold at least one candidate"),
    ],
)
def test_wrong_scores_are_refused(scores: object, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        permute_and_flip(scores, rate=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("weights", [np.array([1, 0]), np.array([1, -1]), np.array([1]), [], np.array([0.5, 0.5])])
def test_wrong_weights_are_refused(weights: object) -> None:
    with pytest.raises(InvalidParameterError, match="weights must"):
        exponential_mechanism(np.array([1, 2]), rate=1, weights=weights)  # type: ignore[arg-type]


@pytest.mark.parametrize("rate", [0, -1, 0.5, True, 2**101])
def test_wrong_rate_is_refused(rate: object) -> None:
    with pytest.raises(InvalidParameterError, match="rate must be"):
        exponential_mechanism(np.array([1, 2]), rate=rate)  # type: ignore[arg-type]


def test_blocks_are_smaller_than_a_long_chunk() -> None:
    assert race._BLOCK < 40_000  # so that the test of chunks crosses blocks

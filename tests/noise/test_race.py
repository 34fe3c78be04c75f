"""Races: every bit string at small words, forced near-ties, laws, streams of candidates, nobody passed over."""

from collections.abc import Iterator
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.noise import contest, race, races
from deniable.noise.bits import Bits, DeterministicBits
from deniable.noise.contest import Noise
from deniable.noise.race import _Race, exponential_mechanism, noisy_max, permute_and_flip
from tests.noise.streams import ScriptedBits, enumerate_law
from tests.noise.test_contest import KINDS, corners

ONE_SIDED: list[Noise] = ["gumbel", "exponential"]


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(60):
        yield


@pytest.mark.parametrize("kind", KINDS)
def test_every_string_of_small_words_gives_the_law(kind: Noise) -> None:
    """Two candidates, words of 4 bits: each decision holds at the worst corner, and the counts enclose the law."""
    scores, rate = np.array([0, 1]), Fraction(3, 4)

    def draw(bits: Bits) -> int:
        return _Race(kind, rate, bits, width=3).run(scores, None)[0]

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
    assert decided > (70 if kind == "laplace" else 120)
    found, still_open = enumerate_law(draw, width=3, depth=4)
    chance = law(kind, [0, 1], rate)[1]
    assert found[1] <= chance * 2**12 <= found[1] + still_open
    assert still_open < 0.3 * 2**12


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_who_may_win_is_dropped_however_candidates_are_cut(kind: Noise, monkeypatch) -> None:
    """Three candidates, all strings of 3-bit words, one block or three: the true winner is always kept."""
    monkeypatch.setattr(race, "_SMALL_RACE", 0)
    scores, rate, weights = np.array([0, 2, 1]), Fraction(2, 3), np.array([3, 1, 2])
    base = [mp.mpf(2) / 3 * int(s) + mp.log(int(w)) for s, w in zip(scores, weights, strict=True)]
    limits = [corners(kind, word, 3) for word in range(8)]
    dropped = 0
    for code in range(8**3):
        words = [code // 64, code // 8 % 8, code % 8]
        low, high = zip(*[[b + end for end in limits[word]] for b, word in zip(base, words, strict=True)], strict=True)
        may_win = {i for i in range(3) if all(high[i] >= low[j] for j in range(3))}
        for block in (1, 3):
            runner = _Race(kind, rate, ScriptedBits(words), width=3)
            runner.reference = 2
            for start in range(0, 3, block):
                runner._pass(start, scores[start : start + block], weights[start : start + block])
            assert {c.index for c in runner.contenders} >= may_win
            dropped += 3 - len(runner.contenders)
    assert dropped > 400


def law(kind: Noise, scores: list[int], rate: Fraction, weights: list[int] | None = None) -> list[float]:
    """Exact probabilities: the soft maximum; else the integral of Ding et al., density times distribution functions."""
    gain = [mp.mpf(rate.numerator) / rate.denominator * (s - max(scores)) for s in scores]
    if kind == "gumbel":
        mass = [mp.exp(g) * w for g, w in zip(gain, weights or [1] * len(scores), strict=True)]
        return [float(m / sum(mass)) for m in mass]

    def below(x: mp.mpf) -> mp.mpf:
        """P[noise <= x]"""
        if kind == "exponential":
            return 1 - mp.exp(-x) if x > 0 else mp.mpf(0)
        return 1 - mp.exp(-x) / 2 if x > 0 else mp.exp(x) / 2

    def density(x: mp.mpf) -> mp.mpf:
        return (mp.exp(-abs(x)) / (2 if kind == "laplace" else 1)) if kind == "laplace" or x >= 0 else mp.mpf(0)

    kinks = [g for g in sorted(set(gain)) if kind == "laplace" or g == 0]
    cuts = ([-80, -20, *kinks, 20, 80]) if kind == "laplace" else [*kinks, 5, 20, 80]
    best = []
    for i, mine in enumerate(gain):
        others = [g for j, g in enumerate(gain) if j != i]

        def at(x: mp.mpf, others: list[mp.mpf] = others, mine: mp.mpf = mine) -> mp.mpf:
            return density(x - mine) * mp.fprod(below(x - g) for g in others)

        with mp.workdps(16):
            best.append(float(mp.quad(at, cuts)))
    return best


def test_published_probability_of_permute_and_flip() -> None:
    # golden value: scores (3, 2, 0), epsilon 1, sensitivity 1
    assert law("exponential", [3, 2, 0], Fraction(1, 2))[0] == pytest.approx(0.63028135114833, abs=1e-12)


def test_laws_of_the_second_route_sum_to_one() -> None:
    for kind in KINDS:
        assert sum(law(kind, [3, 2, 0, 1], Fraction(1, 2))) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_winners_follow_the_law_and_no_other_rate(kind: Noise) -> None:
    """Chi-square with 3,000 races; a correct race fails for one seed in a million."""
    scores, rate, weights = [3, 2, 0, 1], Fraction(1, 2), None
    bits, runs = DeterministicBits(11), 3000
    if kind == "gumbel":
        scores, weights = [3, 2, 0, -40, 9], [2, 5, 1, 10**12, 0]
        winners = [
            exponential_mechanism(np.array(scores), rate=rate, weights=np.array(weights), bits=bits)
            for _ in range(runs)
        ]
        assert 4 not in winners  # its weight is 0
        scores, weights = scores[:4], weights[:4]
    else:
        run = permute_and_flip if kind == "exponential" else noisy_max
        winners = [run(np.array(scores), rate=rate, bits=bits) for _ in range(runs)]
    counts = np.bincount(winners, minlength=4)
    for factor, passes in ((Fraction(1), True), (Fraction(14, 10), False), (Fraction(6, 10), False)):
        expected = np.array(law(kind, scores, rate * factor, weights)) * runs
        statistic = ((counts - expected) ** 2 / expected).sum()
        assert (stats.chi2.sf(statistic, 3) > 1e-6) is np.bool_(passes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 3, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_nobody_who_would_win_is_passed_over(kind: Noise, count: int, weighted: bool, monkeypatch) -> None:
    """Against the race that looks at every candidate, on the same words; small blocks, so that most are skipped."""
    monkeypatch.setattr(race, "_CANDIDATES_PER_BLOCK", 256)
    monkeypatch.setattr(race, "_SMALL_RACE", 8)
    for seed in range(12):
        generator = np.random.default_rng(seed)
        scores = generator.integers(-30, 1, 3000) * int(generator.choice([0, 1, 40]))
        weights = generator.integers(0, 2, 3000) * generator.integers(1, 2**62, 3000) if weighted else None
        found = race.top(
            scores, count=count, rate=Fraction(1, 7), noise=kind, weights=weights, bits=DeterministicBits(seed)
        )
        table = None if weights is None else weights[None]
        expected = races.top(
            scores[None], count=count, rate=Fraction(1, 7), noise=kind, weights=table, bits=DeterministicBits(seed)
        )
        assert found.tolist() == expected[0].tolist()


@pytest.mark.parametrize("kind", ["exponential", "laplace"])
def test_coarse_bounds_are_above_scores_that_no_float_holds(kind: Noise) -> None:
    """Words where the coarse noise is exact, and scores that floats round down: the margin alone keeps the bound above.

    The float sum of the other terms, which is the bound less its margin, is the twin that fails.
    """
    rate, width = Fraction(3, 7), 64 if kind == "exponential" else 63
    runner = _Race(kind, rate, DeterministicBits(0))
    scores = np.array([2**62 - 2**k - 3 for k in range(2, 40)])
    words = np.full(len(scores), 1 << 40, dtype=np.uint64)
    found = runner._coarse_bounds(scores, None, words)
    margin = contest.margin(float(rate), float(scores.max()))
    noise = (width - 40) * mp.log(2)
    truth = [mp.mpf(rate.numerator) * int(score) / rate.denominator + noise for score in scores]
    assert all(bound >= true for bound, true in zip(found.tolist(), truth, strict=True))
    assert any(bound - margin < true for bound, true in zip(found.tolist(), truth, strict=True))


@pytest.mark.parametrize("kind", ONE_SIDED)
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
        assert runner.run(np.array([1, 0]), None) == [winner[kind]]
        assert bits.used == 4


@pytest.mark.parametrize("kind", ONE_SIDED)
def test_numbers_of_all_zeros_or_ones_wait_for_more_words(kind: Noise) -> None:
    for word in (0, 2**64 - 1):
        bits = ScriptedBits([word, word, word, word, 5, 2**40])
        winner = _Race(kind, 1, bits).run(np.array([0, 0]), None)[0]
        assert winner == (
            0 if kind == "exponential" else 1
        )  # the smaller number wins with -ln u, the larger with Gumbel
        assert bits.used == 6


@pytest.mark.parametrize("sizes", [[40_000], [1, 39_999], [20_000, 0, 20_000], [17] * 2352 + [16]])
def test_a_stream_of_chunks_gives_the_winner_of_the_whole(sizes: list[int], monkeypatch) -> None:
    monkeypatch.setattr(race, "_CANDIDATES_PER_BLOCK", 1 << 14)
    scores = np.random.default_rng(3).integers(-50, 50, 40_000)
    weights = np.random.default_rng(4).integers(1, 2**40, 40_000)
    cuts = np.cumsum(sizes)[:-1]
    for mechanism, extra in ((exponential_mechanism, {"weights": True}), (permute_and_flip, {})):
        whole = {"weights": weights} if extra else {}
        pieces = {"weights": np.split(weights, cuts) if len(sizes) < 4 else weights} if extra else {}
        expected = mechanism(scores, rate=Fraction(1, 10), bits=DeterministicBits(5), **whole)
        found = mechanism(np.split(scores, cuts), rate=Fraction(1, 10), bits=DeterministicBits(5), **pieces)
        assert found == expected


def test_every_piece_has_its_own_part_of_the_weights() -> None:
    """The only candidate with a weight wins, in whichever piece it stands."""
    for place, weights in enumerate(np.eye(6, dtype=np.int64)):
        pieces = np.split(np.zeros(6, dtype=np.int64), [1, 3, 3])
        assert exponential_mechanism(iter(pieces), rate=1, weights=weights, bits=DeterministicBits(1)) == place


def noise_of(kind: Noise, word: int) -> mp.mpf:
    """At the middle of the word's cell."""
    low, high = corners(kind, word, 64)
    return (low + high) / 2


@pytest.mark.parametrize("trial", range(48))
def test_the_first_few_are_those_in_fifty_digits(trial: int, monkeypatch) -> None:
    """Scores, rates and weights of all sizes; both kinds of race, on the same words."""
    monkeypatch.setattr(race, "_CANDIDATES_PER_BLOCK", 64)
    monkeypatch.setattr(race, "_SMALL_RACE", 4)
    generator, kind = np.random.default_rng(trial), KINDS[trial % 3]
    size, scale = int(generator.integers(1, 300)), int(generator.choice([0, 1, 50, 2**40, 2**62]))
    scores = generator.integers(-scale, scale + 1, size)
    rate = Fraction(int(generator.integers(1, 1000)), int(generator.choice([1, 100, 10**6, 2**40, 2**62])))
    weights = generator.integers(0, 3, size) * generator.integers(1, 2 ** int(generator.integers(1, 62)), size)
    weights[0] = max(weights[0], 1)
    count = int(min(generator.integers(1, 6), (weights > 0).sum()))
    words, best = DeterministicBits(trial).words(size), int(scores.max())
    noisy = [
        (mp.mpf(rate.numerator) / rate.denominator * (int(s) - best) + mp.log(int(w)) + noise_of(kind, int(word)), i)
        for i, (s, w, word) in enumerate(zip(scores, weights, words, strict=True))
        if w
    ]
    expected = [i for _, i in sorted(noisy, reverse=True)[:count]]
    found = race.top(scores, count=count, rate=rate, noise=kind, weights=weights, bits=DeterministicBits(trial))
    assert found.tolist() == expected
    bits = DeterministicBits(trial)
    many = races.top(scores[None], count=count, rate=rate, noise=kind, weights=weights[None], bits=bits)
    assert many[0].tolist() == expected


def test_chunks_are_read_once_and_may_be_endless_in_memory() -> None:
    def chunks() -> Iterator[np.ndarray]:
        for start in range(100):
            yield np.arange(start * 1000, (start + 1) * 1000)

    assert exponential_mechanism(chunks(), rate=50, bits=DeterministicBits(1)) == 99_999
    assert permute_and_flip(chunks(), rate=50, bits=DeterministicBits(1)) == 99_999


@pytest.mark.parametrize("kind", KINDS)
def test_scores_at_the_ends_of_int64_do_not_overflow(kind: Noise) -> None:
    ends = np.array([-(2**63), 2**63 - 1, 0])
    assert _Race(kind, 1, DeterministicBits(1)).run(ends, None) == [1]
    assert _Race(kind, Fraction(2**90), DeterministicBits(1)).run(ends[::-1].copy(), None) == [1]
    large = np.array([2**63, 2**64 - 1], dtype=np.uint64)
    assert _Race(kind, 1, DeterministicBits(1)).run(large, None) == [1]


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


@pytest.mark.parametrize("weights", [np.array([1, -1]), np.array([1]), [], np.array([0.5, 0.5])])
def test_wrong_weights_are_refused(weights: object) -> None:
    with pytest.raises(InvalidParameterError, match="weights must"):
        exponential_mechanism(np.array([1, 2]), rate=1, weights=weights)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_wrong_counts_are_refused(count: object) -> None:
    with pytest.raises(InvalidParameterError, match="count must be an int >= 1"):
        race.top(np.array([1, 2]), count=count, rate=1)  # type: ignore[arg-type]


def test_weights_of_zero_alone_choose_nobody() -> None:
    with pytest.raises(InvalidParameterError, match="at least one candidate of positive weight"):
        exponential_mechanism(np.array([1, 2]), rate=1, weights=np.array([0, 0]))
    with pytest.raises(InvalidParameterError, match="at least 2 candidates of positive weight"):
        race.top(np.array([1, 2]), count=2, rate=1, weights=np.array([0, 3]))
    first = np.repeat([0, 1], 40_000)  # the first block holds nobody
    assert (
        exponential_mechanism(np.zeros(80_000, dtype=int), rate=1, weights=first, bits=DeterministicBits(1)) >= 40_000
    )


@pytest.mark.parametrize("rate", [0, -1, 0.5, True, 2**101])
def test_wrong_rate_is_refused(rate: object) -> None:
    with pytest.raises(InvalidParameterError, match="rate must be"):
        exponential_mechanism(np.array([1, 2]), rate=rate)  # type: ignore[arg-type]

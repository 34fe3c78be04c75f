"""Twisters: known streams, textbook noise that comes off, and ours, which does not."""

import random

import numpy as np
import pytest

from deniable.attacks.implementation import (
    MT19937,
    MT19937_64,
    Twister,
    laplace_of_words,
    predict_words,
    recover_seed,
    recover_state,
)
from deniable.errors import InvalidParameterError
from deniable.noise.bits import SECURE, DeterministicBits
from tests.attacks.implementation.ours import database

SCALE = 8.0
COUNTS = np.random.default_rng(5).integers(0, 500, size=12)


def laplace(words: np.ndarray) -> np.ndarray:
    return laplace_of_words(words, scale=SCALE)


def word_noise(words: np.ndarray) -> np.ndarray:
    """Uniform noise of one 32-bit word a draw: a textbook that publishes its generator."""
    return np.asarray((words - 2.0**31) / 2.0**24)


def test_known_streams() -> None:
    """The C++ standard states the 10,000th outputs of std::mt19937 and std::mt19937_64 with the seed 5489."""
    assert MT19937.from_seeds(np.array([5489], dtype=np.uint64), 10_000)[0, -1] == 4_123_659_995
    assert MT19937_64.from_seeds(np.array([5489], dtype=np.uint64), 10_000)[0, -1] == 9_981_545_732_273_789_042


@pytest.mark.parametrize("twister", [MT19937, MT19937_64])
def test_tempering_is_undone(twister: Twister) -> None:
    words = SECURE.words(200) >> np.uint64(64 - twister.bits)
    assert (twister.untemper(twister.temper(words)) == words).all()
    assert (twister.temper(twister.untemper(words)) == words).all()


def test_the_words_after_624_are_those_of_python_and_numpy() -> None:
    ours, theirs = random.Random(8), np.random.RandomState(8)
    for told in ([ours.getrandbits(32) for _ in range(2000)], theirs.randint(0, 2**32, size=2000, dtype=np.uint32)):
        assert predict_words(told[:700], 1300).tolist() == list(told[700:])


def test_errata_e56_312_words_of_64_bits_are_enough() -> None:
    told = MT19937_64.from_seeds(np.array([77], dtype=np.uint64), 900)[0]
    assert (predict_words(told[:312], 588, twister=MT19937_64) == told[312:]).all()
    with pytest.raises(InvalidParameterError, match="at least 312 words, got 311"):
        predict_words(told[:311], 1, twister=MT19937_64)


def test_words_of_the_operating_system_are_not_predicted() -> None:
    """A false alarm has probability 100 / 2^32."""
    told = SECURE.words(800) >> np.uint64(32)
    assert not (predict_words(told[:700], 100) == told[700:]).any()


def test_errata_e56_brute_force_of_the_seed_takes_the_noise_off() -> None:
    """Counts, of which none is known: the noise of the right seed leaves whole numbers."""
    answers = COUNTS + np.random.RandomState(9001).laplace(scale=SCALE, size=12)
    result = recover_seed(answers, noise=laplace, seeds=1 << 14)
    assert result.facts is not None
    assert result.facts["seed"] == 9001
    assert result.learned is not None
    assert result.learned.tolist() == COUNTS[6:].tolist()
    assert result.succeeded


def test_whole_noise_comes_off_where_some_truths_are_known() -> None:
    """std::mt19937_64 with one word of seed and rounded noise: half of the counts are known, the others follow."""

    def rounded(words: np.ndarray) -> np.ndarray:
        return np.rint(50 * np.log((words + 0.5) / 2.0**64))

    stream = MT19937_64.from_seeds(np.array([3210], dtype=np.uint64), 12)
    answers = COUNTS + rounded(stream)[0]
    result = recover_seed(answers, noise=rounded, exact=COUNTS, words=1, seeds=1 << 12, twister=MT19937_64)
    assert result.success.value == 1
    with pytest.raises(InvalidParameterError, match="exact must be given"):
        recover_seed(answers, noise=rounded, words=1, seeds=1, twister=MT19937_64)


def test_a_seed_outside_the_space_is_not_found() -> None:
    answers = COUNTS + np.random.RandomState(5000).laplace(scale=SCALE, size=12)
    result = recover_seed(answers, noise=laplace, seeds=5000)
    assert (result.success.right, result.facts and result.facts["seed"]) == (0, "none fits")


def test_answers_about_nobody_give_the_state_and_all_further_noise() -> None:
    generator = np.random.RandomState(123_456_789)
    noise = word_noise(generator.randint(0, 2**32, size=636, dtype=np.uint32))
    answers = np.concatenate([np.zeros(624), COUNTS]) + noise
    taken = {"word": lambda drawn: np.rint(drawn * 2**24 + 2**31).astype(np.uint64), "noise": word_noise}
    result = recover_state(answers, known=np.zeros(624), exact=COUNTS, **taken)  # type: ignore[arg-type]
    assert result.success.value == 1
    assert result.succeeded
    with pytest.raises(InvalidParameterError, match="none is left"):
        recover_state(answers[:624], known=np.zeros(624), **taken)  # type: ignore[arg-type]


def test_no_seed_explains_our_answers() -> None:
    """Counts by our SQL, with the truth known: no seed of either twister explains half of 300 answers."""
    db = database(1)
    db._bits = DeterministicBits(1)
    answers = np.asarray(db.sql('SELECT "group", COUNT(*) AS n FROM people GROUP BY "group"', epsilon=0.1)["n"])
    for words, twister in ((2, MT19937), (1, MT19937_64)):

        def noise(drawn: np.ndarray, words: int = words) -> np.ndarray:
            return np.rint(laplace_of_words(drawn, scale=10) if words == 2 else 10 * np.log((drawn + 0.5) / 2.0**64))

        result = recover_seed(answers[:20], noise=noise, exact=np.ones(20), words=words, seeds=1 << 12, twister=twister)
        assert not result.succeeded


@pytest.mark.parametrize(("answers", "seeds"), [([1, 2, 3], 10), ([1] * 4, 0), ([1] * 4, 2**33)])
def test_too_little_to_search_is_refused(answers: list[float], seeds: int) -> None:
    with pytest.raises(InvalidParameterError, match=r"at least 4 numbers|seeds must"):
        recover_seed(answers, noise=laplace, seeds=seeds)
    with pytest.raises(InvalidParameterError, match="one value for each"):
        recover_seed([1, 2, 3, 4], noise=laplace, exact=[1])

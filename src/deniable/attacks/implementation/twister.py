"""Recovery of a Mersenne Twister from its noise, by seeds or by its state.

One word of seed gives at most 2^32 streams of noise. The state is linear in the outputs: as many consecutive whole
words as it holds reveal all that follow.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.attacks.implementation.support import LAPLACE
from deniable.attacks.numbers import Floats, Words, read_numbers, real, whole
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

NoiseOfWords = Callable[[Words], Floats]
_SEEDS_AT_ONCE = 1 << 13  # whose states take 13 MB
_TOLERANCE = 1e-6  # within which a remainder is the exact value


@dataclass(frozen=True, kw_only=True)
class Twister:
    """Constants of a Mersenne Twister, in the letters of Matsumoto and Nishimura.

    Args:
        bits, words, middle: w, n and m.
        twist: a.
        seeding: f.
        shifts: (u, s, t, l).
        masks: (d, b, c).

    >>> from deniable.attacks.implementation import MT19937
    >>> MT19937.from_seeds(np.array([5489], dtype=np.uint64), 1)
    array([[3499211612]], dtype=uint64)
    """

    bits: int
    words: int
    middle: int
    twist: int
    seeding: int
    shifts: tuple[int, int, int, int]
    masks: tuple[int, int, int]

    def temper(self, state: Words) -> Words:
        """Return the outputs of words of the state.

        Args:
            state: words of any shape.
        """
        u, s, t, last = map(np.uint64, self.shifts)
        d, b, c = map(np.uint64, self.masks)
        state = state ^ ((state >> u) & d)
        state = state ^ ((state << s) & b)
        state = state ^ ((state << t) & c)
        return state ^ (state >> last)

    def untemper(self, outputs: Words) -> Words:
        """Return the words of the state from outputs.

        Each step is undone by repeating it until all bits have arrived.

        Args:
            outputs: words of any shape.
        """
        u, s, t, last = map(np.uint64, self.shifts)
        d, b, c = map(np.uint64, self.masks)
        everything = np.uint64((1 << self.bits) - 1)
        state = outputs
        for shift, mask, left in ((last, everything, False), (t, c, True), (s, b, True), (u, d, False)):
            target = state
            for _ in range(self.bits // int(shift)):
                state = target ^ (((state << shift) if left else (state >> shift)) & mask)
        return state

    def extend(self, state: Words, count: int) -> Words:
        """Return the words that follow a state, shape (count, streams).

        Args:
            state: shape (words, streams).
            count: number of words.
        """
        x = np.concatenate([state, np.empty((count, state.shape[1]), dtype=np.uint64)])
        for start in range(0, count, self.words - self.middle):
            stop = min(start + self.words - self.middle, count)
            far = x[start + self.middle : stop + self.middle]
            x[start + self.words : stop + self.words] = self._twist(x[start:stop], x[start + 1 : stop + 1], far)
        return x[self.words :]

    def _twist(self, old: Words, following: Words, far: Words) -> Words:
        """Return the next words of the state."""
        upper = np.uint64((1 << self.bits) - (1 << 31))
        lower = np.uint64((1 << 31) - 1)
        one = np.uint64(1)
        mixed = (old & upper) | (following & lower)
        return np.asarray(far ^ (mixed >> one) ^ ((mixed & one) * np.uint64(self.twist)))

    def from_seeds(self, seeds: Words, count: int) -> Words:
        """Return the first outputs of every seed, shape (seeds, count).

        They are those of std::mt19937 and numpy's RandomState.

        Args:
            seeds: shape (seeds,).
            count: number of outputs of each seed.
        """
        rows = min(self.middle + count, self.words)  # few outputs do not need the state to its end
        state = np.empty((rows, len(seeds)), dtype=np.uint32 if self.bits == 32 else np.uint64)
        state[0] = seeds
        multiplier = state.dtype.type(self.seeding)
        shift = state.dtype.type(self.bits - 2)
        for index in range(1, rows):
            before = state[index - 1]
            state[index] = multiplier * (before ^ (before >> shift)) + state.dtype.type(index)
        if count > self.words - self.middle:
            return self.temper(self.extend(state.astype(np.uint64), count)).T
        first = state[: count + 1].astype(np.uint64)
        far = state[self.middle :].astype(np.uint64)
        return self.temper(self._twist(first[:-1], first[1:], far)).T


MT19937 = Twister(
    bits=32, words=624, middle=397, twist=0x9908B0DF, seeding=1_812_433_253,
    shifts=(11, 7, 15, 18), masks=(0xFFFFFFFF, 0x9D2C5680, 0xEFC60000),
)  # fmt: skip
MT19937_64 = Twister(
    bits=64, words=312, middle=156, twist=0xB5026F5AA96619E9, seeding=6_364_136_223_846_793_005,
    shifts=(29, 17, 37, 43), masks=(0x5555555555555555, 0x71D67FFFEDA60000, 0xFFF7EEE000000000),
)  # fmt: skip


def laplace_of_words(words: Words, *, scale: float) -> NDArray[np.float64]:
    """Return the Laplace noise that numpy's RandomState makes of 32-bit words.

    Args:
        words: shape (streams, 2 * draws).
        scale: of the noise, > 0.

    Returns: shape (streams, draws).

    >>> twister = np.random.RandomState(7)
    >>> bool(np.allclose(laplace_of_words(MT19937.from_seeds(np.array([7], "u8"), 2), scale=3), twister.laplace(0, 3)))
    True
    """
    if not 0 < real("scale", scale) < np.inf:
        raise InvalidParameterError(f"scale must be > 0 and finite, got {scale}")
    high = words[:, 0::2] >> 5
    low = words[:, 1::2] >> 6
    return scale * LAPLACE.draw((high * np.float64(1 << 26) + low) / 2.0**53)


def predict_words(outputs: ArrayLike, count: int, *, twister: Twister = MT19937) -> Words:
    """Predict the next `count` words of a Mersenne Twister.

    Args:
        outputs: at least as many consecutive whole words as its state holds: 624 of 32 bits, or 312 of 64.
        count: number of words to predict.
        twister: constants of the generator.

    >>> published = np.random.RandomState(1).randint(0, 2**32, size=700, dtype=np.uint32)
    >>> bool((predict_words(published[:624], 76) == published[624:]).all())
    True
    """
    seen = np.asarray(outputs, dtype=np.uint64).ravel()
    if len(seen) < twister.words:
        raise InvalidParameterError(f"outputs must hold at least {twister.words} words, got {len(seen)}")
    state = twister.untemper(seen[-twister.words :, None])
    return twister.temper(twister.extend(state, whole("count", count, lower=0)))[:, 0]


def recover_state(
    answers: ArrayLike,
    *,
    known: ArrayLike,
    word: Callable[[Floats], Words],
    noise: NoiseOfWords,
    exact: ArrayLike | None = None,
    twister: Twister = MT19937,
) -> AttackResult:
    """Remove the noise from answers, by the state of the generator.

    It takes as many answers with a known truth as the state has words.

    Args:
        answers: published in order, one word of the generator each, shape (answers,).
        known: true values of the first ones, at least 624 (312 of 64 bits): such as counts of nobody, which are 0.
        word: noise -> the word that made it.
        noise: words, shape (1, draws) -> the noise that they make.
        exact: true values of the further answers, to judge the attack; None for counts, which are whole once the noise
            is removed.
        twister: constants of the generator.

    >>> drawn = np.random.RandomState(3).randint(0, 2**32, size=626, dtype=np.uint32) / 2.0**16  # noise
    >>> answers = drawn + np.r_[np.zeros(624), 31, 41]
    >>> to_word = lambda noise: (noise * 2**16).astype(np.uint64)
    >>> recover_state(answers, known=np.zeros(624), word=to_word, noise=lambda words: words / 2.0**16).learned
    array([31., 41.])
    """
    published = read_numbers("answers", answers, dimensions=1)
    start = read_numbers("known", known, dimensions=1)
    if len(start) >= len(published):
        raise InvalidParameterError(
            f"answers must hold more than the {len(start)} known ones, got {len(published)}: none is left to predict"
        )
    words = word(published[: len(start)] - start)
    expected = noise(predict_words(words, len(published) - len(start), twister=twister)[None, :])[0]
    return _result("State of the generator", published[len(start) :] - expected, exact, {"answers known": len(start)})


def recover_seed(
    answers: ArrayLike,
    *,
    noise: NoiseOfWords,
    exact: ArrayLike | None = None,
    words: int = 2,
    seeds: int = 1 << 16,
    twister: Twister = MT19937,
) -> AttackResult:
    """Remove the noise from answers, by a search for the seed.

    The seed explains the first half of the answers; its noise is removed from the others.

    Args:
        answers: published in order, from the first that the generator made, shape (answers,).
        noise: words, shape (streams, words * draws) -> noise, shape (streams, draws); see `laplace_of_words`.
        exact: true values, shape (answers,): the search uses the first half, the score the second; None for counts,
            which are whole once the noise of the right seed is removed.
        words: number of words that one draw takes.
        seeds: number of seeds tried, from 0 up; all 32-bit seeds are 2^32.
        twister: constants of the generator.

    Source: Garfinkel and Leclerc (2020), arXiv:2009.03777, on why noise needs a generator for cryptography.

    >>> counts = np.array([31, 4, 15, 92, 65, 35]) + np.random.RandomState(211).laplace(scale=8, size=6)
    >>> recover_seed(counts, noise=lambda words: laplace_of_words(words, scale=8), seeds=1 << 9).learned
    array([92., 65., 35.])
    """
    published = read_numbers("answers", answers, dimensions=1)
    truth = None if exact is None else read_numbers("exact", exact, dimensions=1)
    if truth is not None and len(truth) != len(published):
        raise InvalidParameterError(f"exact must hold one value for each of {len(published)} answers, got {len(truth)}")
    whole("seeds", seeds, upper=1 << 32)
    whole("words", words)
    if len(published) < 4:
        raise InvalidParameterError(f"answers must hold at least 4 numbers, got {len(published)}")
    fit = len(published) // 2
    for start in range(0, seeds, _SEEDS_AT_ONCE):
        tried = np.arange(start, min(start + _SEEDS_AT_ONCE, seeds), dtype=np.uint64)
        made = noise(twister.from_seeds(tried, words * fit))
        if truth is None and (made == np.rint(made)).all():
            raise InvalidParameterError("exact must be given where noise and truth are both whole numbers")
        fits = _whole(published[:fit] - made, None if truth is None else truth[:fit]).all(axis=1)
        if fits.any():
            seed = tried[fits][:1]
            rest = noise(twister.from_seeds(seed, words * len(published)))[0, fit:]
            facts = {"seed": int(seed[0]), "seeds tried": start + len(tried)}
            return _result("Seed search", published[fit:] - rest, None if truth is None else truth[fit:], facts)
    nothing = np.full(len(published) - fit, np.nan)
    return _result("Seed search", nothing, None, {"seed": "none fits", "seeds tried": seeds})


def _whole(left: Floats, exact: ArrayLike | None) -> NDArray[np.bool_]:
    """Whether each remainder is the exact value, or whole."""
    truth = np.rint(left) if exact is None else read_numbers("exact", exact, dimensions=1)
    return np.asarray(np.abs(left - truth) < _TOLERANCE)


def _result(attack: str, left: Floats, exact: ArrayLike | None, facts: Mapping[str, object]) -> AttackResult:
    """Judge the values that are left once the noise is removed."""
    right = _whole(left, exact)
    return AttackResult(
        attack=attack,
        target="exact value behind a noisy answer",
        success=Share(right=int(right.sum()), attempts=len(left)),
        baseline=2 * _TOLERANCE,
        guess="removing the noise of another stream",
        sees="",
        learned=np.round(left, 6),
        facts=facts,
    )

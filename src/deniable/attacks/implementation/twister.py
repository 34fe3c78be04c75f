"""Recovery of a Mersenne Twister from the noise that it made: by trying seeds, or from one state of outputs.

One word of seed gives at most 2^32 streams of noise. The state is linear in the outputs: as many consecutive whole
words as it holds tell all that follow.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.attacks.implementation.support import LAPLACE
from deniable.attacks.numbers import Floats, Words, read_numbers, real, whole
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

Noise = Callable[[Words], Floats]
_BLOCK = 1 << 13  # seeds at once: their states take 13 MB
_EXACT = 1e-6


@dataclass(frozen=True, kw_only=True)
class Twister:
    """Constants of one Mersenne Twister: w, n, m, a, f, (u, s, t, l) and (d, b, c) of Matsumoto and Nishimura."""

    bits: int
    words: int
    middle: int
    twist: int
    seeding: int
    shifts: tuple[int, int, int, int]
    masks: tuple[int, int, int]

    def temper(self, state: Words) -> Words:
        """Words of the state as the generator gives them out."""
        (u, s, t, last), (d, b, c) = map(np.uint64, self.shifts), map(np.uint64, self.masks)
        state = state ^ ((state >> u) & d)
        state = state ^ ((state << s) & b)
        state = state ^ ((state << t) & c)
        return state ^ (state >> last)

    def untemper(self, outputs: Words) -> Words:
        """Words of the state from outputs. Each step is undone by itself, repeated until all bits have arrived."""
        (u, s, t, last), (d, b, c) = map(np.uint64, self.shifts), map(np.uint64, self.masks)
        everything, state = np.uint64((1 << self.bits) - 1), outputs
        for shift, mask, left in ((last, everything, False), (t, c, True), (s, b, True), (u, d, False)):
            target = state
            for _ in range(self.bits // int(shift)):
                state = target ^ (((state << shift) if left else (state >> shift)) & mask)
        return state

    def extend(self, state: Words, count: int) -> Words:
        """State that follows a state of shape (words, streams), shape (count, streams), in blocks of known inputs."""
        x = np.concatenate([state, np.empty((count, state.shape[1]), dtype=np.uint64)])
        for start in range(0, count, self.words - self.middle):
            stop = min(start + self.words - self.middle, count)
            far = x[start + self.middle : stop + self.middle]
            x[start + self.words : stop + self.words] = self._twist(x[start:stop], x[start + 1 : stop + 1], far)
        return x[self.words :]

    def _twist(self, old: Words, following: Words, far: Words) -> Words:
        upper, lower, one = np.uint64((1 << self.bits) - (1 << 31)), np.uint64((1 << 31) - 1), np.uint64(1)
        mixed = (old & upper) | (following & lower)
        return np.asarray(far ^ (mixed >> one) ^ ((mixed & one) * np.uint64(self.twist)))

    def from_seeds(self, seeds: Words, count: int) -> Words:
        """First outputs of every seed, shape (seeds, count), as std::mt19937 and numpy's RandomState give them."""
        rows = min(self.middle + count, self.words)  # few outputs do not need the state to its end
        state = np.empty((rows, len(seeds)), dtype=np.uint32 if self.bits == 32 else np.uint64)
        state[0] = seeds
        multiplier, shift = state.dtype.type(self.seeding), state.dtype.type(self.bits - 2)
        for place in range(1, rows):
            before = state[place - 1]
            state[place] = multiplier * (before ^ (before >> shift)) + state.dtype.type(place)
        if count > self.words - self.middle:
            return self.temper(self.extend(state.astype(np.uint64), count)).T
        first, far = state[: count + 1].astype(np.uint64), state[self.middle :].astype(np.uint64)
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
    """Laplace noise of a scale > 0 that numpy's RandomState makes of 32-bit words, shape (streams, 2 * draws).

    >>> twister = np.random.RandomState(7)
    >>> bool(np.allclose(laplace_of_words(MT19937.from_seeds(np.array([7], "u8"), 2), scale=3), twister.laplace(0, 3)))
    True
    """
    if not 0 < real("scale", scale) < np.inf:
        raise InvalidParameterError(f"scale must be > 0 and finite, got {scale}")
    high, low = words[:, 0::2] >> 5, words[:, 1::2] >> 6
    return scale * LAPLACE.draw((high * np.float64(1 << 26) + low) / 2.0**53)


def predict_words(outputs: ArrayLike, count: int, *, twister: Twister = MT19937) -> Words:
    """Predict the next `count` words of a Mersenne Twister.

    Args:
        outputs: at least as many consecutive whole words as its state holds: 624 of 32 bits, or 312 of 64.

    >>> told = np.random.RandomState(1).randint(0, 2**32, size=700, dtype=np.uint32)
    >>> bool((predict_words(told[:624], 76) == told[624:]).all())
    True
    """
    seen = np.asarray(outputs, dtype=np.uint64).ravel()
    if len(seen) < twister.words:
        raise InvalidParameterError(f"outputs must hold at least {twister.words} words, got {len(seen)}")
    state = twister.untemper(seen[-twister.words :, None])
    return twister.temper(twister.extend(state, whole("count", count, least=0)))[:, 0]


def recover_state(
    answers: ArrayLike,
    *,
    known: ArrayLike,
    word: Callable[[Floats], Words],
    noise: Noise,
    exact: ArrayLike | None = None,
    twister: Twister = MT19937,
) -> AttackResult:
    """Remove the noise from answers, after as many answers with a known truth as the generator's state has words.

    Args:
        answers: published in order, one word of the generator each, shape (answers,).
        known: true values of the first ones, at least 624 (312 of 64 bits): such as counts of nobody, which are 0.
        word: noise -> the word that made it.
        noise: words, shape (1, draws) -> the noise that they make.
        exact: true values of the further answers, to score by; None for counts: noise that comes off leaves them whole.

    >>> told = np.random.RandomState(3).randint(0, 2**32, size=626, dtype=np.uint32) / 2.0**16  # counts, plus noise
    >>> answers = told + np.r_[np.zeros(624), 31, 41]
    >>> to_word = lambda noise: (noise * 2**16).astype(np.uint64)
    >>> recover_state(answers, known=np.zeros(624), word=to_word, noise=lambda words: words / 2.0**16).learned
    array([31., 41.])
    """
    published, start = read_numbers("answers", answers, dimensions=1), read_numbers("known", known, dimensions=1)
    if len(start) >= len(published):
        raise InvalidParameterError(f"of {len(published)} answers, {len(start)} are known: none is left to predict")
    told = word(published[: len(start)] - start)
    expected = noise(predict_words(told, len(published) - len(start), twister=twister)[None, :])[0]
    return _result("State of the generator", published[len(start) :] - expected, exact, {"answers known": len(start)})


def recover_seed(
    answers: ArrayLike,
    *,
    noise: Noise,
    exact: ArrayLike | None = None,
    words: int = 2,
    seeds: int = 1 << 16,
    twister: Twister = MT19937,
) -> AttackResult:
    """Try all seeds until one explains the first half of the answers, and remove its noise from the others.

    Args:
        answers: published in order, from the first that the generator made, shape (answers,).
        noise: words, shape (streams, words * draws) -> noise, shape (streams, draws); see `laplace_of_words`.
        exact: true values, shape (answers,): the search uses the first half, the score the second; None for counts,
            which the noise of the right seed leaves whole.
        words: that one draw takes.
        seeds: tried from 0 up; all of a 32-bit seed are 2^32.

    Source: Garfinkel and Leclerc (2020), arXiv:2009.03777, on why noise needs a generator for cryptography.

    >>> counts = np.array([31, 4, 15, 92, 65, 35]) + np.random.RandomState(211).laplace(scale=8, size=6)
    >>> recover_seed(counts, noise=lambda words: laplace_of_words(words, scale=8), seeds=1 << 9).learned
    array([92., 65., 35.])
    """
    published = read_numbers("answers", answers, dimensions=1)
    truth = None if exact is None else read_numbers("exact", exact, dimensions=1)
    if truth is not None and len(truth) != len(published):
        raise InvalidParameterError(f"exact must hold one value an answer, got {len(truth)} for {len(published)}")
    whole("seeds", seeds, most=1 << 32), whole("words", words)
    if len(published) < 4:
        raise InvalidParameterError(f"needs at least 4 answers, got {len(published)}")
    fit = len(published) // 2
    for start in range(0, seeds, _BLOCK):
        tried = np.arange(start, min(start + _BLOCK, seeds), dtype=np.uint64)
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
    truth = np.rint(left) if exact is None else read_numbers("exact", exact, dimensions=1)
    return np.asarray(np.abs(left - truth) < _EXACT)


def _result(attack: str, left: Floats, exact: ArrayLike | None, facts: Mapping[str, object]) -> AttackResult:
    right = _whole(left, exact)
    return AttackResult(
        attack=attack,
        target="exact value behind a noisy answer",
        success=Share(right=int(right.sum()), attempts=len(left)),
        baseline=2 * _EXACT,
        guess="taking the noise of another stream off",
        sees="",
        learned=np.round(left, 6),
        facts=facts,
    )

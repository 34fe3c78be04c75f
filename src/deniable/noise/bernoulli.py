"""Exact coins: Bernoulli(p), Bernoulli(exp(-x)), and enclosed probabilities.

p and x are rational, x >= 0.

Guarantee: the probability of True is exactly p, or exactly exp(-x). A uniform number is compared with a 64-bit
threshold; if its first word equals the threshold, further words are appended to the same number until it is decided.
Proof: docs/theory/noise/draws.md, "Thresholds".
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise import refine
from deniable.noise.bits import SECURE, Bits, Size, shape_of
from deniable.numbers import balls
from deniable.numbers.rationals import strict_rational

if TYPE_CHECKING:
    from flint import arb

WORD = 64
MARGIN = 2.0**-36
"""Of the float filter of coins that differ: above the error of their probabilities and of the comparison."""
_PACKED_BLOCK = 1 << 14
_LARGEST_EXPONENT = Fraction(2**40)


def sample(*, p: Fraction | int, size: Size = None, bits: Bits = SECURE) -> NDArray[np.bool_]:
    """Draw independent coins that are True with probability p.

    Args:
        p: exact, in [0, 1].
        size: shape of the result; None for an array without dimensions.
        bits: leave it out, except in tests.

    Raises: InvalidParameterError if p is a float or outside [0, 1].
    """
    chance = strict_rational("p", p, lower=Fraction(0), upper=Fraction(1))
    threshold, rest = divmod(chance * (1 << WORD), 1)
    return _coins(threshold, lambda: _rational_coin(rest, bits), shape_of(size), bits)


def packed(*, p: Fraction, words: int, bits: Bits = SECURE) -> NDArray[np.uint64]:
    """Draw independent coins that are True with probability p, 64 to a word.

    The digits of p are compared with those of 64 uniform numbers at once, from the first digit on, until every one is
    decided: about 8 random words for a word of coins, whatever p has behind.

    Args:
        p: a multiple of 2^-64 in [0, 1).
        words: how many words of coins.
        bits: leave it out, except in tests.

    Raises: InvalidParameterError if p is no such number.
    """
    digits, rest = divmod(strict_rational("p", p, lower=Fraction(0), upper=Fraction(1)) * (1 << WORD), 1)
    if rest or digits >> WORD:
        raise InvalidParameterError("p must be a multiple of 2^-64 below 1")
    coins = np.zeros(words, dtype=np.uint64)
    for start in range(0, words, _PACKED_BLOCK):
        part = coins[start : start + _PACKED_BLOCK]
        open_ = np.full(part.size, 2**64 - 1, dtype=np.uint64)  # coins that are equal to p so far
        positions = None
        for digit in f"{digits:064b}".rstrip("0"):
            drawn = bits.words(open_.size)
            if digit == "1":
                below = open_ & ~drawn
                if positions is None:
                    part |= below
                else:
                    part[positions] |= below
                open_ &= drawn
            else:
                open_ &= ~drawn
            if (left := np.count_nonzero(open_)) < open_.size // 2:
                kept = np.flatnonzero(open_)
                positions = kept if positions is None else positions[kept]
                open_ = open_[kept]
            if not left:
                break
    return coins


def sample_exp(*, x: Fraction | int, size: Size = None, bits: Bits = SECURE) -> NDArray[np.bool_]:
    """Draw independent coins that are True with probability exp(-x).

    Args:
        x: exact, in [0, 2^40].
        size: shape of the result; None for an array without dimensions.
        bits: leave it out, except in tests.

    Raises: InvalidParameterError if x is a float or outside its range.
    """
    exponent = strict_rational("x", x, lower=Fraction(0), upper=_LARGEST_EXPONENT)
    threshold = _exp_threshold(exponent)
    prefix = refine.Prefix(threshold, WORD)
    chance = balls.exp_of_minus(exponent)
    return _coins(threshold, lambda: refine.below(prefix, chance, bits), shape_of(size), bits)


def sample_enclosed(*, p: Callable[[], "arb"], size: Size = None, bits: Bits = SECURE) -> NDArray[np.bool_]:
    """Draw independent coins that are True with the probability that `p` encloses.

    Args:
        p: an enclosure of one irrational number of (0, 1) at the working precision of python-flint. The first word of
            that number is kept for each such function: give the same one again.
        size: shape of the result; None for an array without dimensions.
        bits: leave it out, except in tests.
    """
    threshold = _enclosed_threshold(p)
    prefix = refine.Prefix(threshold, WORD)
    return _coins(threshold, lambda: refine.below(prefix, p, bits), shape_of(size), bits)


def sample_each(
    *, probabilities: NDArray[np.float64], exact: Callable[[int], Callable[[], "arb"]], bits: Bits = SECURE
) -> NDArray[np.bool_]:
    """Draw one coin for each entry of `probabilities`, with a probability of its own.

    Args:
        probabilities: each relatively within 2^-37 of the truth.
        exact: for the i-th coin, an enclosure of its probability in [0, 1] at the working precision of python-flint.
        bits: leave it out, except in tests.
    """
    words = bits.words(probabilities.size)
    point = words * 2.0**-WORD
    result = (point + 2.0**-WORD) * (1 + MARGIN) < probabilities
    for i in np.flatnonzero(~result & (point * (1 - MARGIN) <= probabilities)):
        result[i] = refine.below(refine.Prefix(int(words[i]), WORD), exact(int(i)), bits)
    return result


def _coins(threshold: int, open_coin: Callable[[], bool], shape: tuple[int, ...], bits: Bits) -> NDArray[np.bool_]:
    """Compare fresh words with the threshold; `open_coin` settles those that equal it."""
    count = math.prod(shape)
    if threshold >> WORD:
        return np.ones(shape, dtype=np.bool_)
    words = bits.words(count)
    result = words < np.uint64(threshold)
    for i in np.flatnonzero(words == np.uint64(threshold)):
        result[i] = open_coin()
    return result.reshape(shape)


def _rational_coin(chance: Fraction, bits: Bits) -> bool:
    """Draw a coin that is True with probability `chance` < 1, word by word, exactly."""
    while chance:
        scaled = chance * (1 << WORD)
        threshold = math.floor(scaled)
        word = int(bits.words(1)[0])
        if word != threshold:
            return word < threshold
        chance = scaled - threshold
    return False


@lru_cache(maxsize=256)
def _exp_threshold(exponent: Fraction) -> int:
    if exponent == 0:
        return 1 << WORD
    chance = balls.exp_of_minus(exponent)
    return balls.certified_floor(lambda: chance() * (1 << WORD))


@lru_cache(maxsize=256)
def _enclosed_threshold(chance: Callable[[], "arb"]) -> int:
    return balls.certified_floor(lambda: chance() * 2**WORD)

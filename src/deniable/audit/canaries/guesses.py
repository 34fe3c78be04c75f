"""Guesses which canaries were included, the surest first, from scores alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import whole_number

_MIN_CHANCE_OF_COINS = 1e-9  # with which fair coins would give a share of included canaries as far from a half


@dataclass(frozen=True, kw_only=True)
class Guesses:
    """Whether each guess was right, in the order of confidence.

    Args:
        right: shape (guesses,).
        canaries: number of canaries whose inclusion a coin decided, guessed or not.
        half: whether exactly half of them were included.
    """

    right: NDArray[np.bool_]
    canaries: int
    half: bool = False

    @property
    def perfect(self) -> "Guesses":
        """Guesses of the same number, all of them right."""
        return Guesses(right=np.ones_like(self.right), canaries=self.canaries)


def read_guesses(scores: ArrayLike, included: ArrayLike, *, both_ends: bool, seed: int) -> Guesses:
    """Return the guesses that scores make.

    They are "included" from the top down and, at both ends, "left out" from the bottom up. Only the ranks of the scores
    decide the order. Equal scores are ordered by dice of their own: the order in which canaries are listed may itself
    say which were included.

    Raises: InvalidParameterError for lists of different lengths, no canary, NaN, bits that are not 0 or 1, or bits
        that no fair coins give.
    """
    try:
        values = np.asarray(scores, dtype=np.float64)
        bits = np.asarray(included)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError("scores must be one number for each canary, and included one coin") from None
    if values.ndim != 1 or values.shape != bits.shape or not values.size:
        raise InvalidParameterError("scores and included must be lists of the same length, with at least one canary")
    if np.any(np.isnan(values)):
        raise InvalidParameterError("scores must not hold NaN. Give the canaries that failed the score -inf")
    if not np.all((bits == 0) | (bits == 1)):
        raise InvalidParameterError("included must hold True or False for each canary")
    count = values.size
    ins = int(np.count_nonzero(bits))
    if stats.binomtest(ins, count, 0.5).pvalue < _MIN_CHANCE_OF_COINS:
        raise InvalidParameterError(
            f"{ins} of {count} canaries were included, which fair coins do not give. Include each by a coin of its own"
        )
    dice = np.random.default_rng(whole_number("seed", seed, lower=0))
    order = np.lexsort((dice.random(count), -values))  # the highest score first
    bits = bits[order].astype(np.bool_)
    if not both_ends:
        return Guesses(right=bits, canaries=count, half=2 * ins == count)
    side = (count - 1) - 2 * np.arange(count)  # by rank: guess "included" in the upper half, the ends first
    surest = np.argsort(-np.abs(side), kind="stable")
    return Guesses(right=((side >= 0) == bits)[surest], canaries=count, half=2 * ins == count)

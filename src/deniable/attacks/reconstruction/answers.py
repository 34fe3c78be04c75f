"""Simulated services that answer subset queries about a column of secret bits.

Each function takes `secrets`, 0 or 1 for each person, and returns an `Answerer`: a callable from queries to answers, as
any private service is. Noise in floats is a simulation, not a private release.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from deniable.attacks.numbers import Floats, nonnegative, read_numbers, start_dice, whole
from deniable.attacks.reconstruction.queries import Subsets
from deniable.errors import InvalidParameterError


class Answerer(Protocol):
    """Callable that answers counting queries about people's secret bits.

    Args:
        subsets: groups of people, shape (queries, people).

    >>> from deniable.attacks.reconstruction import answer_exactly
    >>> answer_exactly([1, 0, 1])(np.array([[1, 1, 0]])).tolist()
    [1.0]
    """

    def __call__(self, subsets: Subsets, /) -> Floats:
        """Return the answers, shape (queries,); NaN for a count that is withheld."""


def answer_exactly(secrets: ArrayLike) -> Answerer:
    """Answer every count exactly.

    Args:
        secrets: shape (people,), 0 or 1.

    >>> answer_exactly([1, 0, 1])(np.array([[1, 1, 0], [1, 0, 1]])).tolist()
    [1.0, 2.0]
    """
    return _changed(secrets, lambda exact: exact)


def answer_rounded(secrets: ArrayLike, *, base: int) -> Answerer:
    """Round every count to the nearest multiple of `base`.

    Halves go to the even multiple; the error is at most base / 2.

    Args:
        secrets: shape (people,), 0 or 1.
        base: whole number, at least 1.

    >>> answer_rounded([1, 0, 1, 1], base=5)(np.ones((1, 4))).tolist()
    [5.0]
    """
    whole("base", base)
    return _changed(secrets, lambda exact: base * np.round(exact / base))


def answer_unless_small(secrets: ArrayLike, *, below: int) -> Answerer:
    """Answer counts exactly, but withhold those from 1 to below - 1.

    Statistical offices suppress small cells like this.

    Args:
        secrets: shape (people,), 0 or 1.
        below: smallest count that is not withheld, at least 1.

    >>> answer_unless_small([1, 0, 1], below=2)(np.array([[1, 0, 0], [1, 1, 1]])).tolist()
    [nan, 2.0]
    """
    whole("below", below)
    return _changed(secrets, lambda exact: np.where((exact > 0) & (exact < below), np.nan, exact))


def answer_within(secrets: ArrayLike, *, error: float, seed: int = 0) -> Answerer:
    """Add independent errors that are uniform in [-error, error].

    Args:
        secrets: shape (people,), 0 or 1.
        error: largest error, >= 0.
        seed: of the errors.

    >>> bool(abs(answer_within([1, 0, 1], error=1)(np.ones((9, 3))) - 2).max() <= 1)
    True
    """
    error = nonnegative("error", error)
    dice = start_dice(seed)
    return _changed(secrets, lambda exact: exact + dice.uniform(-error, error, exact.shape))


def answer_with_laplace(secrets: ArrayLike, *, scale: float, seed: int = 0) -> Answerer:
    """Add Laplace noise to every count.

    Args:
        secrets: shape (people,), 0 or 1.
        scale: of the noise, >= 0.
        seed: of the noise.

    >>> answer_with_laplace([1, 0, 1], scale=2)(np.ones((4, 3))).shape
    (4,)
    """
    scale = nonnegative("scale", scale)
    dice = start_dice(seed)
    return _changed(secrets, lambda exact: exact + dice.laplace(0, scale, exact.shape))


def answer_with_gaussian(secrets: ArrayLike, *, sigma: float, seed: int = 0) -> Answerer:
    """Add Gaussian noise to every count.

    Args:
        secrets: shape (people,), 0 or 1.
        sigma: standard deviation of the noise, >= 0.
        seed: of the noise.

    >>> answer_with_gaussian([1, 0, 1], sigma=2)(np.ones((4, 3))).shape
    (4,)
    """
    sigma = nonnegative("sigma", sigma)
    dice = start_dice(seed)
    return _changed(secrets, lambda exact: exact + dice.normal(0, sigma, exact.shape))


def answer_adversarially(secrets: ArrayLike, *, error: float, decoy: ArrayLike | None = None) -> Answerer:
    """Choose errors that make a wrong column fit as well as the truth.

    Every answer is moved by at most `error` towards the answer for the decoy.

    Args:
        secrets: shape (people,), 0 or 1.
        error: largest error, >= 0.
        decoy: shape (people,), 0 or 1; by default the truth with floor(2 error) of its ones and as many of its zeros
            flipped. A count then differs by at most 2 error, so that truth and decoy fit all answers within the same
            error, and no attacker can distinguish them: the 4 error wrong bits that Theorem 1 of Dinur and Nissim
            admits.

    >>> answer_adversarially([1, 0, 1], error=1, decoy=[0, 0, 1])(np.ones((1, 3))).tolist()
    [1.0]
    """
    column = secret_bits(secrets)
    error = nonnegative("error", error)
    other = column.copy() if decoy is None else secret_bits(decoy)
    if decoy is None:
        for bit in (0.0, 1.0):
            other[np.flatnonzero(column == bit)[: int(2 * error)]] = 1 - bit
    if other.shape != column.shape:
        raise InvalidParameterError(f"decoy must hold {len(column)} bits, got {len(other)}")
    truth = answer_exactly(column)
    lie = answer_exactly(other)

    def answer(subsets: Subsets) -> Floats:
        exact = truth(subsets)
        return exact + np.clip(lie(subsets) - exact, -error, error)

    return answer


def secret_bits(secrets: ArrayLike) -> Floats:
    """Return the secrets as a column of 0.0 and 1.0, or raise InvalidParameterError."""
    column = read_numbers("secrets", secrets, dimensions=1)
    if not np.isin(column, (0, 1)).all():
        raise InvalidParameterError("secrets must be 0 or 1 for every person")
    return column


def _changed(secrets: ArrayLike, change: Callable[[Floats], Floats]) -> Answerer:
    """Return the service that changes exact counts in some way."""
    column = secret_bits(secrets)

    def answer(subsets: Subsets) -> Floats:
        if subsets.shape[1] != len(column):
            raise InvalidParameterError(f"subsets must be about {len(column)} people, got {subsets.shape[1]}")
        return change(np.round(np.asarray(subsets @ column)).astype(np.float64))

    return answer

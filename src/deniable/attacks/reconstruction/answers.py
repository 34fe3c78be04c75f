"""Ways to answer subset queries about a column of secret bits: the steward's side, as an attacker simulates it.

Each takes `secrets`, 0 or 1 a person, and returns an `Answerer`, as any private service is: a callable from queries to
answers. Noise in floats is a simulation, and no private release.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from deniable.attacks.numbers import Floats, nonnegative, read_numbers, start_dice, whole
from deniable.attacks.reconstruction.queries import Subsets
from deniable.errors import InvalidParameterError


class Answerer(Protocol):
    """Answers counting queries about people's secret bits."""

    def __call__(self, subsets: Subsets, /) -> Floats:
        """The answers, shape (queries,); NaN stands for a count that was withheld."""


def answer_exactly(secrets: ArrayLike) -> Answerer:
    """Tell every count as it is.

    >>> answer_exactly([1, 0, 1])(np.array([[1, 1, 0], [1, 0, 1]])).tolist()
    [1.0, 2.0]
    """
    return _changed(secrets, lambda exact: exact)


def answer_rounded(secrets: ArrayLike, *, base: int) -> Answerer:
    """Round every count to the nearest multiple of `base`, halves to the even multiple: an error of at most base / 2.

    >>> answer_rounded([1, 0, 1, 1], base=5)(np.ones((1, 4))).tolist()
    [5.0]
    """
    whole("base", base)
    return _changed(secrets, lambda exact: base * np.round(exact / base))


def answer_unless_small(secrets: ArrayLike, *, below: int) -> Answerer:
    """Tell counts exactly, but withhold those from 1 to below - 1, as offices suppress small cells.

    >>> answer_unless_small([1, 0, 1], below=2)(np.array([[1, 0, 0], [1, 1, 1]])).tolist()
    [nan, 2.0]
    """
    whole("below", below)
    return _changed(secrets, lambda exact: np.where((exact > 0) & (exact < below), np.nan, exact))


def answer_within(secrets: ArrayLike, *, error: float, seed: int = 0) -> Answerer:
    """Add errors that are uniform in [-error, error] and independent.

    >>> bool(abs(answer_within([1, 0, 1], error=1)(np.ones((9, 3))) - 2).max() <= 1)
    True
    """
    error, dice = nonnegative("error", error), start_dice(seed)
    return _changed(secrets, lambda exact: exact + dice.uniform(-error, error, exact.shape))


def answer_with_laplace(secrets: ArrayLike, *, scale: float, seed: int = 0) -> Answerer:
    """Add Laplace noise.

    >>> answer_with_laplace([1, 0, 1], scale=2)(np.ones((4, 3))).shape
    (4,)
    """
    scale, dice = nonnegative("scale", scale), start_dice(seed)
    return _changed(secrets, lambda exact: exact + dice.laplace(0, scale, exact.shape))


def answer_with_gaussian(secrets: ArrayLike, *, sigma: float, seed: int = 0) -> Answerer:
    """Add Gaussian noise.

    >>> answer_with_gaussian([1, 0, 1], sigma=2)(np.ones((4, 3))).shape
    (4,)
    """
    sigma, dice = nonnegative("sigma", sigma), start_dice(seed)
    return _changed(secrets, lambda exact: exact + dice.normal(0, sigma, exact.shape))


def answer_adversarially(secrets: ArrayLike, *, error: float, decoy: ArrayLike | None = None) -> Answerer:
    """Choose errors within [-error, error] that make a wrong column fit as well as the truth, where they can.

    Every answer is moved towards what it would be for the decoy, by at most `error`.

    Args:
        decoy: 0 or 1 a person; by default the truth with floor(2 error) of its ones and as many of its zeros flipped.
            A count then differs by at most 2 error, so that truth and decoy fit all answers within the same error, and
            no attacker can tell which is true: the 4 error wrong bits that Theorem 1 of Dinur and Nissim admits.

    >>> answer_adversarially([1, 0, 1], error=1, decoy=[0, 0, 1])(np.ones((1, 3))).tolist()
    [1.0]
    """
    column, error = secret_bits(secrets), nonnegative("error", error)
    other = column.copy() if decoy is None else secret_bits(decoy)
    if decoy is None:
        for bit in (0.0, 1.0):
            other[np.flatnonzero(column == bit)[: int(2 * error)]] = 1 - bit
    if other.shape != column.shape:
        raise InvalidParameterError(f"the decoy needs {len(column)} bits, got {len(other)}")
    truth, lie = answer_exactly(column), answer_exactly(other)
    return lambda subsets: (exact := truth(subsets)) + np.clip(lie(subsets) - exact, -error, error)


def secret_bits(secrets: ArrayLike) -> Floats:
    """The secrets as a column of 0.0 and 1.0, or InvalidParameterError."""
    column = read_numbers("secrets", secrets, dimensions=1)
    if not np.isin(column, (0, 1)).all():
        raise InvalidParameterError("secrets must be 0 or 1 for every person")
    return column


def _changed(secrets: ArrayLike, change: Callable[[Floats], Floats]) -> Answerer:
    column = secret_bits(secrets)

    def answer(subsets: Subsets) -> Floats:
        if subsets.shape[1] != len(column):
            raise InvalidParameterError(f"the queries are about {subsets.shape[1]} people, and there are {len(column)}")
        return change(np.round(np.asarray(subsets @ column)).astype(np.float64))

    return answer

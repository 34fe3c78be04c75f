"""Ways to answer subset queries about a column of secret bits: the steward's side, as an attacker simulates it.

Each returns an `Answerer`. A private service is an `Answerer` too: any callable from queries to answers.
"""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.attacks.reconstruction.queries import Subsets
from deniable.errors import InvalidParameterError


class Answerer(Protocol):
    """Answers counting queries about people's secret bits."""

    def __call__(self, subsets: Subsets, /) -> NDArray[np.float64]:
        """The answers, shape (queries,); NaN stands for a count that was withheld."""


def answer_exactly(secrets: ArrayLike) -> Answerer:
    """Tell every count as it is.

    Args:
        secrets: 0 or 1 a person, shape (people,).

    >>> answer_exactly([1, 0, 1])(np.array([[1, 1, 0], [1, 0, 1]])).tolist()
    [1.0, 2.0]
    """
    column = secret_bits(secrets)
    return lambda subsets: _exact(subsets, column)


def answer_rounded(secrets: ArrayLike, *, base: int) -> Answerer:
    """Round every count to the nearest multiple of `base`, halves to the even multiple: an error of at most base / 2.

    >>> answer_rounded([1, 0, 1, 1], base=5)(np.ones((1, 4))).tolist()
    [5.0]
    """
    column = secret_bits(secrets)
    _positive("base", base)
    return lambda subsets: base * np.round(_exact(subsets, column) / base)


def answer_unless_small(secrets: ArrayLike, *, below: int) -> Answerer:
    """Tell counts exactly, but withhold those from 1 to below - 1, as offices suppress small cells.

    >>> answer_unless_small([1, 0, 1], below=2)(np.array([[1, 0, 0], [1, 1, 1]])).tolist()
    [nan, 2.0]
    """
    column = secret_bits(secrets)
    _positive("below", below)

    def answer(subsets: Subsets) -> NDArray[np.float64]:
        exact = _exact(subsets, column)
        return np.where((exact > 0) & (exact < below), np.nan, exact)

    return answer


def answer_within(secrets: ArrayLike, *, error: float, seed: int = 0) -> Answerer:
    """Add errors that are uniform in [-error, error] and independent.

    >>> bool(abs(answer_within([1, 0, 1], error=1)(np.ones((9, 3))) - 2).max() <= 1)
    True
    """
    column = secret_bits(secrets)
    _positive("error", error, least=0.0)
    dice = np.random.default_rng(seed)
    return lambda subsets: (exact := _exact(subsets, column)) + dice.uniform(-error, error, exact.shape)


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
    column = secret_bits(secrets)
    _positive("error", error, least=0.0)
    if decoy is None:
        other = column.copy()
        for bit in (0.0, 1.0):
            other[np.flatnonzero(column == bit)[: int(2 * error)]] = 1 - bit
    else:
        other = secret_bits(decoy)
        if other.shape != column.shape:
            raise InvalidParameterError(f"the decoy needs {len(column)} bits, got {len(other)}")

    def answer(subsets: Subsets) -> NDArray[np.float64]:
        exact = _exact(subsets, column)
        return exact + np.clip(_exact(subsets, other) - exact, -error, error)

    return answer


def answer_with_laplace(secrets: ArrayLike, *, scale: float, seed: int = 0) -> Answerer:
    """Add Laplace noise: an attacker's simulation of it in floats, and no private release.

    >>> answer_with_laplace([1, 0, 1], scale=2)(np.ones((4, 3))).shape
    (4,)
    """
    column = secret_bits(secrets)
    _positive("scale", scale, least=0.0)
    dice = np.random.default_rng(seed)
    return lambda subsets: (exact := _exact(subsets, column)) + dice.laplace(0, scale, exact.shape)


def answer_with_gaussian(secrets: ArrayLike, *, sigma: float, seed: int = 0) -> Answerer:
    """Add Gaussian noise: an attacker's simulation of it in floats, and no private release.

    >>> answer_with_gaussian([1, 0, 1], sigma=2)(np.ones((4, 3))).shape
    (4,)
    """
    column = secret_bits(secrets)
    _positive("sigma", sigma, least=0.0)
    dice = np.random.default_rng(seed)
    return lambda subsets: (exact := _exact(subsets, column)) + dice.normal(0, sigma, exact.shape)


def secret_bits(secrets: ArrayLike) -> NDArray[np.float64]:
    """The secrets as a column of 0.0 and 1.0.

    Raises: InvalidParameterError unless there is at least one, and each is 0, 1, False or True.
    """
    try:
        column = np.asarray(secrets, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError("secrets must be 0 or 1 for every person, none missing") from None
    if column.ndim != 1 or not len(column):
        raise InvalidParameterError(f"secrets must be one column with at least one person, got shape {column.shape}")
    if not np.isin(column, (0, 1)).all():
        raise InvalidParameterError("secrets must be 0 or 1 for every person, none missing")
    return column


def _exact(subsets: Subsets, column: NDArray[np.float64]) -> NDArray[np.float64]:
    if subsets.shape[1] != len(column):
        raise InvalidParameterError(f"the queries are about {subsets.shape[1]} people, and there are {len(column)}")
    return np.round(np.asarray(subsets @ column)).astype(np.float64)


def _positive(name: str, value: float, *, least: float = 1.0) -> None:
    if not least <= value < np.inf:
        raise InvalidParameterError(f"{name} must be finite and >= {least:g}, got {value}")

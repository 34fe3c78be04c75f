"""Subset queries: how many of these people have the secret?

A row of a 0/1 matrix asks about one group of people.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator

from deniable.attacks.numbers import MAX_ROUNDS, Floats, start_dice, whole

MAX_PEOPLE_AT_RANDOM = 512  # with more, groups come from a Hadamard matrix, which is not stored


class Subsets(Protocol):
    """Queries as a 0/1 matrix of shape (queries, people).

    It is a NumPy array, a SciPy sparse array or a LinearOperator.

    Attributes:
        shape: number of queries, number of people.

    >>> from deniable.attacks.reconstruction import random_subsets
    >>> (random_subsets(people=5, queries=3) @ np.ones(5)).shape
    (3,)
    """

    @property
    def shape(self) -> tuple[Any, ...]:
        """Number of queries, number of people."""

    def __matmul__(self, other: Any, /) -> Any:
        """Return the answers to the queries, for a column with one number for each person."""


def choose_subsets(*, people: int, seed: int = 0) -> Subsets:
    """Choose groups of about half the people.

    They are 4 random ones for each person, or for more than 512 people those of `hadamard_subsets`.

    Args:
        people: number of people, at least 1.
        seed: of the draws.

    Returns: shape (queries, people).

    >>> from deniable.attacks.reconstruction import choose_subsets
    >>> choose_subsets(people=100).shape
    (400, 100)
    """
    if whole("people", people) <= MAX_PEOPLE_AT_RANDOM:
        return random_subsets(people=people, queries=4 * people, seed=seed)
    groups: Subsets = hadamard_subsets(people=people, seed=seed)
    return groups


def random_subsets(*, people: int, queries: int, seed: int = 0) -> NDArray[np.int8]:
    """Draw groups at random, with every person in each with probability 1/2.

    Args:
        people: number of people, at least 1.
        queries: number of groups, at least 1.
        seed: of the draws.

    Returns: shape (queries, people), of 0 and 1.

    >>> from deniable.attacks.reconstruction import random_subsets
    >>> random_subsets(people=5, queries=3).shape
    (3, 5)
    """
    shape = (whole("queries", queries), whole("people", people))
    return start_dice(seed).integers(0, 2, size=shape, dtype=np.int8)


def sparse_subsets(*, people: int, queries: int, size: int, seed: int = 0) -> csr_array:
    """Draw small groups at random, as a sparse matrix for a large number of people.

    Args:
        people: number of people, at least 1.
        queries: number of groups, at least 1.
        size: number of people in each group.
        seed: of the draws.

    Returns: shape (queries, people), of 0 and 1.

    >>> from deniable.attacks.reconstruction import sparse_subsets
    >>> sparse_subsets(people=100, queries=30, size=8).sum()
    np.float64(240.0)
    """
    people = whole("people", people)
    size = whole("size", size, upper=people)
    whole("queries", queries, upper=MAX_ROUNDS)
    dice = start_dice(seed)
    # Stretches of random orders of everybody: no person is twice in a group that lies within one order.
    a_round = people // size
    orders = [dice.permutation(people)[: a_round * size] for _ in range(-(-queries // a_round))]
    chosen = np.concatenate(orders)[: queries * size]
    starts = np.arange(0, queries * size + 1, size)
    return csr_array((np.ones(len(chosen)), chosen, starts), shape=(queries, people))


def hadamard_subsets(*, people: int, seed: int = 0) -> LinearOperator:
    """Return groups of half the people by the rows of a Hadamard matrix.

    They differ from each other as much as possible. People have random positions below the least power of two N that
    holds them; query i asks about those whose position j has an even number of common binary digits with i. N queries
    are answered and solved in N log N steps.

    Args:
        people: number of people, at least 1.
        seed: of the positions.

    Returns: shape (N, people), of float64.
    Source: Dwork and Yekhanin (2008), "New efficient attacks on statistical disclosure control mechanisms".

    >>> from deniable.attacks.reconstruction import hadamard_subsets
    >>> hadamard_subsets(people=1000).shape
    (1024, 1000)
    """
    size = 1 << (whole("people", people) - 1).bit_length()
    positions = start_dice(seed).permutation(size)[:people]

    def answers(column: Floats) -> Floats:
        spread = np.zeros(size)
        spread[positions] = column.ravel()
        return np.asarray((spread.sum() + _walsh(spread)) / 2)

    def back(column: Floats) -> Floats:
        return np.asarray((column.sum() + _walsh(column.ravel())[positions]) / 2)

    return LinearOperator((size, people), matvec=answers, rmatvec=back, dtype=np.float64)


def as_rows(subsets: Subsets) -> NDArray[np.int8] | csr_array:
    """Return the queries as an array or sparse array."""
    if isinstance(subsets, LinearOperator):
        return np.round(subsets @ np.eye(subsets.shape[1])).astype(np.int8)
    return subsets if isinstance(subsets, np.ndarray) else csr_array(subsets)


def _walsh(column: Floats) -> Floats:
    """Multiply the Hadamard matrix with a column, whose length is a power of two.

    The lowest six digits go by one matrix product, the others by sums and differences.
    """
    block = min(64, len(column))
    step = 1
    done = np.asarray(column.reshape(-1, block) @ hadamard(block).astype(np.float64))
    while step < len(done):
        pairs = done.reshape(-1, 2, step, block)
        done = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1, block)
        step *= 2
    return done.ravel()

"""Exhaustive search for secret bits, as in the theorems, for at most 24 people."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.attacks.numbers import Floats, whole
from deniable.attacks.reconstruction.attack import estimate_by_least_squares, read_answers
from deniable.attacks.reconstruction.queries import Subsets, as_rows
from deniable.errors import InvalidParameterError

MAX_PEOPLE = 24  # 2^24 candidates are tried in seconds
RESIDUALS_AT_ONCE = 1 << 20  # 8 MB
RESIDUALS_IN_CACHE = 1 << 14  # 128 KB, of one processor
FIRST_QUERIES = 16  # that every candidate is tried on
MAX_FINALISTS = 4  # candidates that are tried on all queries at once
QUERY_STRIDE = 0x9E3779B1  # odd, so that its multiples modulo 2^n pass every query once, near ones far apart


@dataclass(frozen=True)
class AllSubsets:
    """All 2^people groups of at most 24 people, without a stored matrix.

    Theorem 1 of Dinur and Nissim asks about them. Person j is in group i if bit j of i is set.

    Args:
        people: number of people, 1 to 24.

    >>> from deniable.attacks.reconstruction import AllSubsets
    >>> (AllSubsets(2) @ np.array([1, 5])).tolist()
    [0, 1, 5, 6]
    """

    people: int

    def __post_init__(self) -> None:
        whole("people", self.people, upper=MAX_PEOPLE)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of groups, number of people."""
        return 1 << self.people, self.people

    def __matmul__(self, other: ArrayLike, /) -> NDArray[np.generic]:
        """Return the answers to all groups, for a column with one number for each person."""
        column = np.asarray(other)
        sums = np.zeros(1, dtype=column.dtype)
        for value in column:
            sums = np.concatenate([sums, sums + value])
        return sums

    def __getitem__(self, numbers: NDArray[np.int64]) -> Floats:
        """Return groups by their numbers, as rows of 0 and 1."""
        return _bits(numbers, self.people)


def estimate_exhaustively(subsets: Subsets, answers: ArrayLike) -> Floats:
    """Find the bits with the least largest residual, among all 2^people candidates.

    Candidates drop out once some answers show that they are no better than the best one known. Of several best ones one
    is returned.

    Args:
        subsets: shape (queries, people), of 0 and 1, an array or `AllSubsets`; at most 24 people.
        answers: shape (queries,); NaN for those that were withheld, which are left out.

    Returns: shape (people,), 0.0 or 1.0.
    Source: Dinur and Nissim (2003), "Revealing information while preserving privacy".

    >>> from deniable.attacks.reconstruction import answer_adversarially
    >>> from deniable.attacks.reconstruction import AllSubsets
    >>> groups, truth = AllSubsets(10), [1, 1, 0, 0, 1, 0, 1, 0, 0, 1]
    >>> bits = estimate_exhaustively(groups, answer_adversarially(truth, error=0.4)(groups))
    >>> bits.astype(int).tolist() == truth
    True
    """
    given, known = read_answers(subsets, answers)
    people = subsets.shape[1]
    if people > MAX_PEOPLE:
        raise InvalidParameterError(
            f"an exhaustive search takes at most {MAX_PEOPLE} people, got {people}. Take another estimator."
        )
    numbers = np.arange(len(given))
    if isinstance(subsets, AllSubsets):  # in an order without a pattern
        numbers = (numbers * QUERY_STRIDE) & (len(given) - 1)
    numbers = numbers[known[numbers]]
    search = _Search(subsets, given, known)
    first = numbers[: 8 * people]
    search.try_candidate((estimate_by_least_squares(search.rows(first), given[first]) > 0.5).astype(np.float64))
    start = min(FIRST_QUERIES, len(numbers))
    size = 2 * FIRST_QUERIES
    residuals = search.largest_of_all(numbers[:start])
    search.try_candidate(_bits(np.array([np.argmin(residuals)]), people)[0])
    alive = np.flatnonzero(residuals < search.best_residual)
    residuals = residuals[alive]
    while start < len(numbers) and len(alive) > MAX_FINALISTS:
        asked = numbers[start : start + size]
        start += size
        size *= 2
        residuals = np.maximum(residuals, search.largest(alive, asked))
        search.try_candidate(_bits(alive[[np.argmin(residuals)]], people)[0])
        kept = residuals < search.best_residual
        alive = alive[kept]
        residuals = residuals[kept]
    for candidate in _bits(alive[:MAX_FINALISTS], people):
        search.try_candidate(candidate)
    return search.best


class _Search:
    """Best candidate so far, and the answers by which others are judged."""

    def __init__(self, subsets: Subsets, given: Floats, known: NDArray[np.bool_]) -> None:
        self.subsets = subsets if isinstance(subsets, AllSubsets) else as_rows(subsets)
        self.given = given
        self.known = known
        self.best = np.zeros(subsets.shape[1])
        self.best_residual = np.inf

    def rows(self, numbers: NDArray[np.int64]) -> Floats:
        """Return some of the queries, as rows of 0 and 1."""
        rows = self.subsets[numbers]
        return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)

    def try_candidate(self, bits: Floats) -> None:
        """Keep the candidate if no better one is known."""
        value = float(np.abs(np.asarray(self.subsets @ bits) - self.given)[self.known].max())
        if value < self.best_residual:
            self.best = bits
            self.best_residual = value

    def largest_of_all(self, numbers: NDArray[np.int64]) -> Floats:
        """Return the largest residual of every candidate over a few queries.

        Residuals are sums of two tables, one of each half of the bits.
        """
        people = self.subsets.shape[1]
        half = people // 2
        rows = self.rows(numbers)
        low = rows[:, :half] @ _bits(np.arange(1 << half), half).T  # (queries, 2^half)
        high = rows[:, half:] @ _bits(np.arange(1 << (people - half)), people - half).T - self.given[numbers, None]
        largest = np.zeros((high.shape[1], low.shape[1]))
        size = max(1, RESIDUALS_IN_CACHE // low.shape[1])
        for begin in range(0, len(largest), size):
            part = largest[begin : begin + size]
            residuals = np.empty_like(part)
            for one, other in zip(high[:, begin : begin + size], low, strict=True):
                np.abs(np.add.outer(one, other, out=residuals), out=residuals)
                np.maximum(part, residuals, out=part)
        return largest.ravel()

    def largest(self, candidates: NDArray[np.int64], numbers: NDArray[np.int64]) -> Floats:
        """Return the largest residual of each candidate over some queries.

        It is not computed further once it exceeds the best one.
        """
        largest = np.zeros(len(candidates))
        for first in range(0, len(numbers), 1 << 10):
            some = numbers[first : first + (1 << 10)]
            rows = self.rows(some).T
            answers = self.given[some]
            open_ = np.flatnonzero(largest < self.best_residual)
            size = max(1, RESIDUALS_AT_ONCE // len(some))
            for begin in range(0, len(open_), size):
                part = open_[begin : begin + size]
                residuals = _bits(candidates[part], self.subsets.shape[1]) @ rows
                residuals -= answers
                np.abs(residuals, out=residuals)
                largest[part] = np.maximum(largest[part], residuals.max(axis=1))
        return largest


def _bits(numbers: NDArray[np.int64], count: int) -> Floats:
    """Return the binary digits of numbers, shape (numbers, count)."""
    return ((numbers[:, None] >> np.arange(count)) & 1).astype(np.float64)

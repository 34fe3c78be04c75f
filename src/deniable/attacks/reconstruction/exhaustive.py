"""Secret bits by looking at every candidate: the attack of the theorems, for at most 24 people."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.attacks.numbers import Floats, whole
from deniable.attacks.reconstruction.attack import estimate_by_least_squares, read_answers
from deniable.attacks.reconstruction.queries import Subsets, as_rows
from deniable.errors import InvalidParameterError

MOST = 24  # people: 2^24 candidates are looked at in seconds
BLOCK, CACHED = 1 << 20, 1 << 14  # residuals held at once
FIRST = 16  # queries that every candidate is tried on
FEW = 4  # candidates that are tried on all queries at once
STEP = 0x9E3779B1  # odd, so that its multiples modulo 2^n pass every query once, near ones far apart


@dataclass(frozen=True)
class AllSubsets:
    """All 2^people groups of at most 24 people, as Theorem 1 of Dinur and Nissim asks about; no matrix is stored.

    Person j is in group i if bit j of i is set.

    >>> (AllSubsets(2) @ np.array([1, 5])).tolist()
    [0, 1, 5, 6]
    """

    people: int

    def __post_init__(self) -> None:
        whole("people", self.people, upper=MOST)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of groups, number of people."""
        return 1 << self.people, self.people

    def __matmul__(self, other: ArrayLike, /) -> NDArray[np.generic]:
        """Answers to all groups, for a column with one number a person."""
        column = np.asarray(other)
        sums = np.zeros(1, dtype=column.dtype)
        for value in column:
            sums = np.concatenate([sums, sums + value])
        return sums

    def __getitem__(self, numbers: NDArray[np.int64]) -> Floats:
        """The groups with these numbers, as rows of 0 and 1."""
        return _bits(numbers, self.people)


def estimate_exhaustively(subsets: Subsets, answers: ArrayLike) -> Floats:
    """Find the bits whose largest residual over all answers is least, among all 2^people candidates.

    Candidates drop out as soon as some answers show that they are no better than the best one known. Of several best
    ones it returns one, shape (people,).

    Args:
        subsets: shape (queries, people), of 0 and 1, an array or `AllSubsets`; at most 24 people.
        answers: shape (queries,); NaN for those that were withheld, which are left out.

    Source: Dinur and Nissim (2003), "Revealing information while preserving privacy".

    >>> from deniable.attacks.reconstruction import answer_adversarially
    >>> groups, truth = AllSubsets(10), [1, 1, 0, 0, 1, 0, 1, 0, 0, 1]
    >>> found = estimate_exhaustively(groups, answer_adversarially(truth, error=0.4)(groups))
    >>> found.astype(int).tolist() == truth
    True
    """
    given, known = read_answers(subsets, answers)
    people = subsets.shape[1]
    if people > MOST:
        raise InvalidParameterError(f"an exhaustive attack takes at most {MOST} people, got {people}")
    numbers = np.arange(len(given))
    if isinstance(subsets, AllSubsets):  # in an order without a pattern
        numbers = (numbers * STEP) & (len(given) - 1)
    numbers = numbers[known[numbers]]
    search, first = _Search(subsets, given, known), numbers[: 8 * people]
    search.try_candidate((estimate_by_least_squares(search.rows(first), given[first]) > 0.5).astype(np.float64))
    start, size = min(FIRST, len(numbers)), 2 * FIRST
    reached = search.largest_of_all(numbers[:start])
    search.try_candidate(_bits(np.array([np.argmin(reached)]), people)[0])
    alive = np.flatnonzero(reached < search.least)
    reached = reached[alive]
    while start < len(numbers) and len(alive) > FEW:
        asked = numbers[start : start + size]
        start, size = start + size, 2 * size
        reached = np.maximum(reached, search.largest(alive, asked))
        search.try_candidate(_bits(alive[[np.argmin(reached)]], people)[0])
        kept = reached < search.least
        alive, reached = alive[kept], reached[kept]
    for candidate in _bits(alive[:FEW], people):
        search.try_candidate(candidate)
    return search.best


class _Search:
    """The best candidate so far, and what it takes to judge others."""

    def __init__(self, subsets: Subsets, given: Floats, known: NDArray[np.bool_]) -> None:
        self.subsets = subsets if isinstance(subsets, AllSubsets) else as_rows(subsets)
        self.given, self.known = given, known
        self.best, self.least = np.zeros(subsets.shape[1]), np.inf

    def rows(self, numbers: NDArray[np.int64]) -> Floats:
        """Some of the queries."""
        found = self.subsets[numbers]
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)

    def try_candidate(self, bits: Floats) -> None:
        """Keep the candidate if no better one is known."""
        value = float(np.abs(np.asarray(self.subsets @ bits) - self.given)[self.known].max())
        if value < self.least:
            self.best, self.least = bits, value

    def largest_of_all(self, numbers: NDArray[np.int64]) -> Floats:
        """Largest residual of every candidate over a few queries: a sum of two tables, one of each half of the bits."""
        people = self.subsets.shape[1]
        half = people // 2
        rows = self.rows(numbers)
        low = rows[:, :half] @ _bits(np.arange(1 << half), half).T  # (queries, 2^half)
        high = rows[:, half:] @ _bits(np.arange(1 << (people - half)), people - half).T - self.given[numbers, None]
        found = np.zeros((high.shape[1], low.shape[1]))
        size = max(1, CACHED // low.shape[1])
        for begin in range(0, len(found), size):
            part = found[begin : begin + size]
            residuals = np.empty_like(part)
            for one, other in zip(high[:, begin : begin + size], low, strict=True):
                np.abs(np.add.outer(one, other, out=residuals), out=residuals)
                np.maximum(part, residuals, out=part)
        return found.ravel()

    def largest(self, candidates: NDArray[np.int64], numbers: NDArray[np.int64]) -> Floats:
        """Largest residual of each candidate over some of the queries; infinite once it is no longer of interest."""
        found = np.zeros(len(candidates))
        for first in range(0, len(numbers), 1 << 10):
            some = numbers[first : first + (1 << 10)]
            rows, told = self.rows(some).T, self.given[some]
            open_ = np.flatnonzero(found < self.least)
            size = max(1, BLOCK // len(some))
            for begin in range(0, len(open_), size):
                part = open_[begin : begin + size]
                residuals = _bits(candidates[part], self.subsets.shape[1]) @ rows
                residuals -= told
                np.abs(residuals, out=residuals)
                found[part] = np.maximum(found[part], residuals.max(axis=1))
        return found


def _bits(numbers: NDArray[np.int64], count: int) -> Floats:
    return ((numbers[:, None] >> np.arange(count)) & 1).astype(np.float64)

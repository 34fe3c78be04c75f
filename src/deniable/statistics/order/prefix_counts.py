"""Counts of consecutive cells and their running sums, from a tree of noisy counts that is made consistent.

Every node of a tree over the cells is counted with noise; least squares then gives the best running sums that all of
them allow. How many children a node has is chosen by the variance, which no data enter: of the running sums, or of
their shares of the total, where the noise of both cancels in part. A histogram alone, without a tree, is best for the
shares of up to fifty cells.

Proof: docs/theory/mechanisms/ranks.md, "Running sums".
Source: Hay, Rastogi, Miklau, Suciu (2010), arXiv:0904.0942, for trees of counts with least squares.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import AdditiveNoise
from deniable.noise.bits import Bits
from deniable.privacy import PrivacyLoss, Relation, Sensitivity
from deniable.privacy.sensitivity import of_spread_sum
from deniable.rows import Floats
from deniable.statistics.price import Price

LARGEST_COUNT = 1024
BRANCHES = (2, 4, 8, 16)


@dataclass(frozen=True)
class PrefixCounts:
    """Noisy running counts of so many cells, at a price.

    Args:
        cells: their number, at most 1024.
        shares: whether the running sums are to be divided by the total.
    """

    cells: int
    price: Price
    relation: Relation
    rows: int = 1
    shares: bool = False

    @cached_property
    def _best(self) -> tuple[float, int]:
        """The mean variance, and the branching that has the least."""
        return min((self._variance(branch), branch) for branch in branches(self.cells))

    @property
    def branch(self) -> int:
        """The children of a node."""
        return self._best[1]

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """How far one unit moves the counts of all nodes."""
        return self._moved(self.branch)

    @cached_property
    def mechanism(self) -> AdditiveNoise:
        """The noise of every node."""
        return self.price.noise(self.sensitivity)

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """Of the counts of all nodes."""
        return self.mechanism.privacy_loss(self.sensitivity)

    @property
    def standard_deviation(self) -> float:
        """The root of the mean variance of a running sum; of shares, times the number of rows, where all cells are
        equally full."""
        return float(np.sqrt(self._best[0]))

    def release(self, counts: NDArray[np.int64], *, bits: Bits, total: int | None = None) -> Floats:
        """Running sums behind every cell, the last one of all cells; they may decrease or be negative.

        Args:
            total: of all cells, where it is public; the others are then the best ones that allow it.
        """
        tree, running = matrices(self.cells, self.branch)
        exact = tree.astype(np.int64) @ counts
        noisy = self.mechanism.release(exact, bits=bits).value.astype(np.float64)
        result: Floats = running @ noisy
        return result if total is None else result + (total - result[-1]) * _slopes(running)

    def draws(self, count: int, *, bits: Bits, known: bool = False) -> Floats:
        """Fresh draws of the error of `release`, shape (count, cells): from public numbers, for intervals.

        Args:
            known: whether the total is.
        """
        _, running = matrices(self.cells, self.branch)
        nodes = running.shape[1]
        noise = self.mechanism.release(np.zeros(count * nodes, dtype=np.int64), bits=bits).value
        errors: Floats = noise.astype(np.float64).reshape(count, nodes) @ running.T
        return errors - np.outer(errors[:, -1], _slopes(running)) if known else errors

    def monotone(self, running: Floats) -> Floats:
        """Running sums near these that never fall, from 0 or more to the same total, which must be above 0.

        Without a tree, those of the nearest counts that are not negative. With one, the nearest ones themselves.
        """
        total = running[-1]
        if self.branch >= self.cells:
            below = np.cumsum(_nonnegative(np.diff(running, prepend=0.0), total))[:-1]
        else:
            from scipy.optimize import isotonic_regression

            below = isotonic_regression(running[:-1]).x
        return np.append(np.clip(below, 0, total), total)

    def _moved(self, branch: int) -> Sensitivity:
        """A row lies in one node of every level."""
        one = of_spread_sum(lower=0, upper=1, total_rows=self.rows, relation=self.relation, cells=self.cells)
        depth = levels(self.cells, branch)
        return replace(
            one,
            l1=one.l1 * depth,
            l2_squared=one.l2_squared * depth,
            coordinates=None if one.coordinates is None else one.coordinates * depth,
        )

    def _variance(self, branch: int) -> float:
        spread = self.price.noise(self._moved(branch)).standard_deviation()
        return spread**2 * _mean_variance(self.cells, branch, self.shares)


def levels(cells: int, branch: int) -> int:
    """Levels of nodes below the root, which is not counted: the sum of its children tells it."""
    depth = 1
    while branch**depth < cells:
        depth += 1
    return depth


def branches(cells: int) -> set[int]:
    """Numbers of children worth a try: for every number of levels the least, and a few more."""
    least = {levels(cells, branch): branch for branch in range(max(cells, 2), 1, -1)}
    return {*least.values(), *filter(cells.__gt__, BRANCHES)}


@lru_cache(maxsize=32)
def matrices(cells: int, branch: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Which cells each node counts, shape (nodes, cells), and the running sums from noisy nodes, (cells, nodes)."""
    if branch >= cells:
        return np.eye(cells), np.tril(np.ones((cells, cells)))
    places = np.arange(cells)
    parts = []
    for level in range(levels(cells, branch)):
        owners = places // branch**level
        parts.append((owners == np.arange(owners[-1] + 1)[:, np.newaxis]).astype(np.float64))
    tree = np.concatenate(parts)
    solved = np.linalg.solve(tree.T @ tree, tree.T)  # least squares: the cells from the nodes
    return tree, np.cumsum(solved, axis=0)


@lru_cache(maxsize=256)
def _mean_variance(cells: int, branch: int, shares: bool) -> float:
    """Of a running sum, or of a share times the number of rows, for nodes with noise of variance 1."""
    if branch >= cells:
        return (cells + 1) / (6 if shares else 2)
    _, running = matrices(cells, branch)
    if shares:
        running = running[:-1] - np.outer(np.arange(1, cells) / cells, running[-1])
    return float((running**2).sum(axis=1).mean())


def _slopes(running: Floats) -> Floats:
    """By how much each running sum is expected to be off when the total is off by 1."""
    slopes: Floats = running @ running[-1] / (running[-1] @ running[-1])
    return slopes


def _nonnegative(counts: Floats, total: float) -> Floats:
    """The nearest counts that are not negative and have this sum, above 0: a constant is taken off those that stay."""
    ordered = np.sort(counts)[::-1]
    constants = (np.cumsum(ordered) - total) / np.arange(1, counts.size + 1)
    kept = np.flatnonzero(ordered > constants)[-1]
    moved: Floats = np.maximum(counts - constants[kept], 0.0)
    return moved

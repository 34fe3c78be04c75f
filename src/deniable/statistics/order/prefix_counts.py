"""Counts of consecutive cells and their running sums, from a tree of noisy counts that is made consistent.

Every node of a tree over the cells is counted with noise; least squares then gives the best running sums that all of
them allow. How many children a node has is chosen by the variance, which no data enter.

Source: Hay, Rastogi, Miklau, Suciu (2010), arXiv:0904.0942, for trees of counts with least squares.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import AdditiveNoise
from deniable.noise.bits import Bits
from deniable.privacy import PrivacyLoss, Relation, Sensitivity, of_spread_sum
from deniable.statistics.data import Floats
from deniable.statistics.price import Price

LARGEST_COUNT = 1024
BRANCHES = (2, 4, 8, 16)


@dataclass(frozen=True)
class PrefixCounts:
    """Noisy running counts of so many cells, at a price.

    Args:
        cells: their number, at most 1024.
    """

    cells: int
    price: Price
    relation: Relation
    rows: int = 1

    @cached_property
    def _best(self) -> tuple[float, int]:
        """The mean variance of a running sum, and the branching that has the least."""
        options = [branch for branch in BRANCHES if branch < self.cells] + [max(self.cells, 2)]
        return min((self._variance(branch), branch) for branch in options)

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
        """The root of the mean variance of a running sum."""
        return float(np.sqrt(self._best[0]))

    def release(self, counts: NDArray[np.int64], *, bits: Bits) -> Floats:
        """Running sums behind every cell, the last one of all cells; they may decrease or be negative."""
        tree, running = matrices(self.cells, self.branch)
        exact = tree.astype(np.int64) @ counts
        noisy = self.mechanism.release(exact, bits=bits).values.astype(np.float64)
        result: Floats = running @ noisy
        return result

    def draws(self, count: int, *, bits: Bits) -> Floats:
        """Fresh draws of the error of `release`, shape (count, cells): from public numbers, for intervals."""
        _, running = matrices(self.cells, self.branch)
        nodes = running.shape[1]
        noise = self.mechanism.release(np.zeros(count * nodes, dtype=np.int64), bits=bits).values
        errors: Floats = noise.astype(np.float64).reshape(count, nodes) @ running.T
        return errors

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
        return spread**2 * _mean_variance(self.cells, branch)


def levels(cells: int, branch: int) -> int:
    """Levels of nodes below the root, which is not counted: the sum of its children tells it."""
    depth = 1
    while branch**depth < cells:
        depth += 1
    return depth


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
def _mean_variance(cells: int, branch: int) -> float:
    """Of a running sum, for nodes with noise of variance 1."""
    if branch >= cells:
        return (cells + 1) / 2
    _, running = matrices(cells, branch)
    return float((running**2).sum(axis=1).mean())

"""Running sums of the counts of consecutive cells, from a tree of noisy counts that is made consistent.

Every node of a tree over the cells is counted with noise; least squares then gives the best running sums that all of
them allow. How many children a node has is chosen by the variance, which no data enter: of the running sums, or of
their shares of the total, where the noise of both cancels in part. A histogram alone, without a tree, is best for the
shares of up to fifty cells.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.additive.base import AdditiveNoise, additive
from deniable.mechanisms.base import Mechanism, Released, WorstCase
from deniable.mechanisms.integers import clamped
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import ExactIntegers, Floats
from deniable.numbers.rationals import whole_number
from deniable.privacy import AddRemove, PrivacyLoss, Sensitivity
from deniable.privacy.sensitivity import of_spread_sum

LARGEST_COUNT = 1024
BRANCHES = (2, 4, 8, 16)
_MOST_ROWS = 2**52  # of a cell, so that sums fit into int64


@dataclass(frozen=True, kw_only=True)
class TreeOfCounts(Mechanism):
    """Count consecutive cells, and sums of `branch` of them, sums of `branch` of those and so on, each with noise.

    Args:
        noise: of every node.
        cells: their number, at most 1024.
        branch: the children of a node; with `cells` children there is no tree, only the counts of the cells.

    Guarantee: that of the noise, when a unit moves each level of the tree by as much as the cells.
    Proof: docs/theory/mechanisms/ranks.md, "Running sums".
    Source: Hay, Rastogi, Miklau, Suciu (2010), arXiv:0904.0942, for trees of counts with least squares.
    """

    kind: ClassVar[str] = "tree_of_counts"

    noise: Annotated[AdditiveNoise, additive]
    cells: Annotated[int, partial(whole_number, lower=1, upper=LARGEST_COUNT)]
    branch: Annotated[int, partial(whole_number, lower=2)]

    @classmethod
    def best(
        cls,
        sensitivity: Sensitivity,
        noise: Callable[[Sensitivity], AdditiveNoise],
        *,
        cells: int,
        shares: bool = False,
    ) -> "TreeOfCounts":
        """The tree whose running sums have the least variance.

        Args:
            sensitivity: of the counts of the cells.
            noise: what may be spent on counts of this sensitivity.
            shares: whether the running sums are to be divided by the total.
        """
        trees = [
            cls(noise=noise(of_nodes(sensitivity, cells, branch)), cells=cells, branch=branch)
            for branch in branches(cells)
        ]
        return min(trees, key=lambda tree: (tree._variance(shares), tree.branch))

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """The loss when one unit moves the counts of the cells by `sensitivity`, which `of_spread_sum` gives."""
        return self.noise.privacy_loss(of_nodes(sensitivity, self.cells, self.branch))

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[ExactIntegers]:
        """The noisy counts of all nodes, those of the cells first: see `running_sums`.

        Args:
            exact: secret counts, one for each cell.
            bits: leave it out, except in tests.
        """
        counts = clamped("exact", exact, lower=0, upper=_MOST_ROWS, listed=True)
        if counts.size != self.cells:
            raise InvalidParameterError(f"the exact input holds one count for each of {self.cells} cells")
        return self.noise.release(matrices(self.cells, self.branch)[0].astype(np.int64) @ counts, bits=bits)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.float64]:
        """The estimate of the count of the first cell, to six decimals."""
        return np.round(exact[0] + self.errors(runs, bits=bits)[:, 0], 6)

    def running_sums(self, nodes: ExactIntegers, *, total: int | None = None) -> Floats:
        """Sums up to and with every cell, the last one of all cells; they may decrease or be negative.

        Args:
            nodes: what was released.
            total: of all cells, where it is public; the others are then the best ones that allow it.
        """
        running = matrices(self.cells, self.branch)[1]
        result: Floats = running @ nodes.astype(np.float64)
        return result if total is None else result + (total - result[-1]) * _slopes(running)

    def errors(self, count: int, *, bits: Bits, known: bool = False) -> Floats:
        """Fresh draws of the errors of the running sums, shape (count, cells): from public numbers, for intervals.

        Args:
            known: whether the total is.
        """
        running = matrices(self.cells, self.branch)[1]
        noise = self.noise.release(np.zeros(count * running.shape[1], dtype=np.int64), bits=bits).value
        errors: Floats = noise.astype(np.float64).reshape(count, -1) @ running.T
        return errors - np.outer(errors[:, -1], _slopes(running)) if known else errors

    def standard_deviation(self, *, shares: bool = False) -> float:
        """The root of the mean variance of a running sum; of shares, times the number of rows, where all cells are
        equally full."""
        return float(np.sqrt(self._variance(shares)))

    def _variance(self, shares: bool) -> float:
        return self.noise.standard_deviation() ** 2 * _mean_variance(self.cells, self.branch, shares)

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

    @classmethod
    def worst_case(cls) -> WorstCase:
        """A row in the first of three cells, counted twice: its estimate alone tells three quarters of the loss."""
        return WorstCase(
            mechanism=cls(noise=Laplace(scale=Fraction(1)), cells=3, branch=2),
            sensitivity=of_spread_sum(lower=0, upper=1, total_rows=1, relation=AddRemove, cells=3),
            exact=(1, 0, 0),
            neighbour=(0, 0, 0),
            attains=False,
        )


def of_nodes(sensitivity: Sensitivity, cells: int, branch: int) -> Sensitivity:
    """Sensitivity of the counts of all nodes: each row is counted by one node of every level.

    Raises: InvalidParameterError if the unit may add to several cells at once more than to a single one, since a node
        that holds all of them moves by the sum.
    """
    if sensitivity.l1 > sensitivity.linf * (1 if sensitivity.relation is AddRemove else 2):
        raise InvalidParameterError(
            "a tree of counts needs a bound on all rows of a unit together. "
            "Pass of_spread_sum(lower=0, upper=1, total_rows=..., relation=..., cells=...)."
        )
    depth = levels(cells, branch)
    coordinates = None if sensitivity.coordinates is None else sensitivity.coordinates * depth
    return replace(
        sensitivity, l1=sensitivity.l1 * depth, l2_squared=sensitivity.l2_squared * depth, coordinates=coordinates
    )


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
    """Mean variance of running sums, or of shares times the number of rows, for nodes with noise of variance 1."""
    if branch >= cells:
        return (cells + 1) / (6 if shares else 2)
    _, running = matrices(cells, branch)
    if shares:
        running = running[:-1] - np.outer(np.arange(1, cells) / cells, running[-1])
    return float((running**2).sum(axis=1).mean())


def _slopes(running: Floats) -> Floats:
    """Expected error of each running sum when the total is off by 1."""
    slopes: Floats = running @ running[-1] / (running[-1] @ running[-1])
    return slopes


def _nonnegative(counts: Floats, total: float) -> Floats:
    """The nearest counts that are not negative and have this sum, above 0: a constant is taken off those that stay."""
    ordered = np.sort(counts)[::-1]
    constants = (np.cumsum(ordered) - total) / np.arange(1, counts.size + 1)
    kept = np.flatnonzero(ordered > constants)[-1]
    moved: Floats = np.maximum(counts - constants[kept], 0.0)
    return moved

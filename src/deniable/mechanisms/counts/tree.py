"""Running sums of the counts of consecutive cells, from a tree of noisy counts.

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
from deniable.numbers.simplex import onto_simplex
from deniable.privacy import AddRemove, PrivacyLoss, Sensitivity
from deniable.privacy.sensitivity import of_spread_sum

LARGEST_COUNT = 1024
BRANCHES = (2, 4, 8, 16)
_MOST_ROWS = 2**52  # of a cell, so that sums fit into int64


@dataclass(frozen=True, kw_only=True)
class TreeOfCounts(Mechanism):
    """Count consecutive cells with noise, and sums of `branch` of them at each level.

    Args:
        noise: of every node.
        cells: their number, at most 1024.
        branch: the children of a node; with `cells` children there is no tree, only the counts of the cells.

    Guarantee: that of the noise, when a unit moves each level of the tree by as much as the cells.
    Proof: docs/theory/mechanisms/ranks.md, "Running sums".
    Source: Hay, Rastogi, Miklau, Suciu (2010), arXiv:0904.0942, for trees of counts with least squares.

    >>> from deniable.privacy import AddRemove
    >>> one = of_spread_sum(lower=0, upper=1, total_rows=1, relation=AddRemove, cells=100)
    >>> tree = TreeOfCounts.best(one, lambda moved: Laplace.calibrated(moved, epsilon=1), cells=100)
    >>> tree.branch, round(tree.standard_deviation(), 1)
    (16, 6.5)
    >>> noisy = tree.running_sums(tree.release([5] * 100).value)
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
        """Return the tree whose running sums have the least variance.

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
        """Return the loss when one unit moves the counts of the cells by `sensitivity`.

        Args:
            sensitivity: of the counts of the cells, as `of_spread_sum` gives it.
        """
        return self.noise.privacy_loss(of_nodes(sensitivity, self.cells, self.branch))

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[ExactIntegers]:
        """Return the noisy counts of all nodes, those of the cells first.

        `running_sums` makes sums of them.

        Args:
            exact: secret counts, one for each cell.
            bits: leave it out, except in tests.
        """
        counts = clamped("exact", exact, lower=0, upper=_MOST_ROWS, listed=True)
        if counts.size != self.cells:
            raise InvalidParameterError(f"the exact input holds one count for each of {self.cells} cells")
        return self.noise.release(matrices(self.cells, self.branch)[0].astype(np.int64) @ counts, bits=bits)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.float64]:
        """Return the estimate of the count of the first cell, to six decimals."""
        return np.round(exact[0] + self.errors(runs, bits=bits)[:, 0], 6)

    def running_sums(self, nodes: ExactIntegers, *, total: int | None = None) -> Floats:
        """Return the sums up to and with every cell; they may decrease or be negative.

        Args:
            nodes: what was released.
            total: of all cells, where it is public; the others are then the best ones that allow it.
        """
        running = matrices(self.cells, self.branch)[1]
        result: Floats = running @ nodes.astype(np.float64)
        return result if total is None else result + (total - result[-1]) * _slopes(running)

    def errors(self, count: int, *, bits: Bits, known: bool = False) -> Floats:
        """Draw errors of the running sums, shape (count, cells), for intervals.

        They depend on public numbers alone.

        Args:
            known: whether the total is.
        """
        running = matrices(self.cells, self.branch)[1]
        noise = self.noise.release(np.zeros(count * running.shape[1], dtype=np.int64), bits=bits).value
        errors: Floats = noise.astype(np.float64).reshape(count, -1) @ running.T
        return errors - np.outer(errors[:, -1], _slopes(running)) if known else errors

    def standard_deviation(self, *, shares: bool = False) -> float:
        """Return the root of the mean variance of a running sum.

        Of shares, times the number of rows, where all cells are equally full.
        """
        return float(np.sqrt(self._variance(shares)))

    def _variance(self, shares: bool) -> float:
        return self.noise.standard_deviation() ** 2 * _mean_variance(self.cells, self.branch, shares)

    def monotone(self, running: Floats) -> Floats:
        """Return running sums near these that never fall, with the same total.

        They begin at 0 or more, and the total must be above 0.

        Without a tree, those of the nearest counts that are not negative. With one, the nearest ones themselves.
        """
        total = running[-1]
        if self.branch >= self.cells:
            below = np.cumsum(onto_simplex(np.diff(running, prepend=0.0), total))[:-1]
        else:
            from scipy.optimize import isotonic_regression

            below = isotonic_regression(running[:-1]).x
        return np.append(np.clip(below, 0, total), total)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a row in the first of three cells, counted twice.

        Its estimate alone shows three quarters of the loss.
        """
        return WorstCase(
            mechanism=cls(noise=Laplace(scale=Fraction(1)), cells=3, branch=2),
            sensitivity=of_spread_sum(lower=0, upper=1, total_rows=1, relation=AddRemove, cells=3),
            exact=(1, 0, 0),
            neighbour=(0, 0, 0),
            attains=False,
        )


def of_nodes(sensitivity: Sensitivity, cells: int, branch: int) -> Sensitivity:
    """Return the sensitivity of the counts of all nodes.

    Each row is counted by one node of every level.

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
    """Return the number of levels below the root, which is the sum of its children."""
    depth = 1
    while branch**depth < cells:
        depth += 1
    return depth


def branches(cells: int) -> set[int]:
    """Return numbers of children to try: the least per number of levels, and more."""
    smallest_branch = {levels(cells, branch): branch for branch in range(max(cells, 2), 1, -1)}
    return {*smallest_branch.values(), *filter(cells.__gt__, BRANCHES)}


@lru_cache(maxsize=32)
def matrices(cells: int, branch: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return which cells each node counts, and the running sums from noisy nodes.

    Shapes (nodes, cells) and (cells, nodes).
    """
    if branch >= cells:
        return np.eye(cells), np.tril(np.ones((cells, cells)))
    indices = np.arange(cells)
    parts = []
    for level in range(levels(cells, branch)):
        owners = indices // branch**level
        parts.append((owners == np.arange(owners[-1] + 1)[:, np.newaxis]).astype(np.float64))
    tree = np.concatenate(parts)
    solved = np.linalg.solve(tree.T @ tree, tree.T)  # least squares: the cells from the nodes
    return tree, np.cumsum(solved, axis=0)


@lru_cache(maxsize=256)
def _mean_variance(cells: int, branch: int, shares: bool) -> float:
    """Return the mean variance of running sums for nodes with noise of variance 1.

    Of shares, times the number of rows.
    """
    if branch >= cells:
        return (cells + 1) / (6 if shares else 2)
    _, running = matrices(cells, branch)
    if shares:
        running = running[:-1] - np.outer(np.arange(1, cells) / cells, running[-1])
    return float((running**2).sum(axis=1).mean())


def _slopes(running: Floats) -> Floats:
    """Return the expected error of each running sum when the total is off by 1."""
    slopes: Floats = running @ running[-1] / (running[-1] @ running[-1])
    return slopes

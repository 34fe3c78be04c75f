"""Binary tree of sums."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from deniable.mechanisms.correlated.base import NoiseCorrelation, Uses
from deniable.numbers.arrays import ExactIntegers, Floats
from deniable.privacy.sensitivity.tree import squared_tree_sensitivity


@dataclass(frozen=True, kw_only=True)
class Tree(NoiseCorrelation):
    """Noisy sums of 1, 2, 4, ... consecutive steps (DP-FTRL).

    Few of them make every prefix sum.

    Guarantee: `squared_tree_sensitivity`: the squared numbers of uses in one node, over the worst steps for a row.
    Source: Kairouz et al. (2021), arXiv:2103.00039 (DP-FTRL); each node is improved by those below: Honaker (2015).

    >>> from deniable.mechanisms.correlated import Tree, Uses
    >>> [round(error, 3) for error in Tree().errors(Uses(steps=1024, dimensions=1))]
    [7.989, 5.65]
    """

    releases_several: ClassVar[bool] = True

    def blank(self, uses: Uses) -> Any:
        """Return no sums of open nodes."""
        return {}

    def mixed(self, total: ExactIntegers, carried: Any, step: int, uses: Uses) -> ExactIntegers:
        """Return the sums of the nodes that end with this step."""
        for level in range(uses.steps.bit_length()):
            carried[level] = carried.get(level, 0) + total
        full = [level for level in range(uses.steps.bit_length()) if step % 2**level == 0]
        return np.array([carried.pop(level) for level in full])

    def unmixed(self, noisy: Floats, carried: Any, step: int, uses: Uses) -> Floats:
        """Return the noisy sum of this step: the difference of two estimated prefix sums."""
        below = noisy[0]
        for level, sums in enumerate(noisy[1:], start=1):
            share = _node_variance(level)  # of a node's own noise, against the sum of its two halves
            below = share * sums + (1 - share) * (carried.pop(level - 1) + below)
        carried[len(noisy) - 1] = below
        now = np.sum([carried[level] for level in carried if isinstance(level, int)], axis=0)
        total = now - carried.get("before", 0.0)
        carried["before"] = now
        return np.asarray(total)

    def sensitivity(self, uses: Uses) -> int:
        """Return the l2 sensitivity of all nodes together."""
        return math.isqrt(self._squared(uses) * uses.lattice**2 - 1) + 1

    def _squared(self, uses: Uses) -> int:
        return squared_tree_sensitivity(uses.steps, uses.times, uses.separation)

    def errors(self, uses: Uses) -> tuple[float, float]:
        """Return the errors of sums, from the variances of their nodes."""
        squared = self.spreads(uses) ** 2 * self._squared(uses)
        return math.sqrt(squared.max()), math.sqrt(squared.mean())

    def spreads(self, uses: Uses, *, window: int | None = None) -> Floats:
        """Return standard deviations; of prefix sums, from the variances of nodes."""
        if window is not None:
            return super().spreads(uses, window=window)
        step = np.arange(1, uses.steps + 1)
        variances = sum((step >> level & 1) * _node_variance(level) for level in range(uses.steps.bit_length()))
        return np.asarray(np.sqrt(np.asarray(variances)))


def _node_variance(level: int) -> float:
    """Return the variance of the best estimate of a node from itself and all below.

    The noise has variance 1; v = 1 / (1 + 1 / (2 v')) for the variance v' of a child.
    """
    return float(2**level / (2 ** (level + 1) - 1))

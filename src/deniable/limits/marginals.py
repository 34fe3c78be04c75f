"""Means of many columns at once: fingerprinting."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from deniable.limits.two_points import apart, row_counts, size_of
from deniable.privacy import PrivacyLoss, Replace
from deniable.privacy.budget.filter import proved_for


def marginals_error(loss: PrivacyLoss, *, rows: int, columns: int) -> float:
    """Bound from below the error of every private release of all columns' means.

    The error is the root of the mean square over columns.

    Args:
        loss: proved under replace.
        rows, columns: of a table of zeros and ones.

    Guarantee: for some table, and every m <= rows, (m / (2 rows)) (s - sqrt(2 / (3 m))) with
        s = (2 - 8 m delta) / (3 m c / sqrt(columns) + 2 sqrt(3)), where c^2 is the chi-square divergence of the loss,
        or 4 sinh(epsilon / 2)^2 with delta; or the bound of two points where that is larger. So the rate is
        sqrt(columns) / (rows epsilon), that of Gaussian noise.
    Source: Bun, Ullman, Vadhan (2014), arXiv:1311.3158; Dwork, Smith, Steinke, Ullman, Vadhan (2015); constants derived
        in docs/theory/limits/lower_bounds.md.

    >>> from deniable.privacy import ConcentratedLoss
    >>> noise = (1000 / (2 * 0.01)) ** 0.5 / 10**6                     # Gaussian noise for rho = 0.01
    >>> 0.2 < marginals_error(ConcentratedLoss(rho="0.01"), rows=10**6, columns=1000) / noise < 1
    True
    """
    count, width = size_of("rows", rows), size_of("columns", columns)
    m = np.unique(np.geomspace(1, count, 400).astype(np.int64)).astype(np.float64)
    best = max(k / (2 * count) * math.sqrt(1 - apart(loss, k)) for k in row_counts(count))
    for c, delta in _contrasts(loss):
        difference = (2 - 8 * m * delta) / (3 * m * c / math.sqrt(width) + 2 * math.sqrt(3))
        best = max(best, float((m / (2 * count) * (difference - np.sqrt(2 / (3 * m)))).max()))
    return best * (1 - 1e-9)


def _contrasts(loss: PrivacyLoss) -> Iterator[tuple[float, float]]:
    """Bound how far expectations differ: c root(second moment), but for a share delta."""
    divergence = proved_for(Replace, loss).renyi(2).upper
    if divergence < 300:
        yield math.sqrt(math.expm1(divergence)), 0.0
    for failure in (Fraction(0), *(Fraction(1, 10**power) for power in range(3, 16))):
        epsilon = loss.epsilon(failure).upper
        if epsilon < 300:
            yield 2 * math.sinh(epsilon / 2), float(failure)

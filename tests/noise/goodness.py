"""Exact laws in mpmath, and a chi-square test of draws against them.

The streams are deterministic, so a test gives the same result at every run. Read as a random test it has
false-alarm rate ALARM, and it misses its twins (scale times 0.7, 1.3 and 1.02) with a rate below 10^-9.
"""

from fractions import Fraction

import mpmath as mp
import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

ALARM = 1e-5


def laplace_mass(scale: Fraction, k: int) -> mp.mpf:
    """P(k), 50 digits."""
    with mp.workdps(50):
        ratio = mp.exp(-mp.mpf(scale.denominator) / scale.numerator)
        return (1 - ratio) / (1 + ratio) * ratio ** abs(k)


def gaussian_mass(sigma_squared: Fraction, k: int) -> mp.mpf:
    """P(k), 50 digits; the sum term by term, so for sigma up to about 100."""
    with mp.workdps(50):
        rate = mp.mpf(sigma_squared.denominator) / (2 * sigma_squared.numerator)
        reach = int(mp.sqrt(60 * mp.log(10) / rate)) + 2
        return mp.exp(-rate * k * k) / (1 + 2 * mp.fsum(mp.exp(-rate * j * j) for j in range(1, reach)))


def laplace_cdf(scale: float, k: NDArray[np.float64]) -> NDArray[np.float64]:
    """P[X <= k], float64."""
    ratio = np.exp(-1 / scale)
    below = np.exp(np.minimum(k, 0) / scale) / (1 + ratio)
    return np.where(k < 0, below, 1 - np.exp(-(k + 1) / scale) / (1 + ratio))


def gaussian_cdf(sigma: float, k: NDArray[np.float64]) -> NDArray[np.float64]:
    """P[X <= k], float64: summed for sigma up to 50; above, the normal law at k + 1/2."""
    if sigma > 50:
        return special.ndtr((k + 0.5) / sigma)
    half = int(40 * sigma) + 2
    mass = np.exp(-(np.arange(-half, half + 1) ** 2) / (2 * sigma**2))
    return np.cumsum(mass)[np.clip(k.astype(np.int64), -half, half) + half] / mass.sum()


def p_value(draws: NDArray[np.int64], cdf, reach: float, cells: int = 400) -> float:
    """p-value of Pearson's chi-square over at most `cells` intervals of [-reach, reach] and two tails."""
    edges = np.unique(np.rint(np.linspace(-reach, reach, cells)))  # a cell is (edge, next edge]
    mass = np.diff(np.concatenate([[0.0], cdf(edges), [1.0]]))
    counts = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=mass.size)
    expected = mass * draws.size
    small = expected < 10  # pooled into one cell
    observed = np.append(counts[~small], counts[small].sum())
    wanted = np.append(expected[~small], expected[small].sum())
    keep = wanted > 1
    statistic = ((observed[keep] - wanted[keep]) ** 2 / wanted[keep]).sum()
    return float(stats.chi2.sf(statistic, int(keep.sum()) - 1))

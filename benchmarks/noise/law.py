"""Do 10^8 draws follow the law? Pearson's chi-square against the exact probabilities, and against wrong scales.

    python benchmarks/noise/law.py [--draws 100000000] [--output benchmarks/results/noise-law.md]

Secure bits, so every run is a new test. A right sampler has a p-value below 0.0001 in one of 10,000 laws; each twin
(the law of another scale) must be rejected.
"""

import argparse
import math
import platform
import time
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from deniable.noise import gaussian, laplace

CHUNK = 1 << 22
TWINS = (0.7, 0.99, 1.01, 1.3)
LAWS = [(law, scale) for law in ("laplace", "gaussian") for scale in (1, 10, 10**4, 10**9)]


def laplace_cdf(scale: float, k: NDArray[np.float64]) -> NDArray[np.float64]:
    """P[X <= k]."""
    ratio = math.exp(-1 / scale)
    return np.where(k < 0, np.exp(np.minimum(k, 0) / scale) / (1 + ratio), 1 - np.exp(-(k + 1) / scale) / (1 + ratio))


def gaussian_cdf(sigma: float, k: NDArray[np.float64]) -> NDArray[np.float64]:
    """P[X <= k]: the sum up to sigma 100; above, the normal law at k + 1/2, off by less than 1 / (12 sigma^2)."""
    if sigma > 100:
        return special.ndtr((k + 0.5) / sigma)
    half = int(40 * sigma) + 2
    mass = np.exp(-(np.arange(-half, half + 1) ** 2) / (2 * sigma**2))
    return np.cumsum(mass)[np.clip(k, -half, half).astype(np.int64) + half] / mass.sum()


def counts_of(draw: Callable[[int], NDArray[np.int64]], draws: int, half: int, step: int) -> NDArray[np.int64]:
    """Draws in each cell of `step` integers of [-half step, half step), and in the two tails."""
    counts = np.zeros(2 * half + 2, dtype=np.int64)
    left = draws
    while left:
        part = draw(min(left, CHUNK))
        left -= part.size
        counts += np.bincount(np.clip(part // step, -half - 1, half) + half + 1, minlength=counts.size)
    return counts


def p_value(counts: NDArray[np.int64], mass: NDArray[np.float64]) -> tuple[float, float, int]:
    """Chi-square, its p-value and degrees of freedom; cells that expect fewer than 20 are joined."""
    expected = mass * counts.sum()
    small = expected < 20
    observed, wanted = (
        np.append(counts[~small], counts[small].sum()),
        np.append(expected[~small], expected[small].sum()),
    )
    if wanted[-1] < 1:
        observed, wanted = observed[:-1], wanted[:-1]
    statistic = float(((observed - wanted) ** 2 / wanted).sum())
    return statistic, float(stats.chi2.sf(statistic, observed.size - 1)), observed.size - 1


def row(law: str, scale: int, draws: int) -> str:
    reach = (20 if law == "laplace" else 6.5) * scale + 6
    step = max(1, int(reach) // 500)
    half = int(reach) // step + 1
    if law == "laplace":
        cdf, draw = laplace_cdf, lambda n: laplace.sample(scale=scale, size=n)
    else:
        cdf, draw = gaussian_cdf, lambda n: gaussian.sample(sigma_squared=Fraction(scale) ** 2, size=n)
    counts = counts_of(draw, draws, half, step)
    last = np.arange(-half, half + 1, dtype=np.float64) * step - 1  # the last integer below each cell

    def mass(factor: float) -> NDArray[np.float64]:
        return np.diff(np.concatenate([[0.0], cdf(scale * factor, last), [1.0]]))

    statistic, p, freedom = p_value(counts, mass(1.0))
    twins = [p_value(counts, mass(factor))[1] for factor in TWINS]
    assert p > 1e-4, (law, scale, p)
    assert max(twins) < 1e-12, (law, scale, twins)
    return (
        f"| {law} | {scale:,} | {statistic:,.0f} | {freedom} | {p:.3f} | "
        + " | ".join("rejected" for _ in twins)
        + " |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10**8)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    start = time.perf_counter()
    rows = [row(law, scale, arguments.draws) for law, scale in LAWS]
    text = "\n".join([
        "# Noise: the law", "",
        f"{arguments.draws:,} draws of each law from secure bits; chi-square against the exact probabilities. "
        "`rejected`: p-value below 10^-12 for the law of that multiple of the scale.",
        f"Python {platform.python_version()}, numpy {version('numpy')}, {time.perf_counter() - start:.0f} s.", "",
        "| law | scale or sigma | chi-square | degrees of freedom | p-value | "
        + " | ".join(f"x {t}" for t in TWINS) + " |", "|---" * (5 + len(TWINS)) + "|", *rows, "",
    ])  # fmt: skip
    print(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()

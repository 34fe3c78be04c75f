"""Bands that hold for all steps of a stream at once."""

import math

import numpy as np

from deniable.mechanisms.correlated import Uses
from deniable.noise.bits import DeterministicBits
from deniable.noise.simulation import normals
from deniable.stream.plan import PricedStrategy

_RUNS = 4000
_MAX_SIMULATED_STEPS = 1024


def band_factor(strategy: PricedStrategy, *, steps: int, level: float, cells: int) -> float:
    """Return the half width of a band for all steps, in standard errors.

    Args:
        strategy: whose errors are correlated.
        steps: of the band.
        level: probability that the whole band holds.
        cells: number of parallel counters, each with its own noise.

    Guarantee: the bound of Sidak (1967) for normal errors of any correlation; for one counter of up to 1,024 steps the
        quantile of 4,000 simulated streams of normal noise, which is less.
    """
    from scipy.special import ndtri

    bound = float(-ndtri(-math.expm1(math.log(level) / (steps * cells)) / 2))
    if cells > 1 or steps > _MAX_SIMULATED_STEPS:
        return bound
    matrix = strategy.correlation.estimator(Uses(steps=steps, dimensions=1, lattice=strategy.plan.uses.lattice))
    matrix /= np.sqrt((matrix**2).sum(axis=1))[:, np.newaxis]
    greatest = np.abs(matrix @ normals((matrix.shape[1], _RUNS), bits=DeterministicBits(0))).max(axis=0)
    return min(bound, float(np.quantile(greatest, level)))

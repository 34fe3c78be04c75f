"""Toeplitz correlation of a few diagonals, exact."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.correlated.base import NoiseCorrelation, Uses
from deniable.numbers.arrays import ExactIntegers, Floats
from deniable.numbers.rationals import shown, whole_number
from deniable.privacy.amplification.training.correlated import ToeplitzStrategy

_DYADIC = 2**12  # coefficients of a banded strategy are multiples of 1 / this
_MAX_BANDED_SUM = 2**60  # so that mixed sums fit int64


@dataclass(frozen=True, kw_only=True)
class Banded(NoiseCorrelation):
    """Toeplitz matrix C of a few diagonals.

    Args:
        coefficients: of the diagonals, the first of them 1; rounded to multiples of 1/4096.

    Source: Choquette-Choo et al. (2023), arXiv:2306.08153; McKenna (2024), arXiv:2405.15913, for Toeplitz matrices.

    >>> from deniable.mechanisms.correlated import Banded, Uses
    >>> uses = Uses(steps=256, dimensions=1)
    >>> [round(Banded.best(uses, bands=bands).errors(uses)[1], 2) for bands in (1, 4, 16)]
    [11.34, 5.98, 3.64]
    """

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        read = ToeplitzStrategy(self.coefficients, steps=10**6).coefficients
        rounded = tuple(round(value * _DYADIC) / _DYADIC for value in read)
        if rounded[0] != 1 or sum(map(abs, rounded)) > _DYADIC:
            raise InvalidParameterError(f"coefficients must begin with 1, got {shown(self.coefficients[0])}")
        read_fields(self, coefficients=rounded)

    @classmethod
    def best(cls, uses: Uses, *, bands: int) -> "Banded":
        """Return bands with nearly the least root mean squared error of prefix sums.

        With a separation of at least `bands` the sensitivity is exact.

        Args:
            uses: how a row takes part.
            bands: the number of diagonals.
        """
        start = ToeplitzStrategy.square_root(steps=uses.steps, bands=whole_number("bands", bands, lower=1)).coefficients
        best = _minimised(lambda free: _toeplitz_errors(np.array([1.0, *free]), uses)[1], np.array(start[1:]))
        return cls(coefficients=(1.0, *best.tolist()))

    def blank(self, uses: Uses) -> list[Any]:
        """Return no sums of earlier steps."""
        return []

    def mixed(self, total: ExactIntegers, carried: Any, step: int, uses: Uses) -> ExactIntegers:
        """Return the weighted sum of this and the last few steps."""
        whole = [round(value * _DYADIC) for value in self.coefficients]
        limit = _MAX_BANDED_SUM // sum(map(abs, whole))
        carried.insert(0, np.clip(total, -limit, limit))  # entry by entry: no two sums get farther apart
        del carried[len(whole) :]
        mixed = np.zeros_like(carried[0])
        for weight, past in zip(whole, carried, strict=False):
            mixed += weight * past
        return np.asarray(mixed)

    def unmixed(self, noisy: Floats, carried: Any, step: int, uses: Uses) -> Floats:
        """Return the noisy sum without the parts of the last few steps."""
        total = noisy / _DYADIC
        for weight, past in zip(self.coefficients[1:], carried, strict=False):
            total -= weight * past
        carried.insert(0, total)
        del carried[len(self.coefficients) - 1 :]
        return total

    def fine(self, uses: Uses) -> int:
        """Return the common denominator of the coefficients."""
        return _DYADIC

    def sensitivity(self, uses: Uses) -> int:
        """Return the l2 sensitivity, from the certified one of the strategy."""
        strategy = ToeplitzStrategy(self.coefficients, steps=uses.steps)
        squared = strategy.squared_sensitivity(uses.times, uses.separation).upper
        return math.ceil(Fraction(math.sqrt(squared)) * Fraction(1 + 2**-50) * uses.lattice * _DYADIC)

    def errors(self, uses: Uses) -> tuple[float, float]:
        """Return the errors of sums, from the coefficients of C^-1."""
        return _toeplitz_errors(np.array(self.coefficients), uses)


def _toeplitz_errors(coefficients: Floats, uses: Uses) -> tuple[float, float]:
    """Return the errors of `NoiseCorrelation.errors`, from the diagonals of C^-1.

    Those of A C^-1 are their prefix sums.
    """
    from scipy.signal import lfilter

    impulse = np.eye(1, uses.steps)[0]
    squares = np.cumsum(np.cumsum(lfilter([1.0], coefficients[: uses.steps], impulse)) ** 2)
    strategy = ToeplitzStrategy(coefficients.tolist(), steps=uses.steps)
    squared = strategy.squared_sensitivity(uses.times, uses.separation).upper
    return math.sqrt(squared * squares[-1]), math.sqrt(squared * squares.mean())


def _minimised(error: Callable[[Floats], float], start: Floats) -> Floats:
    """Return nearby parameters with a smaller error, or the start if there are none."""
    from scipy.optimize import minimize

    if not start.size:
        return start

    def finite_error(free: Floats) -> float:
        return float(np.nan_to_num(error(free), nan=1e300, posinf=1e300))

    method, options = "L-BFGS-B", {}
    if start.size <= 8:
        method, options = "Nelder-Mead", {"maxiter": 2000, "fatol": 1e-9}
    with np.errstate(all="ignore"):
        result = minimize(finite_error, start, method=method, options=options)
    return np.asarray(result.x) if result.fun < error(start) else start

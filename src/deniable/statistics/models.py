"""Public models of the rows of a population, to simulate from.

Their parameters are released or assumed numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise.bits import Bits
from deniable.noise.simulation import normals, uniforms


class Model(Protocol):
    """Distribution of rows, which are drawn independently of each other.

    Any object with these two members is one.

    Attributes:
        truth: values of statistics in the population, by name, of those that are known.

    >>> from deniable.noise.bits import SECURE
    >>> rows = Normal(mean=30, deviation=10).sample(100, bits=SECURE)
    """

    def sample(self, size: int, *, bits: Bits) -> Any:
        """Return a sample of `size` rows, as the statistic takes them."""
        ...

    @property
    def truth(self) -> Mapping[str, float]:
        """Values of statistics in the population, by name, of those that are known."""
        ...


@dataclass(frozen=True, kw_only=True)
class Normal:
    """Rows of one column with a normal distribution.

    Args:
        mean: of the rows.
        deviation: standard deviation of the rows, >= 0.

    >>> Normal(mean=30, deviation=10).truth["variance"]
    100
    """

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        _finite(mean=self.mean, deviation=self.deviation)
        if self.deviation < 0:
            raise InvalidParameterError(f"deviation must be >= 0, got {self.deviation}")

    @property
    def truth(self) -> dict[str, float]:
        return {
            "mean": self.mean,
            "median": self.mean,
            "variance": self.deviation**2,
            "standard_deviation": self.deviation,
        }

    def sample(self, size: int, *, bits: Bits) -> NDArray[np.float64]:
        return self.mean + self.deviation * normals((size,), bits=bits)


@dataclass(frozen=True, kw_only=True)
class Bernoulli:
    """Rows that are 1 with a probability, and 0 otherwise.

    Args:
        chance: the probability of 1, in [0, 1].

    >>> Bernoulli(chance=0.25).truth["mean"]
    0.25
    """

    chance: float

    def __post_init__(self) -> None:
        _finite(chance=self.chance)
        if not 0 <= self.chance <= 1:
            raise InvalidParameterError(f"chance must be in [0, 1], got {self.chance}. Clamp a noisy share first.")

    @property
    def truth(self) -> dict[str, float]:
        variance = self.chance * (1 - self.chance)
        return {"mean": self.chance, "variance": variance, "standard_deviation": sqrt(variance)}

    def sample(self, size: int, *, bits: Bits) -> NDArray[np.float64]:
        return (uniforms((size,), bits=bits) < self.chance).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class Exponential:
    """Rows that are waiting times, with an exponential distribution.

    Args:
        mean: of the rows, > 0.

    >>> round(Exponential(mean=10).truth["median"], 2)
    6.93
    """

    mean: float

    def __post_init__(self) -> None:
        _finite(mean=self.mean)
        if self.mean <= 0:
            raise InvalidParameterError(f"mean must be > 0, got {self.mean}")

    @property
    def truth(self) -> dict[str, float]:
        return {
            "mean": self.mean,
            "median": self.mean * log(2),
            "variance": self.mean**2,
            "standard_deviation": self.mean,
        }

    def sample(self, size: int, *, bits: Bits) -> NDArray[np.float64]:
        return -self.mean * np.log(uniforms((size,), bits=bits))


@dataclass(frozen=True, kw_only=True)
class Multinomial:
    """Rows that are one of several keys.

    Args:
        keys: the values, all different.
        chances: of the keys; scaled to add up to 1.

    >>> from deniable.noise.bits import SECURE
    >>> rows = Multinomial(keys=["a", "b"], chances=[3, 1]).sample(100, bits=SECURE)
    >>> set(rows) <= {"a", "b"}
    True
    """

    keys: Sequence[object]
    chances: Sequence[float]

    def __post_init__(self) -> None:
        chances = np.asarray(self.chances, dtype=np.float64)
        if chances.shape != (len(self.keys),) or not len(self.keys):
            raise InvalidParameterError(f"chances must be one for each of {len(self.keys)} keys, got {len(chances)}")
        if not np.isfinite(chances).all() or chances.min() < 0 or chances.sum() <= 0:
            raise InvalidParameterError("chances must be >= 0, and not all 0. Clamp noisy counts first.")

    @property
    def truth(self) -> dict[str, float]:
        return {}

    def sample(self, size: int, *, bits: Bits) -> NDArray[Any]:
        edges = np.cumsum(np.asarray(self.chances, dtype=np.float64))
        indices = np.searchsorted(edges, uniforms((size,), bits=bits) * edges[-1], side="right")
        rows: NDArray[Any] = np.asarray(self.keys)[np.minimum(indices, len(edges) - 1)]
        return rows


@dataclass(frozen=True, kw_only=True)
class NormalVectors:
    """Rows of several columns with a joint normal distribution.

    Args:
        means: one per column.
        covariance: a symmetric matrix without negative eigenvalues.

    >>> from deniable.noise.bits import SECURE
    >>> NormalVectors(means=[0, 1], covariance=[[1, 0.5], [0.5, 2]]).sample(100, bits=SECURE).shape
    (100, 2)
    """

    means: Sequence[float]
    covariance: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        means, matrix = np.asarray(self.means, dtype=np.float64), np.asarray(self.covariance, dtype=np.float64)
        if means.ndim != 1 or matrix.shape != (len(means), len(means)) or not np.allclose(matrix, matrix.T):
            raise InvalidParameterError(f"covariance must be a symmetric matrix of {len(means)} columns")
        if np.linalg.eigvalsh(matrix)[0] < -1e-9 * np.abs(matrix).max():
            raise InvalidParameterError("covariance must have no negative eigenvalue")

    @property
    def truth(self) -> dict[str, float]:
        return {}

    def sample(self, size: int, *, bits: Bits) -> NDArray[np.float64]:
        values, axes = np.linalg.eigh(np.asarray(self.covariance, dtype=np.float64))
        root = axes * np.sqrt(np.maximum(values, 0.0))
        rows: NDArray[np.float64] = np.asarray(self.means) + normals((size, len(values)), bits=bits) @ root.T
        return rows


def _finite(**numbers: float) -> None:
    for name, number in numbers.items():
        if not np.isfinite(number):
            raise InvalidParameterError(f"{name} must be a finite number, got {number}")

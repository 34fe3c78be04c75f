"""Dense correlation for any sums of steps, with a certificate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.correlated.base import NoiseCorrelation, Uses
from deniable.numbers.arrays import ExactIntegers, Floats
from deniable.privacy.amplification.training.correlated import ExplicitStrategy, ToeplitzStrategy

MAX_STEPS = 1024
_DYADIC = 2**14  # entries are multiples of 1 / this
_MAX_MIXED_SUM = 2**62  # so that mixed sums fit int64
_GAP = 1e-4  # relative, between the squared error and its lower bound
_ITERATIONS = 300
_OVER_RELAXATION = 1.8  # exponent of a step of the fixed point; 1 takes twice as many


class Optimum(NamedTuple):
    """Gram matrix C^T C of a strategy of unit sensitivity, and its proved error.

    Args:
        gram: shape (steps, steps).
        error: root mean squared error of the sums, per unit of noise multiplier.
        lower: a bound that no strategy of one participation beats.
    """

    gram: Floats
    error: float
    lower: float


@dataclass(frozen=True, kw_only=True)
class Triangular(NoiseCorrelation):
    """Any lower-triangular C, which carries the sums of all earlier steps.

    Args:
        rows: of C, row t with t numbers; rounded to multiples of 2^-14.

    Source: Li, Miklau, Hay, McGregor, Rastogi (2015), "The matrix mechanism"; the optimum is a fixed point with a
        duality gap, docs/theory/mechanisms/correlated.md.

    >>> from deniable.mechanisms.correlated import Triangular, Uses
    >>> uses = Uses(steps=64, dimensions=1)
    >>> weekly = Triangular.best(uses, windows=[7])
    >>> round(float(np.sqrt((weekly.spreads(uses, window=7) ** 2).mean()) * weekly.norm(uses)), 2)
    1.75
    """

    remembers_all: ClassVar[bool] = True

    rows: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        shape = 1 <= len(self.rows) <= MAX_STEPS and all(
            len(row) == size for size, row in enumerate(self.rows, start=1)
        )
        if not shape or not all(math.isfinite(sum(row)) for row in self.rows):
            raise InvalidParameterError(f"rows must be 1, 2, 3, ... finite numbers, at most {MAX_STEPS} of them")
        rounded = tuple(tuple(round(float(value) * _DYADIC) / _DYADIC for value in row) for row in self.rows)
        if not all(row[-1] > 0 for row in rounded):
            raise InvalidParameterError("the last number of each row must be above 0: a step may not be left out")
        read_fields(self, rows=rounded)

    @classmethod
    def square_root(cls, uses: Uses) -> "Triangular":
        """Return the square root of the matrix of prefix sums, the best Toeplitz one."""
        coefficients = ToeplitzStrategy.square_root(steps=_checked(uses)).coefficients
        return cls(rows=tuple(coefficients[: step + 1][::-1] for step in range(uses.steps)))

    @classmethod
    def best(cls, uses: Uses, *, windows: Sequence[int] = (), totals: bool = False) -> "Triangular":
        """Return the strategy with the least mean squared error of all these sums.

        It is the best for one participation; several use the same matrix.

        Args:
            uses: how a row takes part.
            windows: numbers of steps that are added up, each at every step.
            totals: whether prefix sums count too.
        """
        gram = optimal(workload_gram(_checked(uses), windows=windows, totals=totals)).gram
        lower = np.linalg.cholesky(gram[::-1, ::-1])
        strategy = np.tril(lower.T[::-1, ::-1])
        return cls(rows=tuple(tuple(row[: step + 1].tolist()) for step, row in enumerate(strategy)))

    @cached_property
    def _matrix(self) -> Floats:
        matrix = np.zeros((len(self.rows), len(self.rows)))
        for step, row in enumerate(self.rows):
            matrix[step, : step + 1] = row
        return matrix

    def blank(self, uses: Uses) -> list[Any]:
        """Return no sums of earlier steps."""
        if uses.steps > len(self.rows):
            raise InvalidParameterError(f"this strategy has {len(self.rows)} steps, not {uses.steps}")
        return []

    def mixed(self, total: ExactIntegers, carried: Any, step: int, uses: Uses) -> ExactIntegers:
        """Return the weighted sum of this and all earlier steps."""
        limit = int(_MAX_MIXED_SUM / (np.abs(self._matrix).sum(axis=1).max() * _DYADIC))
        carried.append(np.clip(total, -limit, limit).astype(np.int64))  # entry by entry: no two get farther apart
        weights = np.rint(self._matrix[step - 1, :step] * _DYADIC).astype(np.int64)
        return np.asarray(weights @ np.stack(carried))

    def unmixed(self, noisy: Floats, carried: Any, step: int, uses: Uses) -> Floats:
        """Return the noisy sum without the parts of all earlier steps."""
        row = self._matrix[step - 1]
        total = noisy / _DYADIC
        if carried:
            total = total - row[: step - 1] @ np.stack(carried)
        carried.append(total / row[step - 1])
        return np.asarray(carried[-1])

    def fine(self, uses: Uses) -> int:
        """Return the common denominator of the entries."""
        return _DYADIC

    def norm(self, uses: Uses) -> float:
        """Bound the l2 sensitivity of C x, for rows of norm 1."""
        strategy = ExplicitStrategy(self._matrix[: uses.steps, : uses.steps].tolist())
        squared = strategy.squared_sensitivity(uses.times, uses.separation).upper
        return math.sqrt(squared) * (1 + 2**-50)

    def sensitivity(self, uses: Uses) -> int:
        """Return the l2 sensitivity, from the certified one of these entries."""
        return math.ceil(Fraction(self.norm(uses)) * uses.lattice * _DYADIC)

    def estimator(self, uses: Uses) -> Floats:
        """Return the inverse of C, with its rows added up."""
        from scipy.linalg import solve_triangular

        inverse = solve_triangular(self._matrix[: uses.steps, : uses.steps], np.eye(uses.steps), lower=True)
        return np.cumsum(inverse, axis=0)

    def errors(self, uses: Uses) -> tuple[float, float]:
        """Return the errors of prefix sums."""
        squared = (self.spreads(uses) * self.norm(uses)) ** 2
        return math.sqrt(squared.max()), math.sqrt(squared.mean())


def workload_gram(steps: int, *, windows: Sequence[int], totals: bool) -> Floats:
    """Return W^T W over the number of queries; shape (steps, steps)."""
    queries = [np.tri(steps)] if totals else []
    queries += [np.tri(steps) - np.tri(steps, k=-window) for window in windows]
    if not queries:
        raise InvalidParameterError("a strategy needs windows, or totals=True")
    return np.asarray(sum(query.T @ query for query in queries) / (len(queries) * steps))


def optimal(gram: Floats) -> Optimum:
    """Return the best strategy for a workload, and the bound that certifies it.

    Args:
        gram: W^T W over the number of queries, of full rank.
    """
    dual = np.full(len(gram), 1 / len(gram))
    lower = 0.0
    for _ in range(_ITERATIONS):
        scale = np.sqrt(dual)
        values, vectors = np.linalg.eigh(gram * np.outer(scale, scale))
        roots = np.sqrt(np.maximum(values, values[-1] * 1e-15))
        diagonal = vectors**2 @ roots
        largest = (diagonal / dual).max()
        lower = max(lower, float(roots.sum() / math.sqrt(dual.sum())))
        error = math.sqrt(largest * roots.sum())  # tr(G X^-1) is the trace of the root
        if error**2 <= lower**2 * (1 + _GAP):
            break
        following = dual * (diagonal / dual) ** _OVER_RELAXATION
        dual = following / following.sum()
    root = (vectors * roots) @ vectors.T
    return Optimum(root / np.outer(scale, scale) / largest, error, lower)


def _checked(uses: Uses) -> int:
    if uses.steps > MAX_STEPS:
        raise InvalidParameterError(f"a dense strategy has at most {MAX_STEPS} steps, got {uses.steps}")
    return uses.steps

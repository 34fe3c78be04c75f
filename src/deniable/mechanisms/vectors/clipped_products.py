"""Noisy sums of the products of the columns, over rows clipped to a ball."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.records import records_of
from deniable.mechanisms.vectors.clipped_sum import OfClippedRows, public_vector
from deniable.mechanisms.vectors.clipping import clipped, transformed
from deniable.numbers.rationals import shown, whole_number
from deniable.privacy import PrivacyLoss, Relation, Sensitivity
from deniable.privacy.sensitivity.vectors import of_outer_sum


@dataclass(frozen=True, kw_only=True)
class ClippedProducts(OfClippedRows):
    """Add up z z^T over rows z = (constant, clipped row), with noise on every entry.

    The sums of rows stand beside the constant, and the number of rows in the corner.

    Args:
        noise: of every entry of the matrix, in squared lattice steps.
        columns: of the table.
        radius: of the ball, in the unit of the rows after the transform.
        steps: at most 2^16; lattice steps to the largest norm of z, of which the constant takes its part.
        centre: of the ball; the origin if it is left out.
        constant: in lattice steps; 0 leaves it out, and the matrix has one row and one column less.
        transform: a symmetric matrix by which differences from the centre are multiplied; the identity if left out.

    Guarantee: that of the noise at l2 = rows steps^2 and l1 = size l2, size that of the matrix; under replace sqrt(2)
        times that.
    Proof: docs/theory/statistics/vectors.md.
    Source: Biswas, Dong, Kamath, Ullman (2020), arXiv:2006.06618, for a transform that whitens step by step.

    >>> from deniable.mechanisms import Gaussian
    >>> from deniable.privacy import AddRemove, of_count
    >>> mechanism = ClippedProducts(noise=Gaussian(sigma_squared=10**12), columns=2, radius=10, steps=1000)
    >>> row = of_count(rows=1, groups=1, cells=1, relation=AddRemove)
    >>> float(mechanism.privacy_loss(row).rho)
    0.5
    >>> noisy = mechanism.release([[3.0, 4.0], [100.0, 0.0]]).value  # in squared steps; the second row is clipped
    """

    kind: ClassVar[str] = "clipped_products"

    constant: int = 0
    transform: tuple[tuple[Fraction, ...], ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("steps", self.steps, upper=2**16)
        read_fields(self, constant=whole_number("constant", self.constant, lower=0, upper=self.steps - 1))
        if not isinstance(self.transform, tuple | list) or len(self.transform) not in (0, self.columns):
            raise InvalidParameterError(
                f"transform must be a matrix of {self.columns} rows, got {shown(self.transform)}"
            )
        matrix = tuple(public_vector("transform", row, self.columns) for row in self.transform)
        read_fields(self, transform=matrix)

    @property
    def step(self) -> float:
        """The width of a lattice step, in the unit of the rows after the transform."""
        return float(self.radius) / self._inner

    @property
    def _inner(self) -> int:
        """Lattice steps to the radius."""
        return math.isqrt(self.steps**2 - self.constant**2)

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return the loss when a unit owns as many rows as `sensitivity` counts.

        Args:
            sensitivity: of the number of rows: of_count(rows=..., groups=1, cells=1, relation=...).
        """
        rows = records_of(sensitivity, proved=frozenset(Relation))
        size = self.columns + (self.constant > 0)
        return self.noise.privacy_loss(
            of_outer_sum(radius=self.steps, dimensions=size, rows=rows, relation=sensitivity.relation)
        )

    def _sum(self, exact: ArrayLike) -> NDArray[np.object_]:
        """Return the exact sum, in Python ints.

        Guarantee: exact. Entries of the matrix of one chunk are sums of 2^11 products of at most 2^32, far below 2^53,
            which floats hold, in whatever order they are added.
        """
        matrix = np.array(self.transform, dtype=np.float64)
        size = self.columns + 1
        total = np.zeros((size, size), dtype=object)
        for part in self._parts(exact):
            z = np.full((len(part), size), float(self.constant))
            turned = transformed(part, matrix) if self.transform else part
            z[:, 1:] = clipped(turned, radius=float(self.radius), steps=self._inner)
            total = total + (z.T @ z).astype(np.int64).astype(object)
        return total if self.constant else total[1:, 1:]

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return one row far outside of the ball, rounded to (2, 1), of norm below 3."""
        return WorstCase(
            mechanism=cls(noise=Laplace(scale=Fraction(6)), columns=1, radius=Fraction(1), steps=3, constant=2),
            exact=(9,),
            neighbour=(),
            attains=False,
        )

"""Noisy sums of rows clipped to a ball around a public centre."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.additive.base import AdditiveNoise, additive
from deniable.mechanisms.base import Mechanism, Released, WorstCase
from deniable.mechanisms.records import records_of
from deniable.mechanisms.vectors.clipping import chunks, clipped
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import ExactIntegers, Floats
from deniable.numbers.rationals import exact_rational, positive_rational, shown, whole_number
from deniable.privacy import PrivacyLoss, Relation, Sensitivity
from deniable.privacy.sensitivity.vectors import of_ball_sum
from deniable.rows import table

_MOST_COLUMNS = 2**27
_MOST_STEPS = 2**30


@dataclass(frozen=True, kw_only=True)
class OfClippedRows(Mechanism):
    """Base of noisy sums over rows, each clipped to a ball and rounded towards 0.

    Args:
        noise: of every entry of the sum, in lattice steps.
        columns: of the table.
        radius: of the ball, in the unit of the rows.
        steps: lattice steps to the largest norm of a row; at most 2^30.
        centre: of the ball; the origin if it is left out, and then it is kept as ().
    """

    noise: Annotated[AdditiveNoise, additive]
    columns: Annotated[int, partial(whole_number, lower=1, upper=_MOST_COLUMNS)]
    radius: Annotated[Fraction, positive_rational]
    steps: Annotated[int, partial(whole_number, lower=1, upper=_MOST_STEPS)]
    centre: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        left_out = isinstance(self.centre, tuple | list) and not self.centre
        centre = () if left_out else public_vector("centre", self.centre, self.columns)
        read_fields(self, centre=centre if any(centre) else ())

    def _parts(self, exact: ArrayLike) -> Iterator[Floats]:
        """Return the differences of the rows and the centre, in chunks.

        A row with a value that is not a number counts as the centre.
        """
        rows, _ = table(exact, "exact", columns=self.columns)
        if rows.shape[1] != self.columns:
            raise InvalidParameterError(f"exact must be a table of {self.columns} columns, got {rows.shape[1]}")
        centre = np.array(self.centre, dtype=np.float64) if self.centre else 0.0
        return (np.where(np.isnan(part).any(axis=1, keepdims=True), 0.0, part - centre) for part in chunks(rows))

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """Return the sums of the entries of each release; rows come one after the other."""
        total = self._sum(np.reshape(exact, (-1, self.columns)))
        return self.noise.outcomes(tuple(total.ravel().tolist()), runs, bits=bits)

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[ExactIntegers]:
        """Return the noisy sum, in lattice steps.

        Args:
            exact: secret rows; a table of numbers. A row with a value that is not a number counts as the centre.
            bits: leave it out, except in tests.
        """
        return self.noise.release(self._sum(exact), bits=bits)

    @abstractmethod
    def _sum(self, exact: ArrayLike) -> ExactIntegers:
        """Return the exact sum."""


@dataclass(frozen=True, kw_only=True)
class ClippedSum(OfClippedRows):
    """Add up rows clipped to a ball around a public centre, with noise on each column.

    Args:
        noise: of every entry of the sum, in lattice steps.
        columns: of the table.
        radius: of the ball, in the unit of the rows.
        steps: lattice steps to the largest norm of a row; at most 2^30.
        centre: of the ball; the origin if it is left out.

    Guarantee: that of the noise at l2 = rows steps and l1 = sqrt(columns) l2, under replace twice that.
    Proof: docs/theory/statistics/vectors.md.
    Source: Biswas, Dong, Kamath, Ullman (2020), arXiv:2006.06618, for a centre that comes closer step by step.

    >>> from deniable.privacy import AddRemove, of_count
    >>> row = of_count(rows=1, groups=1, cells=1, relation=AddRemove)
    >>> mechanism = ClippedSum(noise=Laplace(scale=2000), columns=2, radius=10, steps=1000)
    >>> round(float(mechanism.privacy_loss(row).pure_epsilon), 3)
    0.707
    >>> noisy = mechanism.release([[3.0, 4.0], [100.0, 0.0]]).value  # in steps of 1/100; the second row is clipped
    """

    kind: ClassVar[str] = "clipped_sum"

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return the loss when a unit owns as many rows as `sensitivity` counts.

        Args:
            sensitivity: of the number of rows: of_count(rows=..., groups=1, cells=1, relation=...).
        """
        rows = records_of(sensitivity, proved=frozenset(Relation))
        return self.noise.privacy_loss(
            of_ball_sum(radius=self.steps, dimensions=self.columns, rows=rows, relation=sensitivity.relation)
        )

    def _sum(self, exact: ArrayLike) -> NDArray[np.int64]:
        total = np.zeros(self.columns, dtype=np.int64)
        for part in self._parts(exact):
            total += clipped(part, radius=float(self.radius), steps=self.steps).sum(axis=0)
        return total

    @classmethod
    def worst_case(cls) -> WorstCase:
        """A single row far outside of the ball, which is rounded to two of three steps."""
        return WorstCase(
            mechanism=cls(noise=Laplace(scale=Fraction(2)), columns=1, radius=Fraction(1), steps=3),
            exact=(9,),
            neighbour=(),
            attains=False,
        )


def public_vector(name: str, value: object, size: int) -> tuple[Fraction, ...]:
    """Return exact coordinates; zeros if there are none.

    Raises: InvalidParameterError unless there are none or `size` of them.
    """
    if not isinstance(value, tuple | list) or len(value) not in (0, size):
        raise InvalidParameterError(f"{name} must be a list of {size} numbers, got {shown(value)}")
    return tuple(exact_rational(name, entry) for entry in value) or (Fraction(0),) * size

"""Designs for the sums of all products of columns: joint, or product by product.

With c = u - 1/2 for the place u of a value between its bounds, both give the number of rows, the sums of c_i and the
sums of c_i c_j as a public linear map of noisy sums. Which has the smaller error depends on the number of columns and
on the noise: docs/theory/statistics/moments.md.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.numbers.arrays import Floats
from deniable.privacy import Relation, Sensitivity
from deniable.privacy.sensitivity import of_spread_sum
from deniable.privacy.sensitivity.moments import of_values_and_products
from deniable.statistics.shares import UNIT, bernstein

LARGEST_TABLE = 5
"""Columns for which a table of weights, with three cells a column, is considered."""


class Maps(NamedTuple):
    """Linear maps of the noisy sums to the number of rows, c_i, and c_i c_j, i <= j."""

    size: Floats  # (sums,)
    values: Floats  # (columns, sums)
    products: Floats  # (pairs, sums)


@dataclass(frozen=True, kw_only=True)
class Products(ABC):
    """Sums over rows from which all moments up to the second follow.

    Args:
        columns: how many there are.
        relation, rows: of the statistic.
    """

    columns: int
    relation: Relation
    rows: int

    @cached_property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The pairs i <= j of columns, in the order of `Maps.products`."""
        return np.triu_indices(self.columns)

    @property
    @abstractmethod
    def sensitivity(self) -> Sensitivity:
        """Sensitivity of the sums, in steps."""

    @property
    @abstractmethod
    def maps(self) -> Maps:
        """From sums, as multiples of UNIT, to moments."""

    @abstractmethod
    def sums(self, block: Floats) -> list[int]:
        """The exact sums of some rows, given as shares of shape (columns, rows)."""

    @cached_property
    def error(self) -> float:
        """Root mean square error of covariances of independent, evenly spread columns.

        In multiples of the noise of one sum, as a share of the widths, times the number of rows.
        """
        first, second = self.pairs
        even = np.where(first == second, 1 / 12, 0.0)
        rows = self.maps.products - even[:, np.newaxis] * self.maps.size
        squares = (rows**2).sum(axis=1)
        return float(np.sqrt(np.average(squares, weights=np.where(first == second, 1, 2))))

    @cached_property
    def correlation_error(self) -> float:
        """Root mean square error of the correlations of evenly spread columns.

        They depend on each other as much as can be.

        To first order a correlation r errs by 12 (the error of sum c_i c_j - r/2 times those of sum c_i^2 and of
        sum c_j^2), whose square is largest at r = 1 or -1: docs/theory/statistics/moments.md.
        """
        first, second = self.pairs
        products = self.maps.products
        squares = self.maps.products[first == second]
        apart = first < second
        both = squares[first[apart]] + squares[second[apart]]
        worst = (products[apart] ** 2).sum(axis=1) + (both**2).sum(axis=1) / 4
        return 12 * float(np.sqrt(worst.mean())) if apart.any() else 0.0


class JointTable(Products):
    """Products over columns of the weights (1 - u)^2, 2 u (1 - u), u^2.

    They sum to 1 in every row.
    """

    @cached_property
    def sensitivity(self) -> Sensitivity:
        return of_spread_sum(lower=0, upper=UNIT, total_rows=self.rows, relation=self.relation, cells=3**self.columns)

    @cached_property
    def maps(self) -> Maps:
        one = np.ones(3)
        centred = np.array([-0.5, 0, 0.5])
        squared = np.array([0.25, -0.25, 0.25])
        each = range(self.columns)

        def cells(i: int, j: int | None = None) -> Floats:
            """The coefficients of c_i, or of c_i c_j."""
            square = (i,) if i == j else ()
            single = (i,) if j is None else (i, j)
            parts = [squared if k in square else centred if k in single else one for k in each]
            return np.asarray(reduce(np.multiply.outer, parts)).ravel()

        return Maps(
            size=np.ones(3**self.columns),
            values=np.stack([cells(i) for i in each]),
            products=np.stack([cells(i, j) for i, j in zip(*self.pairs, strict=True)]),
        )

    def sums(self, block: Floats) -> list[int]:
        return [int(total) for total in bernstein(block).sum(axis=1)]


class Separate(Products):
    """Each product by itself, with t = 2 c from -1 to 1.

    They are 1, t_i, t_i t_j, and t_i^2 - 1/2.
    """

    @property
    def counted(self) -> bool:
        """Whether the number of rows is private, and so among the sums."""
        return self.relation is Relation.ADD_REMOVE or self.rows > 1

    @cached_property
    def sensitivity(self) -> Sensitivity:
        return of_values_and_products(columns=self.columns, radius=UNIT, rows=self.rows, relation=self.relation)

    @cached_property
    def maps(self) -> Maps:
        first, second = self.pairs
        eye = np.eye(self.counted + self.columns + len(first))
        count = eye[0] if self.counted else np.zeros(len(eye))
        products = eye[self.counted + self.columns :] / 4 + np.where(first == second, 1 / 8, 0)[:, np.newaxis] * count
        return Maps(size=count, values=eye[self.counted : self.counted + self.columns] / 2, products=products)

    def sums(self, block: Floats) -> list[int]:
        value = 2 * block - UNIT
        totals = [value.shape[1] * UNIT] * self.counted + [int(total) for total in value.sum(axis=1)]
        for i in range(self.columns):
            products = np.rint(value[i] / UNIT * value[i:])
            if self.counted:
                products[0] -= UNIT / 2
            totals += [int(total) for total in products.sum(axis=1)]
        return totals

"""Sums of products for a least-squares fit, as secret integers.

And what noise on them means for the coefficients.

Rows are (z_0, ..., z_d, v) with z_0 = 1, the features z_j and the target v in [-1, 1]. A fit needs the sums of z_i z_j
(i <= j) and of z_i v. They are released in one of two bases, which `Basis` maps to these sums:

* as they are: each sum moves by at most 1 when a row comes or goes;
* for up to three features, in Bernstein form: the sums of all products of one of the three Bernstein polynomials of
  degree two for each feature and one of the two of degree one for the target. These are not negative, and add up to 1,
  so one row moves all 2 * 3^features together by 1 in l1.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from deniable.numbers.arrays import Floats
from deniable.privacy import Relation, Sensitivity
from deniable.privacy.sensitivity import of_spread_sum
from deniable.privacy.sensitivity.vectors import of_product_sum

_LATTICE_STEPS = 2**16  # from 0 to 1, for products of two
_COLUMN_DIGITS = {1: 15, 2: 12, 3: 8}  # binary digits of a column in Bernstein form, by the number of features
_UNIT = 45  # binary digits of a product of all columns that are kept
_CHUNK = 1 << 14


@dataclass(frozen=True, eq=False)
class Basis:
    """Integers in which sums are released, and their map to the sums.

    Args:
        sensitivity: of the integers, under the relation of the statistic.
        unit: the integer that stands for 1.
        to_sums: maps released numbers to the sums of z_i z_j over i <= j, row by row, and then of z_i v.
        is_bernstein: whether they are sums of Bernstein polynomials.
    """

    sensitivity: Sensitivity
    unit: int
    to_sums: Floats
    is_bernstein: bool = False

    @classmethod
    def plain(cls, *, features: int, rows: int, relation: Relation) -> "Basis":
        """Return the basis of the sums themselves."""
        sensitivity = of_product_sum(radius=_LATTICE_STEPS, features=features, rows=rows, relation=relation)
        return cls(sensitivity, _LATTICE_STEPS**2, np.eye((features + 1) * (features + 4) // 2))

    @classmethod
    def bernstein(cls, *, features: int, rows: int, relation: Relation) -> "Basis":
        """Return the basis of products of Bernstein polynomials, for up to three features."""
        unit = 2**_UNIT
        cells = 2 * 3**features
        sensitivity = of_spread_sum(lower=0, upper=unit, total_rows=rows, relation=relation, cells=cells)
        powers = np.array([[1.0, 1, 1], [-1, 0, 1], [1, -1, 1]])  # 1, z and z^2 in Bernstein coefficients
        lines = np.array([[1.0, 1], [-1, 1]])  # 1 and v

        def cell(first: int, second: int, target: int) -> Floats:
            """The coefficients of z_first z_second, times v or not; z_0 is 1."""
            degrees = np.bincount([first, second], minlength=features + 1)[1:]
            return np.asarray(reduce(np.kron, [*powers[degrees], lines[target]]))

        pairs = [(i, j) for i in range(features + 1) for j in range(i, features + 1)]
        sums = [cell(i, j, 0) for i, j in pairs] + [cell(0, i, 1) for i in range(features + 1)]
        return cls(sensitivity, unit, np.array(sums), is_bernstein=True)

    @classmethod
    def all(cls, *, features: int, rows: int, relation: Relation) -> "list[Basis]":
        """Return every basis that exists for this number of features."""
        kinds = [cls.plain] + [cls.bernstein] * (features in _COLUMN_DIGITS)
        return [kind(features=features, rows=rows, relation=relation) for kind in kinds]

    def exact(self, features: Floats, target: Floats) -> NDArray[np.object_]:
        """Return the secret integers, for scaled rows."""
        return _bernstein_sums(features, target) if self.is_bernstein else _plain_sums(features, target)


def system(sums: Floats, features: int) -> tuple[Floats, Floats]:
    """Return the matrix of the sums of z_i z_j and the vector of those of z_i v.

    Sums are along the last axis.
    """
    first, second = np.triu_indices(features + 1)
    matrix = np.zeros((*sums.shape[:-1], features + 1, features + 1))
    matrix[..., first, second] = matrix[..., second, first] = sums[..., : len(first)]
    return matrix, sums[..., len(first) :]


def _plain_sums(features: Floats, target: Floats) -> NDArray[np.object_]:
    """Return the exact sums of products.

    Products are at most 2^32, and 2^14 of them are added in floats, which hold integers up to 2^53.
    """
    count = features.shape[1] + 1
    total = np.zeros((count, count + 1), dtype=object)
    for start in range(0, len(target), _CHUNK):
        z = np.rint(features[start : start + _CHUNK] * _LATTICE_STEPS)
        z = np.column_stack([np.full(len(z), float(_LATTICE_STEPS)), z])
        both = np.column_stack([z, np.rint(target[start : start + _CHUNK] * _LATTICE_STEPS)])
        total = total + (z.T @ both).astype(np.int64).astype(object)
    return np.concatenate([total[:, :-1][np.triu_indices(count)], total[:, -1]])


def _bernstein_sums(features: Floats, target: Floats) -> NDArray[np.object_]:
    """Return the exact sums of products of Bernstein polynomials.

    The products of a row are integers that add up to a power of two, at most 2^60, and are cut to 45 digits: to at most
    2^45 together. Chunks of 2^14 rows add up to less than 2^63.
    """
    count = features.shape[1]
    digits = _COLUMN_DIGITS[count]
    end = 2**digits
    cut = (2 * count + 1) * digits - _UNIT
    total = np.zeros(2 * 3**count, dtype=object)
    for start in range(0, len(target), _CHUNK):
        positions = [
            np.rint((column[start : start + _CHUNK] + 1) * (end / 2)).astype(np.int64)
            for column in (*features.T, target)
        ]
        products = np.stack([end - positions[-1], positions[-1]])
        for u in reversed(positions[:-1]):
            weights = np.stack([(end - u) ** 2, 2 * u * (end - u), u**2])
            products = (weights[:, np.newaxis] * products).reshape(-1, len(u))
        total = total + (products >> cut).sum(axis=1).astype(object)
    return total

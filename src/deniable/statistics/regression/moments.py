"""Sums of products for a least-squares fit, as secret integers, and what noise on them means for the coefficients.

Rows are (z_0, ..., z_d, v) with z_0 = 1, the features z_j and the target v in [-1, 1]. A fit needs the sums of z_i z_j
(i <= j) and of z_i v. They are released in one of two bases, which `Basis` maps to these sums:

* as they are: each sum moves by at most 1 when a row comes or goes;
* for one feature, in Bernstein form: the sums of B_a(z) B_b(v) with B_a the three Bernstein polynomials of degree two
  and B_b the two of degree one. These are not negative, and add up to 1, so one row moves all six together by 1 in l1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deniable.privacy import Relation, Sensitivity, of_spread_sum
from deniable.privacy.vector_sensitivity import of_product_sum
from deniable.statistics.data import Floats

_STEPS = 2**16  # from 0 to 1, for products of two
_FINE = 2**15  # between the ends of a column, for products of three
_CHUNK = 1 << 14


@dataclass(frozen=True, eq=False)
class Basis:
    """How sums are released.

    Args:
        sensitivity: of the integers, under the relation of the statistic.
        unit: the integer that stands for 1.
        to_sums: maps released numbers to the sums of z_i z_j over i <= j, row by row, and then of z_i v.
    """

    sensitivity: Sensitivity
    unit: int
    to_sums: Floats

    @classmethod
    def plain(cls, *, features: int, rows: int, relation: Relation) -> "Basis":
        """The sums themselves."""
        sensitivity = of_product_sum(radius=_STEPS, features=features, rows=rows, relation=relation)
        return cls(sensitivity, _STEPS**2, np.eye((features + 1) * (features + 4) // 2))

    @classmethod
    def bernstein(cls, *, rows: int, relation: Relation) -> "Basis":
        """The six sums for one feature."""
        unit = _FINE**3
        sensitivity = of_spread_sum(lower=0, upper=unit, total_rows=rows, relation=relation, cells=6)
        powers = {"1": [1.0, 1.0, 1.0], "z": [-1.0, 0.0, 1.0], "zz": [1.0, -1.0, 1.0]}  # in Bernstein coefficients
        ones, target = [1.0, 1.0], [-1.0, 1.0]
        sums = [("1", ones), ("z", ones), ("zz", ones), ("1", target), ("z", target)]
        return cls(sensitivity, unit, np.array([np.outer(powers[power], line).ravel() for power, line in sums]))

    def exact(self, features: Floats, target: Floats) -> NDArray[np.object_]:
        """The secret integers, for scaled rows."""
        return _bernstein_sums(features[:, 0], target) if len(self.to_sums.T) == 6 else _plain_sums(features, target)


def system(sums: Floats, features: int) -> tuple[Floats, Floats]:
    """The matrix of the sums of z_i z_j and the vector of the sums of z_i v; sums along the last axis."""
    first, second = np.triu_indices(features + 1)
    matrix = np.zeros((*sums.shape[:-1], features + 1, features + 1))
    matrix[..., first, second] = matrix[..., second, first] = sums[..., : len(first)]
    return matrix, sums[..., len(first) :]


def _plain_sums(features: Floats, target: Floats) -> NDArray[np.object_]:
    """Exact: products are at most 2^32, and 2^14 of them are added in floats, which hold integers up to 2^53."""
    count = features.shape[1] + 1
    total = np.zeros((count, count + 1), dtype=object)
    for start in range(0, len(target), _CHUNK):
        z = np.rint(features[start : start + _CHUNK] * _STEPS)
        z = np.column_stack([np.full(len(z), float(_STEPS)), z])
        both = np.column_stack([z, np.rint(target[start : start + _CHUNK] * _STEPS)])
        total = total + (z.T @ both).astype(np.int64).astype(object)
    return np.concatenate([total[:, :-1][np.triu_indices(count)], total[:, -1]])


def _bernstein_sums(feature: Floats, target: Floats) -> NDArray[np.object_]:
    """Weights of a row are integers that add up to the unit exactly; chunks of 2^14 sums of at most 2^45 are int64."""
    total = np.zeros((3, 2), dtype=object)
    for start in range(0, len(target), _CHUNK):
        u, v = (
            np.rint((column[start : start + _CHUNK] + 1) * (_FINE / 2)).astype(np.int64) for column in (feature, target)
        )
        lines, weights = (_FINE - v, v), ((_FINE - u) ** 2, 2 * u * (_FINE - u), u**2)
        part = [[(weight * line).sum() for line in lines] for weight in weights]
        total = total + np.array(part, dtype=np.int64).astype(object)
    return total.ravel()

"""Number of triangles of a graph, with noise by its smooth sensitivity."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.smooth.base import SmoothStatistic, smooth_bound
from deniable.mechanisms.smooth.student_t import SmoothStudentT
from deniable.noise.bits import Bits
from deniable.numbers.rationals import whole_number
from deniable.privacy import AddRemove, Relation
from deniable.rows import replaced

_MOST_VERTICES = 4096  # whose matrix of pairs fits into memory


@dataclass(frozen=True, kw_only=True)
class SmoothTriangles(SmoothStatistic):
    """Number of triangles of a graph, with noise by its smooth sensitivity.

    The exact input is an array of edges, shape (edges, 2), of vertices 0, ..., vertices - 1; direction, repetition and
    loops do not matter, and edges of other vertices and rows that are not edges are left out, since an error would
    reveal them. A record is an edge: the graph has one edge more or less.

    Args:
        noise: a `SmoothNoise` such as `SmoothStudentT`, with the bounds of the number of triangles.
        vertices: how many there are, from 2 to 4096; public.

    Guarantee: that of the noise, under add/remove of edges.
    Source: Nissim, Raskhodnikova, Smith (2007); lemma 5 of docs/theory/mechanisms/smooth.md.

    >>> mechanism = SmoothTriangles(noise=SmoothStudentT.calibrated(epsilon=1, bounds=(0, 100)), vertices=5)
    >>> value, bound = mechanism.measured([(0, 1), (1, 2), (2, 0), (3, 4)])  # both are secret
    >>> int(value)
    1
    """

    kind: ClassVar[str] = "smooth_triangles"
    relation: ClassVar[Relation] = AddRemove

    vertices: Annotated[int, partial(whole_number, lower=2, upper=_MOST_VERTICES)]

    def measured(self, exact: ArrayLike) -> tuple[Fraction, Fraction]:
        """Return the number of triangles and its smooth bound, both secret."""
        adjacent = self._matrix(exact)
        common = np.rint(adjacent @ adjacent).astype(np.int64)
        i, j = np.triu_indices(self.vertices, k=1)
        shared = common[i, j]
        joined = adjacent[i, j].astype(np.int64)
        degree = common.diagonal()
        halves = degree[i] + degree[j] - 2 * shared - 2 * joined
        triangles = int((shared * joined).sum()) // 3
        return Fraction(triangles), smooth_bound(self._local(shared, halves), beta=self.noise.beta)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """Return noisy numbers of triangles; edges come as a flat list of vertices."""
        return self.noise.draws(*self.measured(np.reshape(exact, (-1, 2))), runs, bits=bits)

    def _matrix(self, exact: ArrayLike) -> NDArray[np.float64]:
        edges = replaced("exact", exact, by=-1, lower=-1, upper=self.vertices, columns=2)
        edges = edges[((edges >= 0) & (edges < self.vertices)).all(axis=1)]
        matrix = np.zeros((self.vertices, self.vertices))
        matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = 1.0
        np.fill_diagonal(matrix, 0.0)
        return matrix

    def _local(self, shared: NDArray[np.int64], halves: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return A_k for k = 0, 1, ..., until all other vertices are common neighbours."""
        max_shared = self.vertices - 2
        largest = np.full(max_shared + 1, -1, dtype=np.int64)  # of `halves`, for each number of common neighbours
        np.maximum.at(largest, shared, halves)
        k = np.arange(2 * max_shared + 1)
        local = np.zeros(k.size, dtype=np.int64)
        for count in np.flatnonzero(largest >= 0):
            local = np.maximum(local, count + (k + np.minimum(k, largest[count])) // 2)
        return np.minimum(local, max_shared)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return two vertices with five common neighbours, joined by an edge or not.

        The smooth bound, 5, is that of both.
        """
        spokes = tuple(end for vertex in range(2, 7) for end in (0, vertex, 1, vertex))
        return WorstCase(
            mechanism=cls(noise=SmoothStudentT.calibrated(epsilon=3, bounds=(0, 12)), vertices=7),
            exact=(0, 1, *spokes),
            neighbour=spokes,
            attains=False,
        )

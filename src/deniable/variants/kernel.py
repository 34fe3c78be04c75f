"""Mechanisms between finitely many points: the exponential, the optimal, and their remapped versions."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.ledger import Ledger
from deniable.ledger.payment import Payment
from deniable.mechanisms.base import Released
from deniable.noise import uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, exact_rational, positive_rational, shown
from deniable.rows import Container, floats, without_rows
from deniable.variants.metric import (
    Metric,
    MetricLoss,
    Point,
    finite,
    measured_epsilon,
    point,
    ratios_below,
    satisfies,
)

_TOTAL = 2**60  # of the weights of a row
_MOST_POINTS = 200


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Kernel:
    """A finite mechanism with d_X-privacy: at point i it reports output z with probability weights[i, z] / total.

    Args:
        points: secrets, tuples of numbers; outputs likewise.
        weights: integers >= 0 of shape (points, outputs), every row with the same total of at most 2^62.
        metric: between points, and for errors.

    Guarantee: `loss`, which is measured on the weights themselves; so it is exact whatever made them.
    Source: Bordenabe, Chatzikokolakis, Palamidessi (2014), arXiv:1402.5029; Shokri et al. (2012) for adversaries.

    >>> from deniable.variants import Kernel, Metric
    >>> square = [(x, y) for x in range(3) for y in range(3)]
    >>> best = Kernel.optimal(square, prior=[1] * 9, epsilon=1, metric=Metric())
    >>> float(best.loss.epsilon) <= 1, best.expected_error([1] * 9) < 1.1
    (True, True)
    """

    points: tuple[Point, ...]
    outputs: tuple[Point, ...]
    weights: NDArray[np.int64]
    metric: Metric

    def __post_init__(self) -> None:
        finite("weights", self.weights, (len(self.points), len(self.outputs)))
        weights = np.array(self.weights)
        right = weights.dtype.kind in "iu" and weights.shape == (len(self.points), len(self.outputs))
        totals = {sum(row) for row in weights.tolist()} if right and weights.min(initial=0) >= 0 else set()
        if len(totals) != 1 or not 0 < totals.pop() <= 2**62:
            raise InvalidParameterError(
                "weights must be ints >= 0, a row a point, with one total of at most 2^62 a row"
            )
        object.__setattr__(self, "points", _points(self.points, self.metric))
        object.__setattr__(self, "outputs", tuple(point(one) for one in self.outputs))
        object.__setattr__(self, "weights", weights.astype(np.int64))
        self.weights.setflags(write=False)

    @classmethod
    def exponential(cls, points: Iterable[Iterable[Real]], *, epsilon: Real, metric: Metric) -> "Kernel":
        """Report z with probability proportional to e^(-epsilon d(x, z) / 2): half of epsilon pays for the totals."""
        places, rate = _points(points, metric), positive_rational("epsilon", epsilon)
        return cls._safe(np.exp(-float(rate) / 2 * metric.table(places, places)), places, rate, metric)

    @classmethod
    def optimal(
        cls,
        points: Iterable[Iterable[Real]],
        *,
        prior: ArrayLike,
        epsilon: Real,
        metric: Metric,
        dilation: Real = 1,
    ) -> "Kernel":
        """The mechanism of least expected distance under a public prior, by linear programming.

        The solver's floats are mixed with the uniform law until integers satisfy all constraints exactly.

        Args:
            points: at most 200; the program has their number squared as variables.
            prior: weights >= 0, one a point.
            dilation: at least 1. Only neighbours in a graph whose paths are at most this much longer than distances are
                constrained, by a smaller epsilon. 1 loses nothing; 1.05 takes a third of the time at 49 points.
        """
        from scipy.optimize import linprog
        from scipy.sparse import coo_array, eye_array, kron

        places, rate = _points(points, metric), positive_rational("epsilon", epsilon)
        longer = exact_rational("dilation", dilation)
        if longer < 1:
            raise InvalidParameterError(f"dilation must be at least 1, got {shown(dilation)}")
        size, distances = len(places), metric.table(places, places)
        first, second, stretch = _spanner(distances, float(longer))
        limits = np.exp(-np.minimum(float(rate) / stretch * distances[first, second], 40.0))
        rows = np.arange(first.size)
        pairs = coo_array((limits, (rows, first)), shape=(rows.size, size))
        pairs = pairs - coo_array((np.ones(rows.size), (rows, second)), shape=(rows.size, size))
        found = linprog(
            (normalised(prior, size)[:, None] * distances).ravel(),
            A_ub=kron(pairs, eye_array(size), format="csr"),
            b_ub=np.zeros(rows.size * size),
            A_eq=kron(eye_array(size), np.ones((1, size)), format="csr"),
            b_eq=np.ones(size),
            method="highs-ipm",
        )
        if found.x is None:
            raise InvalidParameterError("the solver found no mechanism. Take fewer points.")
        return cls._safe(found.x.reshape(size, size), places, rate, metric)

    @classmethod
    def _safe(cls, chances: Floats, places: tuple[Point, ...], rate: Fraction, metric: Metric) -> "Kernel":
        """Weights near these chances that satisfy every constraint exactly."""
        limits = ratios_below(places, metric, rate)
        chances, share = np.maximum(chances, 0.0), 2.0**-44
        chances /= chances.sum(axis=1, keepdims=True)
        for _ in range(60):
            mixed = (1 - share) * chances + share / chances.shape[1]
            weights = np.floor(mixed / mixed.sum(axis=1, keepdims=True) * (_TOTAL * (1 - 2.0**-40))).astype(np.int64)
            weights[:, 0] += _TOTAL - weights.sum(axis=1)
            if satisfies(weights, limits):
                return cls(points=places, outputs=places, weights=weights, metric=metric)
            share = min(2 * share, 1.0)
        raise InvalidParameterError("epsilon is too small for these points: their laws would have to be equal")

    @property
    def total(self) -> int:
        """What the weights of a row add up to."""
        return int(self.weights[0].sum())

    @cached_property
    def loss(self) -> MetricLoss:
        """The smallest loss that these weights satisfy, rounded up; refused where an output rules a point out."""
        found = measured_epsilon(self.weights.tolist(), self.points, self.metric)
        return MetricLoss(epsilon=found.upper, metric=self.metric)

    def release(
        self, places: Container, *, ledger: Ledger | None = None, bits: Bits = SECURE
    ) -> Released[NDArray[np.int64]]:
        """Report an output, by its index, for each place.

        Args:
            places: secret; indices of points, in any container. Anything else counts as 0.
            ledger: for `loss.privacy_unit`, charged for every place before one is read; None charges nothing.
            bits: leave it out, except in tests.
        """
        payment = Payment(ledger, text=f"places by {self}", bits=bits, protects=self.loss.privacy_unit)
        if ledger is not None:
            self._indices(without_rows(places))
        payment.charge_each(self.loss.booked, places)
        secret = self._indices(places)
        drawn = uniform.below(self.total, size=secret.size, bits=bits)
        found = np.empty(secret.size, dtype=np.int64)
        for i, sums in enumerate(np.cumsum(self.weights, axis=1)):
            found[secret == i] = np.searchsorted(sums, drawn[secret == i], side="right")
        return Released(found, bits.safe)

    def gap(self, place: object, output: ArrayLike) -> Fraction:
        """SECRET: how far a place, an index, is from an output; it moves no further than the place does."""
        norm = self.metric.norm if self.metric.norm in ("discrete", "hamming") else "linf"
        here, there = self.points[int(self._indices([place])[0])], self.outputs[int(np.asarray(output))]
        return Metric(norm=norm).distance(here, there)

    def _indices(self, places: object) -> NDArray[np.int64]:
        given = floats.numbers(places, "places")
        return np.where(np.isin(given, np.arange(len(self.points))), given, 0).astype(np.int64)

    def __repr__(self) -> str:
        exact = repr((self.points, self.outputs, self.weights.tolist(), self.metric)).encode()
        return (
            f"Kernel({len(self.points)} points, {len(self.outputs)} outputs, {hashlib.sha256(exact).hexdigest()[:16]})"
        )

    def expected_error(self, prior: ArrayLike) -> float:
        """The mean distance between the place and the report, in float64."""
        return float((self._joint(prior) * self.metric.table(self.points, self.outputs)).sum())

    def adversary_error(self, prior: ArrayLike) -> float:
        """The mean distance between the place and the best guess of someone who knows the prior and this mechanism."""
        return float((self._joint(prior).T @ self.metric.table(self.points, self.points)).min(axis=1).sum())

    def remapped(self, prior: ArrayLike) -> "Kernel":
        """The same reports, each moved to the point of least expected distance, which is post-processing."""
        best = (self._joint(prior).T @ self.metric.table(self.points, self.points)).argmin(axis=1)
        weights = np.zeros((len(self.points), len(self.points)), dtype=np.int64)
        np.add.at(weights.T, best, self.weights.T)
        return Kernel(points=self.points, outputs=self.points, weights=weights, metric=self.metric)

    def _joint(self, prior: ArrayLike) -> Floats:
        return normalised(prior, len(self.points))[:, None] * (self.weights / self.total)


def _points(points: Iterable[Iterable[Real]], metric: object) -> tuple[Point, ...]:
    if not isinstance(metric, Metric):
        raise InvalidParameterError(f"metric must be a Metric, got {shown(metric)}")
    found = tuple(point(one) for one in points)
    if not 1 <= len(found) <= _MOST_POINTS or len(set(found)) != len(found) or len({len(one) for one in found}) != 1:
        raise InvalidParameterError(f"points must be 1 to {_MOST_POINTS} distinct tuples of one length")
    return found


def _spanner(distances: Floats, dilation: float) -> tuple[NDArray[np.int64], NDArray[np.int64], float]:
    """Ordered pairs of neighbours in the greedy graph of this dilation, and how much longer its paths are at most."""
    paths = np.where(np.eye(len(distances), dtype=bool), 0.0, np.inf)
    edges = []
    for i, j in sorted(combinations(range(len(distances)), 2), key=lambda pair: distances[pair]):
        if paths[i, j] > dilation * distances[i, j] * (1 + 2.0**-40):
            edges += [(i, j), (j, i)]
            for one, other in ((i, j), (j, i)):
                paths = np.minimum(paths, paths[:, one, None] + distances[i, j] + paths[other])
    found = np.array(edges, dtype=np.int64).reshape(-1, 2)
    stretch = np.divide(paths, distances, out=np.ones_like(paths), where=distances > 0).max()
    return found[:, 0], found[:, 1], float(stretch)


def normalised(prior: ArrayLike, size: int) -> Floats:
    """Public weights as probabilities."""
    weights = finite("prior", prior, (size,))
    if weights.min() < 0 or not weights.sum() > 0:
        raise InvalidParameterError(f"prior must be {size} weights >= 0, one of them above 0")
    return np.asarray(weights / weights.sum())

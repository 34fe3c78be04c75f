"""Mechanisms between finitely many points: the exponential, the optimal, and their remapped versions."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import Released
from deniable.noise import uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, positive_rational
from deniable.variants.metric import Metric, MetricLoss, Point, measured_epsilon, point, ratios_below, satisfies

_TOTAL = 2**60  # of the weights of a row
_MOST_POINTS = 400
_TRIES = 60

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Kernel:
    """A finite mechanism with d_X-privacy: at point i it reports output z with probability weights[i, z] / total.

    Args:
        points: secrets; tuples of numbers.
        outputs: what is reported, likewise.
        weights: integers >= 0 of shape (points, outputs), every row with the same total of at most 2^62.
        metric: between points, and between points and outputs for errors.

    Guarantee: `loss`, which is measured on the weights themselves; so it is exact whatever made them.
    Source: Bordenabe, Chatzikokolakis, Palamidessi (2014), arXiv:1402.5029, for the optimal mechanism; Shokri et al.
        (2012) for the error of an adversary; Chatzikokolakis, ElSalamouny, Palamidessi (2017) for remapping.

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
        weights = np.array(self.weights)
        if weights.dtype.kind not in "iu" or weights.shape != (len(self.points), len(self.outputs)):
            raise InvalidParameterError("weights must be integers of shape (points, outputs)")
        totals = {sum(row) for row in weights.tolist()}
        if weights.min(initial=0) < 0 or len(totals) != 1 or not 0 < (total := totals.pop()) <= 2**62:
            raise InvalidParameterError("weights must be >= 0, with one total of at most 2^62 in every row")
        object.__setattr__(self, "points", _points(self.points))
        object.__setattr__(self, "outputs", tuple(point(one) for one in self.outputs))
        object.__setattr__(self, "weights", weights.astype(np.int64))
        object.__setattr__(self, "total", total)
        self.weights.setflags(write=False)

    total = 0

    # --- how they are made ---------------------------------------------------------------------------------------

    @classmethod
    def exponential(cls, points: Iterable[Iterable[Real]], *, epsilon: Real, metric: Metric) -> "Kernel":
        """Report z with probability proportional to e^(-epsilon d(x, z) / 2): half of epsilon pays for the totals."""
        places, rate = _points(points), positive_rational("epsilon", epsilon)
        return cls._safe(np.exp(-float(rate) / 2 * metric.table(places, places)), places, rate, metric)

    @classmethod
    def optimal(
        cls, points: Iterable[Iterable[Real]], *, prior: ArrayLike, epsilon: Real, metric: Metric, dilation: Real = 1
    ) -> "Kernel":
        """The mechanism of least expected distance under a public prior, by linear programming.

        Args:
            points: at most 400 secrets, which are the outputs too.
            prior: weights >= 0 of the points, public: they shape the mechanism, not its guarantee.
            epsilon: per unit of distance.
            dilation: >= 1. Above 1, constraints stand only along the edges of a graph in which no path is longer than
                this many times the distance, at epsilon / dilation: far fewer, for a few per cent of error.

        Guarantee: floats of the solver are mixed with the uniform law until integers satisfy all constraints exactly.
        """
        from scipy.optimize import linprog
        from scipy.sparse import coo_array, eye_array, kron

        places, rate = _points(points), positive_rational("epsilon", epsilon)
        stretch, size = positive_rational("dilation", dilation), len(places)
        if stretch < 1:
            raise InvalidParameterError(f"dilation must be >= 1, got {dilation}")
        chances, distances = _prior(prior, size), metric.table(places, places)
        first, second = np.nonzero(_edges(distances, float(stretch)))
        limits = np.exp(-np.minimum(float(rate / stretch) * distances[first, second], 40.0))
        rows = np.arange(first.size)
        pairs = coo_array((limits, (rows, first)), shape=(rows.size, size))
        pairs = pairs - coo_array((np.ones(rows.size), (rows, second)), shape=(rows.size, size))
        found = linprog(
            (chances[:, None] * distances).ravel(),
            A_ub=kron(pairs, eye_array(size), format="csr"),
            b_ub=np.zeros(rows.size * size),
            A_eq=kron(eye_array(size), np.ones((1, size)), format="csr"),
            b_eq=np.ones(size),
            method="highs",
        )
        if found.x is None:
            raise InvalidParameterError("the solver found no mechanism. Take fewer points or a larger dilation.")
        return cls._safe(found.x.reshape(size, size), places, rate, metric)

    @classmethod
    def _safe(cls, chances: Floats, places: tuple[Point, ...], rate: Fraction, metric: Metric) -> "Kernel":
        """Weights near these chances that satisfy every constraint exactly."""
        limits = ratios_below(places, metric, rate)
        chances = np.maximum(chances, 0.0)
        chances /= chances.sum(axis=1, keepdims=True)
        share = 2.0**-44
        for _ in range(_TRIES):
            mixed = (1 - share) * chances + share / chances.shape[1]
            weights = np.floor(mixed / mixed.sum(axis=1, keepdims=True) * (_TOTAL * (1 - 2.0**-40))).astype(np.int64)
            weights += (_TOTAL - weights.sum(axis=1, keepdims=True)) // weights.shape[1]  # the rest, evenly
            weights[:, 0] += _TOTAL - weights.sum(axis=1)
            if satisfies(weights, limits):
                return cls(points=places, outputs=places, weights=weights, metric=metric)
            share = min(2 * share, 1.0)
        raise InvalidParameterError("epsilon is too small for these points: their laws would have to be equal")

    # --- what they promise and what they cost ----------------------------------------------------------------------

    @cached_property
    def loss(self) -> MetricLoss:
        """The smallest loss that these weights satisfy, rounded up.

        Raises: InvalidParameterError if some output rules a point out, so that no epsilon is enough.
        """
        found = measured_epsilon(self.weights.tolist(), self.points, self.metric).upper
        if not np.isfinite(found):
            raise InvalidParameterError(
                "some output has probability 0 at one point and not at another: no epsilon holds"
            )
        return MetricLoss(epsilon=found, metric=self.metric)

    def release(self, places: ArrayLike, *, bits: Bits = SECURE) -> Released[NDArray[np.int64]]:
        """For each place, given as the index of a point, the index of a reported output.

        Args:
            places: secret indices; what is no index counts as 0.
            bits: leave it out, except in tests.
        """
        given = np.asarray(places)
        secret = given.astype(np.int64) if given.dtype.kind in "iu" else np.zeros(given.shape, dtype=np.int64)
        secret = np.where((secret < 0) | (secret >= len(self.points)), 0, secret).ravel()
        drawn = uniform.below(self.total, size=secret.size, bits=bits)
        sums, found = np.cumsum(self.weights, axis=1), np.empty(secret.size, dtype=np.int64)
        for i in range(len(self.points)):
            mine = secret == i
            found[mine] = np.searchsorted(sums[i], drawn[mine], side="right")
        return Released(found.reshape(given.shape), bits.safe)

    def expected_error(self, prior: ArrayLike) -> float:
        """The mean distance between the place and the report, in float64."""
        return float((self._joint(prior) * self.metric.table(self.points, self.outputs)).sum())

    def adversary_error(self, prior: ArrayLike) -> float:
        """The mean distance between the place and the best guess of someone who knows the prior and this mechanism."""
        return float((self._joint(prior).T @ self.metric.table(self.points, self.points)).min(axis=1).sum())

    def remapped(self, prior: ArrayLike) -> "Kernel":
        """The same reports, each moved to the point of least expected distance: post-processing, so the loss stays."""
        best = (self._joint(prior).T @ self.metric.table(self.points, self.points)).argmin(axis=1)
        weights = np.zeros((len(self.points), len(self.points)), dtype=np.int64)
        np.add.at(weights.T, best, self.weights.T)
        used = np.unique(best)
        outputs = tuple(self.points[i] for i in used)
        return Kernel(points=self.points, outputs=outputs, weights=weights[:, used], metric=self.metric)

    def _joint(self, prior: ArrayLike) -> Floats:
        return _prior(prior, len(self.points))[:, None] * (self.weights / self.total)


def _points(points: Iterable[Iterable[Real]]) -> tuple[Point, ...]:
    found = tuple(point(one) for one in points)
    if not 1 <= len(found) <= _MOST_POINTS or len(set(found)) != len(found) or len({len(one) for one in found}) != 1:
        raise InvalidParameterError(f"points must be 1 to {_MOST_POINTS} distinct tuples of one length")
    return found


def _prior(prior: ArrayLike, size: int) -> Floats:
    weights = np.asarray(prior, dtype=np.float64)
    if weights.shape != (size,) or not np.isfinite(weights).all() or weights.min() < 0 or not weights.sum() > 0:
        raise InvalidParameterError(f"prior must be {size} finite weights >= 0, one of them above 0")
    return np.asarray(weights / weights.sum())


def _edges(distances: Floats, dilation: float) -> NDArray[np.bool_]:
    """A greedy spanner: both directions of each pair that no path of at most `dilation` times its length joins."""
    kept = ~np.eye(len(distances), dtype=bool)
    if dilation == 1:
        return kept
    kept[:] = False
    paths = np.where(np.eye(len(distances), dtype=bool), 0.0, np.inf)
    for place in np.argsort(distances, axis=None, kind="stable"):
        i, j = divmod(int(place), len(distances))
        if i < j and paths[i, j] > dilation * distances[i, j]:
            kept[i, j] = kept[j, i] = True
            for a, b in ((i, j), (j, i)):
                paths = np.minimum(paths, paths[:, a, None] + distances[i, j] + paths[None, b])
    return kept

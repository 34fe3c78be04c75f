"""Mechanisms between finitely many points: exponential, optimal, remapped."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.arguments import read_fields
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
_MAX_POINTS = 200  # the linear program has their number squared as variables


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Kernel:
    """Finite mechanism with metric privacy (d_X-privacy), as a table of weights.

    At point i it reports output z with probability weights[i, z] / total.

    Args:
        points: the possible secrets, tuples of numbers.
        outputs: the possible reports, tuples of numbers.
        weights: integers >= 0 of shape (points, outputs), every row with the same total of at most 2^62.
        metric: between points, and for errors.

    Guarantee: `privacy_loss`, which is measured on the weights themselves; so it is exact whatever made them.
    Source: Bordenabe, Chatzikokolakis, Palamidessi (2014), arXiv:1402.5029; Shokri et al. (2012) for adversaries.

    >>> from deniable.variants import Kernel, Metric
    >>> square = [(x, y) for x in range(3) for y in range(3)]
    >>> best = Kernel.optimal(square, prior=[1] * 9, epsilon=1, metric=Metric())
    >>> float(best.privacy_loss.epsilon) <= 1, best.expected_error([1] * 9) < 1.1
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
                "weights must be ints >= 0, one row for each point, all rows with the same total of at most 2^62"
            )
        weights = weights.astype(np.int64)
        weights.setflags(write=False)
        outputs = tuple(point(one) for one in self.outputs)
        read_fields(self, points=_points(self.points, self.metric), outputs=outputs, weights=weights)

    @classmethod
    def exponential(cls, points: Iterable[Iterable[Real]], *, epsilon: Real, metric: Metric) -> "Kernel":
        """Return the exponential mechanism between points.

        It reports z with probability proportional to e^(-epsilon d(x, z) / 2); the other half of epsilon is for the
        totals.

        Args:
            points: at most 200 tuples of numbers.
            epsilon: per unit of distance.
            metric: of the points.
        """
        exact = _points(points, metric)
        rate = positive_rational("epsilon", epsilon)
        return cls._safe(np.exp(-float(rate) / 2 * metric.table(exact, exact)), exact, rate, metric)

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
        """Return the mechanism of least expected distance under a public prior.

        A linear program finds it. The solver's floats are mixed with the uniform distribution until integers satisfy
        all constraints exactly.

        Args:
            points: at most 200; the program has their number squared as variables.
            prior: weights >= 0, one for each point.
            epsilon: per unit of distance.
            metric: of the points.
            dilation: at least 1. Only neighbours in a graph whose paths are at most this much longer than distances are
                constrained, by a smaller epsilon. 1 loses nothing; 1.05 takes a third of the time at 49 points.

        Raises: InvalidParameterError if the solver fails.
        """
        from scipy.optimize import linprog
        from scipy.sparse import coo_array, eye_array, kron

        exact = _points(points, metric)
        rate = positive_rational("epsilon", epsilon)
        longer = exact_rational("dilation", dilation)
        if longer < 1:
            raise InvalidParameterError(f"dilation must be at least 1, got {shown(dilation)}")
        size = len(exact)
        distances = metric.table(exact, exact)
        first, second, stretch = _spanner(distances, float(longer))
        limits = np.exp(-np.minimum(float(rate) / stretch * distances[first, second], 40.0))
        rows = np.arange(first.size)
        pairs = coo_array((limits, (rows, first)), shape=(rows.size, size))
        pairs = pairs - coo_array((np.ones(rows.size), (rows, second)), shape=(rows.size, size))
        solved = linprog(
            (normalised(prior, size)[:, None] * distances).ravel(),
            A_ub=kron(pairs, eye_array(size), format="csr"),
            b_ub=np.zeros(rows.size * size),
            A_eq=kron(eye_array(size), np.ones((1, size)), format="csr"),
            b_eq=np.ones(size),
            method="highs-ipm",
        )
        if solved.x is None:
            raise InvalidParameterError("the solver did not find a mechanism. Take fewer points.")
        return cls._safe(solved.x.reshape(size, size), exact, rate, metric)

    @classmethod
    def _safe(cls, chances: Floats, points: tuple[Point, ...], rate: Fraction, metric: Metric) -> "Kernel":
        """Return weights close to these chances that satisfy every constraint exactly."""
        limits = ratios_below(points, metric, rate)
        chances = np.maximum(chances, 0.0)
        share = 2.0**-44
        chances /= chances.sum(axis=1, keepdims=True)
        for _ in range(60):
            mixed = (1 - share) * chances + share / chances.shape[1]
            weights = np.floor(mixed / mixed.sum(axis=1, keepdims=True) * (_TOTAL * (1 - 2.0**-40))).astype(np.int64)
            weights[:, 0] += _TOTAL - weights.sum(axis=1)
            if satisfies(weights, limits):
                return cls(points=points, outputs=points, weights=weights, metric=metric)
            share = min(2 * share, 1.0)
        raise InvalidParameterError(
            "epsilon is too small for these points: their distributions would have to be equal. Take a larger epsilon."
        )

    @property
    def total(self) -> int:
        """Sum of the weights of a row."""
        return int(self.weights[0].sum())

    @cached_property
    def privacy_loss(self) -> MetricLoss:
        """Smallest loss that these weights satisfy, rounded up.

        It is refused where an output rules a point out.
        """
        measured = measured_epsilon(self.weights.tolist(), self.points, self.metric)
        return MetricLoss(epsilon=measured.upper, metric=self.metric)

    def release(
        self, locations: Container, *, ledger: Ledger | None = None, bits: Bits = SECURE
    ) -> Released[NDArray[np.int64]]:
        """Report an output, by its index, for each location.

        Args:
            locations: secret; indices of points, in any container. Anything else counts as 0.
            ledger: for `privacy_loss.privacy_unit`, charged for every location before one is read; None charges
                nothing.
            bits: leave it out, except in tests.
        """
        loss = self.privacy_loss
        payment = Payment(ledger, text=f"places by {self.name_in_ledgers}", bits=bits, protects=loss.privacy_unit)
        if ledger is not None:
            self._indices(without_rows(locations))
        payment.charge_each(loss.charged, locations)
        secret = self._indices(locations)
        drawn = uniform.below(self.total, size=secret.size, bits=bits)
        outputs = np.empty(secret.size, dtype=np.int64)
        for i, sums in enumerate(np.cumsum(self.weights, axis=1)):
            outputs[secret == i] = np.searchsorted(sums, drawn[secret == i], side="right")
        return Released(outputs, bits.safe)

    def gap(self, location: object, output: ArrayLike) -> Fraction:
        """Return the distance between a location and an output. SECRET.

        It changes by no more than the location moves.

        Args:
            location: index of a point.
            output: index of an output.
        """
        norm = self.metric.norm if self.metric.norm in ("discrete", "hamming") else "linf"
        here = self.points[int(self._indices([location])[0])]
        there = self.outputs[int(np.asarray(output))]
        return Metric(norm=norm).distance(here, there)

    def _indices(self, locations: object) -> NDArray[np.int64]:
        """Return indices of points; 0 for anything else."""
        given = floats.numbers(locations, "locations")
        return np.where(np.isin(given, np.arange(len(self.points))), given, 0).astype(np.int64)

    @property
    def name_in_ledgers(self) -> str:
        """Name of this mechanism in ledgers, which recall a report by it."""
        return repr(self)

    def __repr__(self) -> str:
        points, outputs = (tuple(tuple(map(Fraction, one)) for one in listed) for listed in (self.points, self.outputs))
        exact = repr((points, outputs, self.weights.tolist(), self.metric)).encode()
        return (
            f"Kernel({len(self.points)} points, {len(self.outputs)} outputs, {hashlib.sha256(exact).hexdigest()[:16]})"
        )

    def expected_error(self, prior: ArrayLike) -> float:
        """Return the mean distance between location and report, in float64.

        Args:
            prior: weights >= 0, one for each point.
        """
        return float((self._joint(prior) * self.metric.table(self.points, self.outputs)).sum())

    def adversary_error(self, prior: ArrayLike) -> float:
        """Return the mean distance between location and the best guess.

        The adversary who guesses knows the prior and this mechanism.

        Args:
            prior: weights >= 0, one for each point.
        """
        return float((self._joint(prior).T @ self.metric.table(self.points, self.points)).min(axis=1).sum())

    def remapped(self, prior: ArrayLike) -> "Kernel":
        """Return this mechanism with each report moved to the likeliest point.

        That is the point of least expected distance; moving is post-processing.

        Args:
            prior: weights >= 0, one for each point.
        """
        best = (self._joint(prior).T @ self.metric.table(self.points, self.points)).argmin(axis=1)
        weights = np.zeros((len(self.points), len(self.points)), dtype=np.int64)
        np.add.at(weights.T, best, self.weights.T)
        return Kernel(points=self.points, outputs=self.points, weights=weights, metric=self.metric)

    def _joint(self, prior: ArrayLike) -> Floats:
        """Return joint probabilities, shape (points, outputs)."""
        return normalised(prior, len(self.points))[:, None] * (self.weights / self.total)


def _points(points: Iterable[Iterable[Real]], metric: object) -> tuple[Point, ...]:
    """Return exact points."""
    if not isinstance(metric, Metric):
        raise InvalidParameterError(f"metric must be a Metric, got {shown(metric)}")
    exact = tuple(point(one) for one in points)
    if not 1 <= len(exact) <= _MAX_POINTS or len(set(exact)) != len(exact) or len({len(one) for one in exact}) != 1:
        raise InvalidParameterError(f"points must be 1 to {_MAX_POINTS} distinct tuples of one length")
    return exact


def _spanner(distances: Floats, dilation: float) -> tuple[NDArray[np.int64], NDArray[np.int64], float]:
    """Return pairs of neighbours in the greedy graph of a dilation, and its stretch.

    Pairs are ordered; paths are at most the stretch times as long as distances.
    """
    paths = np.where(np.eye(len(distances), dtype=bool), 0.0, np.inf)
    edges = []
    for i, j in sorted(combinations(range(len(distances)), 2), key=lambda pair: distances[pair]):
        if paths[i, j] > dilation * distances[i, j] * (1 + 2.0**-40):
            edges += [(i, j), (j, i)]
            for one, other in ((i, j), (j, i)):
                paths = np.minimum(paths, paths[:, one, None] + distances[i, j] + paths[other])
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    stretch = np.divide(paths, distances, out=np.ones_like(paths), where=distances > 0).max()
    return pairs[:, 0], pairs[:, 1], float(stretch)


def normalised(prior: ArrayLike, size: int) -> Floats:
    """Return public weights as probabilities."""
    weights = finite("prior", prior, (size,))
    if weights.min() < 0 or not weights.sum() > 0:
        raise InvalidParameterError(f"prior must be {size} weights >= 0, at least one of them above 0")
    return np.asarray(weights / weights.sum())

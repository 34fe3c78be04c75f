"""Covariance of vectors under loose public bounds, in steps that make it round."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar, Unpack

import numpy as np

from deniable.mechanisms import ClippedProducts
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.vectors.matrix_noise import MatrixNoise
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, Reals
from deniable.privacy import Sensitivity
from deniable.privacy.sensitivity.vectors import of_outer_sum
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate, Key
from deniable.rows import Container
from deniable.statistics.bounds import for_each_column
from deniable.statistics.call import asks
from deniable.statistics.statistic import Answer, BoundsLike, Options, release
from deniable.statistics.vectors.base import VectorStatistic, part_of
from deniable.statistics.vectors.noisy_moments import NoisyMoments, lost

# Lattice steps to the norm of (constant, row): squares of them stay exact in floats.
_LATTICE_STEPS = 2**16
# Beside rows whose covariance is at most 1; it carries the means and the number of rows.
_CONSTANT_COORDINATE = math.sqrt(2)
# Before the last step; measured runs need fewer.
_MAX_WHITENING_STEPS = 12
# Of the price, for one whitening step, and of what is left of it at most; no step costs less than the last of these.
_MIN_STEP_SHARE = Fraction(1, 25)
_MAX_SHARE_OF_REST = Fraction(1, 3)
_SMALLEST_SHARE = Fraction(1, 1000)
# How far noise may hide the least variance in one step, in units of what is known to bound it.
_TARGET_NOISE = 0.3
# Rows, before they are counted: the first step is rough anyway.
_INITIAL_SIZE = 10_000.0
# Deviations by which rows may be more than they were counted.
_COUNT_DEVIATIONS = 2.0
# Deviations of earlier noise, by which variances are taken to exceed 1 in the coordinates of a step.
_VARIANCE_DEVIATIONS = 2.0
# Rows are round enough if all variances are at least this part of their bound.
_ROUND_VARIANCE = 0.5
# A step is not worth its price if bounding variances adds more than this to them, in units of their bound.
_MAX_MARGIN = 0.5


@dataclass(frozen=True, kw_only=True)
class VectorCovariance(VectorStatistic):
    """Covariance matrix of the columns under loose bounds: see `vector_covariance`."""

    name: ClassVar[str] = "vector_covariance"
    known_means: ClassVar[bool] = True

    def _check(self) -> None:
        for share in (_SMALLEST_SHARE, Fraction(1)):
            self.mechanism(share)

    def mechanism(self, share: Fraction) -> AdditiveNoise:
        """Return the noise of a step that costs this share."""
        return part_of(self.rest, share).noise(self._sensitivity)

    def expected_error(self, size: int) -> float:
        """Return the root mean squared Frobenius norm of the error.

        In coordinates in which the covariance is the identity.
        """
        left = Fraction(1)
        for _ in range(6):
            left -= self._share(left, max(size, 1))
        squared, deviation = self._noise(left, max(size, 1))
        columns = len(self.columns)
        return math.hypot(deviation * _frobenius(columns), math.sqrt(columns) * float(lost(columns, squared)))

    @cached_property
    def _constant(self) -> float:
        """0 if neither the means nor the number of rows must be found."""
        return 0.0 if self.size_is_public and not self.columns.half.any() else _CONSTANT_COORDINATE

    @cached_property
    def _sensitivity(self) -> Sensitivity:
        columns = len(self.columns) + (self._constant > 0)
        return of_outer_sum(radius=_LATTICE_STEPS, dimensions=columns, rows=self.rows, relation=self.relation)

    @cached_property
    def _whole(self) -> float:
        """Standard deviation of the noise of a step for the whole price.

        For rows clipped to norm 1.
        """
        return MatrixNoise(self.mechanism(Fraction(1)), len(self.columns)).deviation / _LATTICE_STEPS**2

    def _noise(self, share: Fraction, size: float) -> tuple[float, float]:
        """Return the best squared radius for this share, and the deviation of a variance."""
        unit = self._spread(self._whole, share) / size
        squared = _best_squared_radius(len(self.columns), unit, self._constant**2)
        return squared, unit * (squared + self._constant**2)

    def _share(self, left: Fraction, size: float) -> Fraction:
        """Return the share of the price for a step before the last one.

        It is enough to see variances of the target size, within limits.
        """
        spread = self._noise(left, size)[1] * math.sqrt(2 * len(self.columns)) / 2
        power = 1 if self._spending.rho is None else 2
        needed = Fraction(float(left) * min(spread / _TARGET_NOISE, 1.0) ** power).limit_denominator(1000)
        return max(_SMALLEST_SHARE, min(left * _MAX_SHARE_OF_REST, max(_MIN_STEP_SHARE, needed)))

    def _sees(self, search: "_Search", share: Fraction, size: float) -> bool:
        """Return whether a step of this share can make rows rounder.

        If they are as many as they may be.
        """
        largest_size = size if self.size_is_public else search.most_rows()
        deviation = 0.0 if largest_size == math.inf else self._noise(share, largest_size)[1]
        of_means = deviation / (math.sqrt(2) * self._constant) if self._constant else 0.0
        return search.margin(deviation, of_means, largest_size) <= _MAX_MARGIN

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        public, rows_in_bounds, names, notes = self._searched(values, units, bits)
        scale = np.hypot(public.deviations, public.half)
        rows = public.scaled(rows_in_bounds, scale)
        search = _Search(columns=len(public), constant=self._constant)
        size = float(max(len(rows), 1)) if self.size_is_public else _INITIAL_SIZE
        left = Fraction(1)
        steps = 0
        last = False
        while not last:
            share = self._share(left, size)
            last = steps == _MAX_WHITENING_STEPS or search.is_round or not self._sees(search, share, size)
            if last:
                share = left
            size = self._step(search, rows, share, size, bits)
            if not last:
                search.whiten(size)
            left -= share
            steps += 1
        unit = np.outer(scale, scale)
        shrunk = _shrunk(search.answer() * unit, public.deviations)
        largest = np.outer(public.deviations, public.deviations)
        return Answer(
            parts=(
                Key(name="row", values=np.repeat(names, len(names)).tolist(), kind="string"),
                Key(name="column", values=names * len(names), kind="string"),
                Estimate(
                    name="covariance",
                    estimates=shrunk.ravel(),
                    ends=partial(_ends, moments=search.steps[-1], unit=unit, largest=largest, shrunk=shrunk),
                    post_processing="the matrix is the nearest one without negative variances, at most `deviations`",
                ),
            ),
            notes=(f"rows were whitened {steps - 1} times", *notes),
        )

    def _step(self, search: "_Search", rows: Floats, share: Fraction, size: float, bits: Bits) -> float:
        """Add the answer of one step to the search, and return the number of rows known."""
        squared, _ = self._noise(share, size)
        constant = math.floor(_LATTICE_STEPS * self._constant / math.sqrt(squared + self._constant**2))
        products = ClippedProducts(
            noise=self.mechanism(share),
            columns=len(search.centre),
            radius=Fraction(math.sqrt(squared)),
            steps=_LATTICE_STEPS,
            constant=constant,
            centre=tuple(map(Fraction, search.centre)),
            transform=tuple(tuple(map(Fraction, line)) for line in search.transform),
        )
        noisy: Floats = products.release(rows, bits=bits).value.astype(np.float64)
        noisy = (noisy + noisy.T) / 2
        unit = products.step
        noise = MatrixNoise(products.noise, len(noisy))
        count = size if self.size_is_public else float(noisy[0, 0]) / constant**2
        size_now = size if self.size_is_public else search.counted(count, noise.deviation / constant**2)
        moments = NoisyMoments(
            squares=noisy[1:, 1:] * unit**2 if constant else noisy * unit**2,
            sums=noisy[0, 1:] * (unit / constant) if constant else None,
            rows=count,
            noise=noise,
            step=unit,
            constant=constant,
            size_is_public=self.size_is_public,
            size=size,
            squared_radius=squared,
            back=np.asarray(np.linalg.inv(search.transform), dtype=np.float64),
            variance=search.largest_variance(),
        )
        search.add(moments, size_now)
        return size_now


def _ends(level: float, *, moments: NoisyMoments, unit: Floats, largest: Floats, shrunk: Floats) -> Bounds:
    """Return intervals by the last step, as far as possible, which hold the answer."""
    lowest = np.where(np.eye(len(largest), dtype=np.bool_), 0.0, -largest)
    lower, upper = (np.clip(end * unit, lowest, largest) for end in moments.intervals(level))
    return Bounds(np.minimum(lower, shrunk).ravel(), np.maximum(upper, shrunk).ravel())


def _shrunk(matrix: Floats, deviations: Floats) -> Floats:
    """Return the matrix with columns shrunk to their declared deviations.

    Correlations stay.
    """
    factors = np.minimum(1.0, deviations / np.sqrt(np.maximum(matrix.diagonal(), np.finfo(np.float64).tiny)))
    return np.asarray(matrix * np.outer(factors, factors))


@dataclass
class _Search:
    """Public state of the search: rows are seen as transform (row - centre)."""

    columns: int
    constant: float
    centre: Floats = field(init=False)
    transform: Floats = field(init=False)  # symmetric
    is_round: bool = False
    mean_noise: float = 0.0
    steps: list[NoisyMoments] = field(default_factory=list)
    covariances: list[tuple[Floats, float]] = field(default_factory=list)  # covariance of each step, and deviation
    counts: list[tuple[float, float]] = field(default_factory=list)  # rows, deviation

    def __post_init__(self) -> None:
        self.centre = np.zeros(self.columns)
        self.transform = np.eye(self.columns)

    def counted(self, rows: float, deviation: float) -> float:
        """Return the number of rows, at least 1, by the counts of all steps.

        They are weighted by precision.
        """
        self.counts.append((rows, deviation))
        return self._rows(0.0)

    def largest_variance(self) -> float:
        """Return an assumed bound on the variances in these coordinates: 1 at first."""
        stretched = float(np.linalg.norm(self.transform, 2)) ** 2
        return min(stretched, 1 + _VARIANCE_DEVIATIONS * self.combined()[1]) if self.steps else 1.0

    def most_rows(self) -> float:
        """Return the largest plausible number of rows: infinite before they are counted."""
        return self._rows(_COUNT_DEVIATIONS) if self.counts else math.inf

    def _rows(self, above: float) -> float:
        """Return the number of rows, plus `above` standard deviations."""
        counts, deviations = np.array(self.counts).T
        precision = deviations**-2.0
        return max(1.0, float(np.average(counts, weights=precision) + above / np.sqrt(precision.sum())))

    def add(self, moments: NoisyMoments, size: float) -> None:
        """Take in the moments of rows of which there are about `size`."""
        squares = moments.squares / size
        deviation = moments.noise.deviation * moments.step**2 / size
        back = moments.back
        if moments.sums is not None:
            means = moments.sums / size
            self.mean_noise = deviation / (math.sqrt(2) * moments.constant * moments.step)
            squares = squares - np.outer(means, means) + self.mean_noise**2 * np.eye(self.columns)
            self.centre = self.centre + back @ means
        self.covariances.append((back @ squares @ back, deviation))
        self.steps.append(moments)

    def combined(self) -> tuple[Floats, float]:
        """Return the covariance of the transformed rows, and its diagonal's deviation.

        By all steps, weighted by precision.
        """
        weights = self._weights()
        matrix = np.average([covariance for covariance, _ in self.covariances], axis=0, weights=weights)
        total = 1 / math.sqrt(weights.sum())
        return self.transform @ matrix @ self.transform, total / _frobenius(self.columns)

    def _weights(self) -> Floats:
        """Return the precision of each step."""
        views = [self.transform @ step.back for step in self.steps]
        grams = [view @ view.T for view in views]
        noise = [
            deviation**2 * (np.trace(gram) ** 2 + np.sum(gram**2)) / 2
            for gram, (_, deviation) in zip(grams, self.covariances, strict=True)
        ]
        return 1 / np.array(noise)

    def whiten(self, size: float) -> None:
        """Shrink the coordinates along which variances are below their bound 1.

        With a margin.
        """
        matrix, deviation = self.combined()
        variances, axes = np.linalg.eigh(matrix)
        self.is_round = bool(variances[0] >= _ROUND_VARIANCE)
        margin = self.margin(deviation, self.mean_noise, size)
        bounds = np.minimum(np.maximum(variances, 0.0) + margin, 1.0)
        self.transform = _root(self.transform @ ((axes / bounds) @ axes.T) @ self.transform)

    def margin(self, deviation: float, of_means: float, size: float) -> float:
        """Return the margin added to variances, for noise and for chance.

        Noise in squares and in means.
        """
        chance = self.columns / size
        of_squares = (deviation * math.sqrt(2 * self.columns) + 2 * math.sqrt(chance) + chance) / 2
        return of_squares + self.columns * of_means * of_means

    def answer(self) -> Floats:
        """Return the covariance of the rows by all steps, without negative variances."""
        matrix, _ = self.combined()
        back = np.linalg.inv(self.transform)
        variances, axes = np.linalg.eigh(back @ matrix @ back)
        covariance = (axes * np.maximum(variances, 0.0)) @ axes.T
        return np.asarray((covariance + covariance.T) / 2)


@asks(VectorCovariance)
def vector_covariance(
    values: Container,
    *,
    bounds: BoundsLike | Sequence[BoundsLike],
    deviations: Real | Reals = "auto",
    **options: Unpack[Options],
) -> Release:
    """Return the noisy covariance matrix of a table, under loose public bounds.

    By CoinPress: rows are whitened by a noisy covariance, again and again. The bounds may be loose by orders of
    magnitude: the noise hardly grows with them. Rows are clipped, in coordinates in which their covariance is nearly
    the identity, at the radius that is best for normal rows. The release has a row for each pair of columns, in the
    order of the matrix: `answer["covariance"].reshape(d, d)`. If all bounds are pairs like (0, 0), the means are known,
    and nothing is spent on them.

    Args:
        values: a table of private numbers.
        bounds: for each column one pair (lower, upper), between which its mean lies, or "auto": a quarter of the price
            finds what is not declared. The word "auto" alone stands for all columns.
        deviations: standard deviations that no column exceeds: one number, or one for each column. Those of a column
            with bounds="auto" may be "auto": half of the distance of the ends to which its values are clamped.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: the price. Rows are integer vectors z of a ball; one unit moves the sum of z z^T by at most `rows` times
        the squared radius in the Frobenius norm (sqrt(2) times that under replace), and the steps add up.
    Interval: by the last step alone. For the covariance of the rows as that step clips them it holds at its level or
        above, whatever the rows are and whatever earlier steps said. It is widened by what clipping takes, on average,
        from normal rows that have a variance of at most 1 + 2 s in any direction of the last coordinates, with s the
        deviation of what was known when these were chosen, or the most that follows from what is declared: most likely
        so, but not proved.
    Error: `expected_error` is the Frobenius norm of noise and clipping in coordinates in which the covariance is the
        identity (Mahalanobis), for normal rows, if they are enough for six steps to close in.
    Proof: docs/theory/statistics/vectors.md, with what is changed.
    Source: Biswas, Dong, Kamath, Ullman (2020), arXiv:2006.06618.

    >>> import deniable as dn
    >>> rows = [[61.0, 172.0], [74.5, 181.0], [58.0, 165.0]]
    >>> answer = dn.statistics.vector_covariance(rows, bounds=[(0, 500), (0, 300)], deviations=100, rho=1)
    """
    return release(
        VectorCovariance, values, {"bounds": for_each_column(bounds, values), "deviations": deviations}, options
    )


def _best_squared_radius(columns: int, unit: float, constant: float) -> float:
    """Return the squared radius at which clipping costs least for normal rows.

    With the identity as covariance: noise against what is cut off.
    """
    squared = np.linspace(columns, columns + 20 * math.sqrt(2 * columns) + 60, 400)
    noise = unit * (squared + constant) * _frobenius(columns)
    return float(squared[np.argmin(noise**2 + columns * lost(columns, squared) ** 2)])


def _frobenius(columns: int) -> float:
    """Return the norm of a symmetric matrix with deviations of noise as entries.

    1 on the diagonal and sqrt(1/2) beside it.
    """
    return math.sqrt(columns * (columns + 1) / 2)


def _root(matrix: Floats) -> Floats:
    """Return the symmetric root of a symmetric matrix without negative eigenvalues."""
    values, axes = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T)

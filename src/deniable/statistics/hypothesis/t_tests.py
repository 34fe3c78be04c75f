"""Tests of means: one sample against a number, and two samples against each other."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Annotated, ClassVar, TypeAlias, Unpack

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.noise.bits import Bits
from deniable.noise.simulation import normals
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, exact_rational
from deniable.privacy import Sensitivity
from deniable.privacy.sensitivity import of_spread_sum
from deniable.release import Release
from deniable.rows import Container, numbers
from deniable.statistics.bounded import BoundedSums
from deniable.statistics.bounds import Guess
from deniable.statistics.call import asks
from deniable.statistics.hypothesis.base import (
    Alternative,
    HypothesisTest,
    TestOptions,
    checked_alternative,
    directed,
    noise,
    p_value,
)
from deniable.statistics.hypothesis.chi_squared import pair_of
from deniable.statistics.shares import UNIT, bernstein, shares
from deniable.statistics.statistic import Answer, BoundsLike, Takes, release
from deniable.statistics.units import bounded_rows

Ends: TypeAlias = tuple[float, float]

_CELLS = 3  # sums of each sample: its number of rows, mean and variance
_MAX_STATED_MEAN = 1e290  # of a stated mean from 0
_POSSIBLE = (0.0005, 0.5, 0.9995)  # quantiles of the variances that the noise leaves possible
_NODES = 2001  # of the quadrature for one clamped normal row


@dataclass(frozen=True, kw_only=True)
class _MeanTest(BoundedSums, HypothesisTest):
    """Base of tests of means, by noisy sums of (1 - u)^2, 2 u (1 - u) and u^2.

    u is the position of a value between the bounds.

    One row adds 1 in all to these sums, so each may have the noise of a single count. The null law is that of normal
    rows, clamped to the bounds; their sums are simulated by their normal limit. The p-value is the largest for three
    variances: the likeliest, and the ends of those that the noise leaves possible (after Berger, Boos, 1994), as a
    variance too large by chance would reject too often.
    Bounds that are searched are those of all samples together, and the null law is that given them.
    """

    alternative: Annotated[Alternative, checked_alternative] = "two-sided"

    _samples: ClassVar[int]

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """Sensitivity of all sums together, in lattice steps."""
        cells = _CELLS * self._samples
        return of_spread_sum(lower=0, upper=UNIT, total_rows=self.rows, relation=self.relation, cells=cells)

    def expected_error(self, size: int) -> float:
        """Return the standard deviation that noise adds to the statistic.

        For rows spread evenly between the bounds.
        """
        rows = max(size / self._samples, 1)
        return sqrt(12 / rows) * self._noise_of_a_mean

    @property
    def _noise_of_a_mean(self) -> float:
        """Standard deviation of the noise in n times a mean of u near 1/2."""
        return self.mechanism.standard_deviation() / UNIT / sqrt(2)

    def _tested_samples(self, samples: Sequence[Floats], units: object, bits: Bits) -> Answer:
        present = ~np.isnan(np.concatenate(samples))
        if units is not None:
            present = bounded_rows(units, rows=self.rows, present=present, bits=bits)
            masks = np.split(present, np.cumsum([len(sample) for sample in samples])[:-1])
            samples = [sample[mask] for sample, mask in zip(samples, masks, strict=True)]
        ends = self._widened(self.bounding.ends(np.concatenate(samples), bits=bits))
        exact = [self._sums(sample, ends) for sample in samples]
        noisy = self.mechanism.release(exact, bits=bits).value.astype(np.float64) / UNIT  # (samples, cells)
        sizes, means, _ = moments(noisy)
        centre = self._centre(sizes, means, ends)
        runs = (self.simulations, self._samples, _CELLS)
        possible = moments(noisy - noise(self.mechanism, runs, bits) / UNIT)[2]
        statistic = self._standardised(noisy[np.newaxis], ends)
        chances = []
        for variances in np.quantile(possible, _POSSIBLE, axis=0):
            null = np.stack(
                [
                    _simulated(centre, np.sqrt(variance), size, self.simulations, bits)
                    for size, variance in zip(sizes, variances, strict=True)
                ],
                axis=1,
            )
            null += noise(self.mechanism, runs, bits) / UNIT
            simulated = self._standardised(null, ends)
            chances.append(p_value(directed(statistic, self.alternative), directed(simulated, self.alternative)))
        return self._tested(float(statistic[0]), max(chances), notes=self.bounding.notes(ends))

    def _widened(self, ends: Ends) -> Ends:
        """Return the ends, or wider ones that the null hypothesis asks for."""
        return ends

    def _sums(self, sample: Floats, ends: Ends) -> list[int]:
        totals = [0] * _CELLS
        for block in shares(sample, [ends], relation=self.relation):
            totals = [total + int(part) for total, part in zip(totals, bernstein(block).sum(axis=1), strict=True)]
        return totals

    def _standardised(self, sums: Floats, ends: Ends) -> Floats:
        """Return the difference of means over its standard error, noise included.

        Sums have the shape (runs, samples, cells).
        """
        sizes, means, variances = moments(sums)
        errors = variances / sizes + (self._noise_of_a_mean / sizes) ** 2
        return np.asarray(self._difference(means, ends) / np.sqrt(errors.sum(axis=-1)))

    @abstractmethod
    def _centre(self, sizes: Floats, means: Floats, ends: Ends) -> float:
        """Return the mean of u under the null hypothesis."""

    @abstractmethod
    def _difference(self, means: Floats, ends: Ends) -> Floats:
        """Return the difference that is 0 under the null hypothesis.

        Means have the shape (..., samples).
        """


@dataclass(frozen=True, kw_only=True)
class OneSampleTTest(_MeanTest):
    """Test of the mean of a column: see `one_sample_t_test`."""

    name: ClassVar[str] = "one_sample_t_test"
    null: ClassVar[str] = "the mean is as stated"
    _samples: ClassVar[int] = 1

    mean: Real

    def _check(self) -> None:
        lower, upper = self.bounding.public or (-_MAX_STATED_MEAN, _MAX_STATED_MEAN)
        if not lower < exact_rational("mean", self.mean) < upper:
            raise InvalidParameterError(f"mean must lie between the bounds, got {self.mean!r}")

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        return self._tested_samples([numbers(values)], units, bits)

    def _widened(self, ends: Ends) -> Ends:
        """Return ends with room for a quarter of their distance around the stated mean.

        If they were searched.
        """
        if self.bounding.public:
            return ends
        mean = float(exact_rational("mean", self.mean))
        room = (ends[1] - ends[0]) / 4
        widened = min(ends[0], mean - room), max(ends[1], mean + room)
        return Guess(widened) if isinstance(ends, Guess) else widened

    def _centre(self, sizes: Floats, means: Floats, ends: Ends) -> float:
        return (float(exact_rational("mean", self.mean)) - ends[0]) / (ends[1] - ends[0])

    def _difference(self, means: Floats, ends: Ends) -> Floats:
        return np.asarray(means[..., 0] - self._centre(means, means, ends))


@dataclass(frozen=True, kw_only=True)
class TwoSampleTTest(_MeanTest):
    """Test of the means of two samples: see `two_sample_t_test`."""

    name: ClassVar[str] = "two_sample_t_test"
    takes: ClassVar[Takes] = "samples"
    null: ClassVar[str] = "both samples have the same mean"
    _samples: ClassVar[int] = 2

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        return self._tested_samples([numbers(column) for column in pair_of(values)], units, bits)

    def _centre(self, sizes: Floats, means: Floats, ends: Ends) -> float:
        return float(np.average(means, weights=sizes))

    def _difference(self, means: Floats, ends: Ends) -> Floats:
        return np.asarray(means[..., 0] - means[..., 1])


@asks(OneSampleTTest)
def one_sample_t_test(
    values: Container,
    *,
    mean: Real,
    bounds: BoundsLike,
    alternative: Alternative = "two-sided",
    **options: Unpack[TestOptions],
) -> Release:
    """Test whether the mean of a column is `mean`, like Student's test with noise.

    Error rates hold for rows that are about normal inside the bounds, or many. The spread is filled in from the noisy
    answer (parametric bootstrap), and the noise is part of the null law.

    Args:
        values: one column of private numbers.
        mean: of the population, under the null hypothesis; between the bounds.
        bounds: public (lower, upper), to which values are clamped; "auto" spends a quarter of the price on finding
            them.
        alternative: "two-sided", "greater" or "less".
        options: price, relation, units, ledger and `simulations`: see `TestOptions`.

    Guarantee: one row adds 1 to three sums together, so they move by at most `rows` in l1 (replace: twice that).
    Proof: docs/theory/statistics/moments.md.
    Source: Barrientos, Reiter, Machanavajjhala, Chen (2019), arXiv:1705.05916, for the question; the sums are ours.

    >>> import deniable as dn
    >>> test = dn.statistics.one_sample_t_test([5.1, 4.9, 5.3] * 50, mean=5, bounds=(0, 10), epsilon=1)
    """
    return release(OneSampleTTest, values, {"mean": mean, "bounds": bounds, "alternative": alternative}, options)


@asks(TwoSampleTTest)
def two_sample_t_test(
    first: Container,
    second: Container,
    *,
    bounds: BoundsLike,
    alternative: Alternative = "two-sided",
    **options: Unpack[TestOptions],
) -> Release:
    """Test whether two samples have one mean, like Welch's test with noise.

    Under replace a unit that is exchanged stays in its sample or not: both are covered. Error rates are as for
    `one_sample_t_test`.

    Args:
        first: private numbers of one sample.
        second: those of the other; `units` lists the owners of `first`, then of `second`.
        bounds: public (lower, upper), to which values are clamped; "auto" spends a quarter of the price on finding
            them.
        alternative: "two-sided", "greater" or "less".
        options: price, relation, units, ledger and `simulations`: see `TestOptions`.

    Guarantee: a row is in one sample and adds 1 to its three sums together, so all move by at most `rows` in l1
        (replace: twice that).
    Proof: docs/theory/statistics/moments.md.
    Source: as for `one_sample_t_test`.

    >>> import deniable as dn
    >>> test = dn.statistics.two_sample_t_test([5.1, 4.9] * 50, [5.3, 5.6] * 50, bounds=(0, 10), epsilon=1)
    """
    return release(TwoSampleTTest, (first, second), {"bounds": bounds, "alternative": alternative}, options)


def moments(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Return number of rows, mean and variance of u from three sums, kept in range.

    The sums are on the last axis, and there are at least 2 rows.
    """
    sizes = np.maximum(sums.sum(axis=-1), 2.0)
    means = np.clip((sums[..., 1] / 2 + sums[..., 2]) / sizes, 0.0, 1.0)
    variances = np.clip(sums[..., 2] / sizes - means**2, 1e-6, 0.25)
    return sizes, means, variances


def _simulated(centre: float, spread: float, size: float, runs: int, bits: Bits) -> Floats:
    """Draw the three sums of `size` clamped normal rows, by their normal limit.

    Shape (runs, cells).
    """
    from scipy.special import ndtri

    u = np.clip(centre + spread * ndtri((np.arange(_NODES) + 0.5) / _NODES), 0.0, 1.0)
    weights = np.stack([(1 - u) ** 2, 2 * u * (1 - u), u**2])
    covariance = np.cov(weights)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(size * weights.mean(axis=1) + np.sqrt(size) * normals((runs, _CELLS), bits=bits) @ root.T)

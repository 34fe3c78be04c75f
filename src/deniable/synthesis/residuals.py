"""Residual space of tables: what a set of columns adds to those of its subsets.

The table of the columns A is the sum, over all subsets S of A, of the residual of S, spread evenly over the other
columns. The residual of S is the table of S minus its mean along every axis. Residuals of different sets are
orthogonal, so they can be measured, and averaged, one by one.
Proofs: docs/theory/synthesis/marginals.md.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from deniable.noise.bits import Bits
from deniable.noise.simulation import uniforms
from deniable.numbers.arrays import Floats
from deniable.privacy import Relation, Sensitivity

Table: TypeAlias = tuple[int, ...]
"""Indices of the columns of a table, ascending."""

_Numbers = TypeVar("_Numbers", bound=NDArray[Any])
_KURTOSIS_POINTS = 4096  # quantiles from which the fourth moment of a noise is computed,
_KURTOSIS_TAIL = 30.0  # up to the one that is exceeded with probability exp(-30) / 2
_LEAST_VARIANCE = 1e-12  # of noise at huge prices, so that weights are finite
LAPLACE_EXCESS = 3.0  # excess kurtosis of the Laplace law; noise in few steps has more
_NORMAL = 0.05  # excess kurtosis up to which noise counts as normal: its quantiles differ by less than 0.1%
_MIXTURE_POINTS = 2000  # variances in a mixture of normal laws, for intervals
NONNEGATIVE_STEPS = 2000  # at most, of the projection onto tables without negative counts
NONNEGATIVE_TOLERANCE = 1e-4  # by which counts may be negative when it stops, in standard deviations


def subsets(table: Table) -> list[Table]:
    """Return all subsets of a table's columns, smaller ones first."""
    return [subset for size in range(len(table) + 1) for subset in combinations(table, size)]


def closure(tables: Iterable[Table]) -> tuple[Table, ...]:
    """Return the subsets of all tables, each once, smaller ones first."""
    return tuple(sorted({subset for table in tables for subset in subsets(table)}, key=lambda each: (len(each), each)))


def centred(counts: _Numbers, *, first: int = 0) -> _Numbers:
    """Return the counts minus their mean along each axis, times its length.

    This keeps integers.

    Args:
        counts: of any shape.
        first: the first axis of the table; axes before it number different tables.
    """
    values: Any = counts
    for axis in range(first, counts.ndim):
        values = values * counts.shape[axis] - values.sum(axis=axis, keepdims=True)
    return values  # type: ignore[no-any-return]


def residual_sensitivity(sizes: Sequence[int], *, rows: int, relation: Relation) -> Sensitivity:
    """Return how far one unit moves `centred` counts.

    Args:
        sizes: number of levels of each column, at least 2.
        rows: the most rows of one unit that count.
        relation: the neighbouring relation.

    Guarantee: one row moves them by a vector whose entries are products of n - 1, at its own levels, and of -1, at all
        others, so l1 = prod 2 (n - 1) and l2^2 = prod n (n - 1). Two rows are at most sqrt(2 m / (m - 1)) l2 apart,
        where m is the least of the sizes.
    """
    own = Fraction(math.prod(size - 1 for size in sizes))
    l1 = 2 ** len(sizes) * own
    l2_squared = math.prod(sizes) * own
    if relation is Relation.ADD_REMOVE or not sizes:
        return Sensitivity(l1=rows * l1, l2_squared=rows**2 * l2_squared, linf=rows * own, relation=relation)
    least_size = min(sizes)
    apart = 2 * l2_squared * least_size / (least_size - 1)
    largest = own + own / (least_size - 1)  # of one entry: one row differs in the column of that size alone
    return Sensitivity(l1=2 * rows * l1, l2_squared=rows**2 * apart, linf=rows * largest, relation=relation)


class Noise(Protocol):
    """A symmetric law of noise."""

    def quantile(self, p: Floats) -> Floats:
        """Return quantiles of the noise."""
        ...

    def standard_deviation(self) -> float:
        """Return the standard deviation of the noise."""
        ...


@dataclass(frozen=True)
class Measurement:
    """One noisy array of counts, of a whole table or of its residual alone.

    A residual is measured as `centred` counts.

    Args:
        table: its columns.
        noise: independent, on every count.
        residual: whether only the residual was measured.
        step: of the lattice of the noise, in its unit.
    """

    table: Table
    noise: Noise
    residual: bool
    step: float = 1.0


@dataclass(frozen=True)
class ResidualSpace:
    """How noisy arrays determine the residuals, by least squares. All of it is public.

    Args:
        sizes: number of levels of each column of the domain.
        measurements: which together contain the residuals of every table that is asked for.
    """

    sizes: tuple[int, ...]
    measurements: tuple[Measurement, ...]

    def cells(self, table: Table) -> int:
        """Return the number of counts of a table."""
        return math.prod(self.sizes[column] for column in table)

    @cached_property
    def deviations(self) -> list[float]:
        """Standard deviation of the noise of each measurement."""
        return [measurement.noise.standard_deviation() for measurement in self.measurements]

    @cached_property
    def excesses(self) -> list[float]:
        """Excess kurtosis of the noise of each measurement."""
        return [excess_kurtosis(measurement.noise) for measurement in self.measurements]

    @cached_property
    def sources(self) -> Mapping[Table, list[tuple[int, float]]]:
        """Measurements that contain each residual, with their variances there.

        A variance v stands for the covariance v times the projection that takes means away along each axis.
        """
        sources: dict[Table, list[tuple[int, float]]] = {}
        for index, measurement in enumerate(self.measurements):
            variance = max(self.deviations[index] ** 2, _LEAST_VARIANCE)
            table = measurement.table
            if measurement.residual:
                sources.setdefault(table, []).append((index, variance / self.cells(table) ** 2))
                continue
            for subset in subsets(table):
                others = self.cells(table) // self.cells(subset)
                sources.setdefault(subset, []).append((index, variance * others))
        return sources

    @cached_property
    def variances(self) -> Mapping[Table, float]:
        """Variance of each residual, from all that was measured of it."""
        return {subset: 1 / sum(1 / variance for _, variance in held) for subset, held in self.sources.items()}

    def variance(self, table: Table) -> float:
        """Return the variance of any count of a table."""
        return sum(self.variances.get(subset, 0.0) * self.share(table, subset) for subset in subsets(table))

    def share(self, table: Table, subset: Table) -> float:
        """Return how much of a residual's variance a count of a table has."""
        kept = math.prod(1 - 1 / self.sizes[column] for column in subset)
        return kept / (self.cells(table) / self.cells(subset)) ** 2

    def estimates(self, noisy: Sequence[NDArray[Any]]) -> dict[Table, Floats]:
        """Return each residual, averaged over measurements with inverse-variance weights.

        Args:
            noisy: the arrays that were measured, each of the shape of its table.
        """
        values: dict[Table, Floats] = {}
        for subset, held in self.sources.items():
            cells = self.cells(subset)
            total = np.zeros([self.sizes[column] for column in subset])
            for index, variance in held:
                measurement = self.measurements[index]
                array = noisy[index].astype(np.float64)
                if measurement.residual:
                    array = array / cells
                others = tuple(axis for axis, column in enumerate(measurement.table) if column not in subset)
                total += centred(array.sum(axis=others)) * (self.variances[subset] / variance / cells)
            values[subset] = total
        return values

    def table(self, table: Table, residuals: Mapping[Table, Floats]) -> Floats:
        """Return the table that these residuals make."""
        counts = np.zeros([self.sizes[column] for column in table])
        for subset in subsets(table):
            if subset in residuals:
                spread = self._spread(residuals[subset], subset, table)
                counts += spread / (self.cells(table) // self.cells(subset))
        return counts

    def _spread(self, values: Floats, subset: Table, table: Table, *, first: int = 0) -> Floats:
        """Return an array of a subset's columns, with axes for all columns of a table.

        The axes of the other columns have length 1.
        """
        shape = [self.sizes[column] if column in subset else 1 for column in table]
        return values.reshape(values.shape[:first] + tuple(shape))

    def spread_of(self, table: Table, coefficients: Floats) -> "Spread":
        """Return how far the errors of weighted sums of a table's counts spread.

        Args:
            coefficients: of shape (sums, *shape of the table).
        """
        loads: dict[int, Floats] = {}
        for subset in subsets(table):
            if subset not in self.sources:
                continue
            others = tuple(axis + 1 for axis, column in enumerate(table) if column not in subset)
            kept = centred(coefficients.mean(axis=others), first=1) / self.cells(subset)
            for index, variance in self.sources[subset]:
                measurement = self.measurements[index]
                common = tuple(column for column in measurement.table if column in table)
                load = self._spread(kept, subset, common, first=1) * (self.variances[subset] / variance)
                if measurement.residual:
                    load = load / self.cells(subset)
                loads[index] = loads.get(index, 0.0) + load
        total = np.zeros(len(coefficients))
        fourth = np.zeros(len(coefficients))
        steps = np.zeros(len(coefficients))
        of_one = np.zeros(len(coefficients))
        for index, load in loads.items():
            measurement = self.measurements[index]
            common = tuple(column for column in measurement.table if column in table)
            full = np.broadcast_to(load, (len(coefficients), *(self.sizes[column] for column in common)))
            axes = tuple(range(1, full.ndim))
            times = self.cells(measurement.table) // self.cells(common)
            deviation = self.deviations[index]
            largest = np.abs(full).max(axis=axes)
            coarser = largest * measurement.step > steps
            steps = np.where(coarser, largest * measurement.step, steps)
            of_one = np.where(coarser, (largest * deviation) ** 2, of_one)
            total += times * deviation**2 * (full**2).sum(axis=axes)
            if excess := self.excesses[index]:
                fourth += times * excess * deviation**4 * (full**4).sum(axis=axes)
        return Spread.of(total, fourth, steps, of_one)

    def spread_of_counts(self, table: Table) -> "Spread":
        """Return how far the error of any count of a table spreads."""
        corner = np.zeros((1, *(self.sizes[column] for column in table)))
        corner[(0,) * corner.ndim] = 1
        return self.spread_of(table, corner)

    def nonnegative(self, tables: Sequence[Table], residuals: Mapping[Table, Floats]) -> dict[Table, Floats]:
        """Return the nearest residuals of tables without negative counts.

        Distances are weighted by the inverse variances. The method is the alternating direction method of multipliers:
        the step in residual space is a division, as residuals are orthogonal; the other step cuts tables at 0. Counts
        are at least 0 up to `NONNEGATIVE_TOLERANCE`.

        Source: Boyd et al. (2011), "Distributed optimization by ADMM", sections 3 and 5.
        """
        scale = {table: math.sqrt(self.variance(table)) for table in tables}
        force = {table: 1 / scale[table] ** 2 for table in tables}
        values = dict(residuals)
        cut = {table: np.maximum(self.table(table, values), 0.0) for table in tables}
        dual = {table: np.zeros(cut[table].shape) for table in tables}
        parts = [(table, subset) for table in tables for subset in subsets(table) if subset in residuals]
        measured = {subset: residuals[subset] / self.variances[subset] for subset in residuals}
        weights = {subset: 1 / self.variances[subset] for subset in residuals}
        for table, subset in parts:
            weights[subset] += force[table] * self.cells(subset) / self.cells(table)
        for _ in range(NONNEGATIVE_STEPS):
            sums = dict(measured)
            for table, subset in parts:
                others = tuple(axis for axis, column in enumerate(table) if column not in subset)
                pulled = centred((cut[table] - dual[table]).sum(axis=others)) / self.cells(table)
                sums[subset] = sums[subset] + force[table] * pulled
            values = {subset: sums[subset] / weights[subset] for subset in sums}
            worst = 0.0
            for table in tables:
                made = self.table(table, values)
                before, cut[table] = cut[table], np.maximum(made + dual[table], 0.0)
                dual[table] = dual[table] + made - cut[table]
                moved = float(np.abs(cut[table] - before).max())
                worst = max(worst, float(-made.min()) / scale[table], moved / scale[table])
            if worst < NONNEGATIVE_TOLERANCE:
                break
        return values


def excess_kurtosis(noise: Noise) -> float:
    """Return the excess kurtosis of a noise; 0 where it is as good as normal."""
    above = (np.arange(_KURTOSIS_POINTS) + 0.5) * (_KURTOSIS_TAIL / _KURTOSIS_POINTS)
    values = noise.quantile(1 - np.exp(-above) / 2)  # the noise is symmetric
    moments = [float((values**power * np.exp(-above)).sum() / np.exp(-above).sum()) for power in (2, 4)]
    excess = min(moments[1] / max(moments[0], 1e-150) ** 2 - 3, LAPLACE_EXCESS)
    return excess if excess > _NORMAL else 0.0


@dataclass(frozen=True)
class Spread:
    """The spread of errors that are sums of many noises, or of a few Laplace ones.

    Args:
        deviations: standard deviation of each error.
        excess: excess kurtosis of each.
        steps: of the lattice of the noise that each error is made of; 0 where other noises smooth it.
    """

    deviations: Floats
    excess: Floats
    steps: Floats

    @classmethod
    def of(cls, variances: Floats, fourth: Floats, steps: Floats, of_one: Floats) -> "Spread":
        """Return the spread of sums of noises.

        Args:
            variances: of the sums.
            fourth: sums of the fourth cumulants of their terms.
            steps: of the term with the coarsest lattice.
            of_one: variance of that term; if the others have a deviation of half a step, they smooth it.
        """
        smoothed = np.sqrt(np.maximum(variances - of_one, 0.0)) > steps / 2
        excess = fourth / np.maximum(variances, 1e-150) ** 2
        return cls(np.sqrt(variances), excess, np.where(smoothed, 0.0, steps))

    def half_widths(self, level: float) -> Floats:
        """Return half the widths of intervals at a level.

        The law is that of a sum of nu independent Laplace variables with the same deviation and kurtosis, nu = 3 /
        excess: exact for one Laplace variable and for sums with equal weights, and normal in the limit. Half a step is
        added, so that noise in few steps is not taken for a smooth one.
        """
        from scipy.special import erf
        from scipy.stats import gamma, norm

        widths = norm.ppf((1 + level) / 2) * self.deviations
        for value in np.unique(self.excess[self.excess > _NORMAL / 10]):
            shape = LAPLACE_EXCESS / float(value)
            middles = (np.arange(_MIXTURE_POINTS) + 0.5) / _MIXTURE_POINTS
            spread = np.sqrt(2 * gamma.ppf(middles, shape) / shape)
            low, high = 0.0, 1e3
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if float(erf(middle / spread).mean()) < level else (low, middle)
            widths = np.where(self.excess == value, high * self.deviations, widths)
        return np.asarray(widths + self.steps / 2)

    def draws(self, size: int, *, bits: Bits) -> Floats:
        """Return independent errors of the law of `half_widths`, from public bits.

        They have the shape (errors, size).
        """
        from scipy.special import ndtri
        from scipy.stats import gamma

        shape = (len(self.deviations), size)
        drawn = ndtri(uniforms(shape, bits=bits))
        for value in np.unique(self.excess[self.excess > _NORMAL / 10]):
            nu = LAPLACE_EXCESS / float(value)
            mixed = np.sqrt(gamma.ppf(uniforms(shape, bits=bits), nu) / nu)
            drawn = np.where((self.excess == value)[:, None], drawn * mixed, drawn)
        outwards = np.sign(drawn) * (self.steps[:, None] / 2)
        return np.asarray(drawn * self.deviations[:, None] + outwards)

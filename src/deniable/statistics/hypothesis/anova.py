"""One-way analysis of variance with absolute deviations."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import pi, sqrt
from typing import Annotated, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.noise.bits import Bits
from deniable.noise.simulation import normals
from deniable.numbers.arrays import Floats
from deniable.privacy import PrivacyLoss, Sensitivity, compose, of_count
from deniable.privacy.sensitivity import of_group_deviations
from deniable.release import Release
from deniable.rows import Container, indices_of, numbers
from deniable.statistics.bounded import Bounded
from deniable.statistics.call import asks
from deniable.statistics.hypothesis.base import HypothesisTest, TestOptions, noise, p_value
from deniable.statistics.hypothesis.chi_squared import categories, pair_of
from deniable.statistics.statistic import Answer, BoundsLike, Takes, release
from deniable.statistics.units import bounded_rows

_LATTICE_STEPS = 2**16  # of the lattice between the bounds
_SHARES = (9, 9, 2)  # of the price: between groups, within groups, number of rows


@dataclass(frozen=True, kw_only=True)
class Anova(Bounded, HypothesisTest):
    """Analysis of variance of groups of rows: see `anova`."""

    name: ClassVar[str] = "anova"
    takes: ClassVar[Takes] = "pair"
    null: ClassVar[str] = "all groups have the same mean"

    keys: Annotated[tuple[object, ...], categories]

    @cached_property
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        """Sensitivities of `between`, `within` and the number of rows.

        The first two in lattice steps.
        """
        deviations = of_group_deviations(span=Fraction(_LATTICE_STEPS), rows=self.rows, relation=self.relation)
        return deviations, deviations, of_count(rows=self.rows, groups=1, relation=self.relation, cells=1)

    @cached_property
    def mechanisms(self) -> tuple[AdditiveNoise, ...]:
        """Mechanisms that add the noise."""
        return self.rest.noises(self.sensitivities, _SHARES)

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        parts = zip(self.mechanisms, self.sensitivities, strict=True)
        answer = self.rest.stated(compose([mechanism.privacy_loss(sensitivity) for mechanism, sensitivity in parts]))
        return self.price.stated(self.bounding.with_loss([answer]))

    def expected_error(self, size: int) -> float:
        """Return the standard deviation of the noise of `between`.

        In units of the values, or as a share of the width of bounds="auto".
        """
        return self.mechanisms[0].standard_deviation() * self.bounding.width() / _LATTICE_STEPS

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        column = numbers(pair_of(values)[0])
        group_indices = indices_of(pair_of(values)[1], self.keys)
        if column.shape != group_indices.shape:
            raise InvalidParameterError("values and groups must have one entry for each row")
        kept = bounded_rows(
            units, rows=self.rows, present=~np.isnan(column) & (group_indices < len(self.keys)), bits=bits
        )
        ends = self.bounding.ends(column[kept], bits=bits)
        clamped = (np.clip(column[kept], *ends) - ends[0]) / (ends[1] - ends[0])
        steps = np.clip(np.rint(clamped * _LATTICE_STEPS), 0, _LATTICE_STEPS).astype(np.int64)
        exact = *_deviations(steps, group_indices[kept], len(self.keys)), len(steps)
        between, within, count = (
            float(mechanism.release([part], bits=bits).value[0])
            for mechanism, part in zip(self.mechanisms, exact, strict=True)
        )
        groups = len(self.keys)
        size = max(round(count), 2 * groups)
        spread = sqrt(pi / 2) * max(within, 0.0) / sqrt(size * (size - groups))  # E|x - mean_j| for groups of one size
        null = _ratio(*self._simulated(spread, size, bits), groups=groups)
        observed = _ratio(*(np.array([part]) for part in (between, within, count)), groups=groups)[0]
        return self._tested(float(observed), p_value(observed, null), notes=self.bounding.notes(ends))

    def _simulated(self, spread: float, size: int, bits: Bits) -> tuple[Floats, ...]:
        """Return `between`, `within` and the number of rows for groups of one size.

        Through the actual mechanisms.
        """
        runs = self.simulations
        groups = len(self.keys)
        means = normals((runs, groups), bits=bits) * spread * sqrt(groups / size)
        between = size / groups * np.abs(means - means.mean(axis=1, keepdims=True)).sum(axis=1)
        expected = sqrt(2 / pi) * sqrt(size * (size - groups))
        within = spread * (expected + sqrt((1 - 2 / pi) * size) * normals((runs,), bits=bits))
        exact = between, within, np.full(runs, float(size))
        return tuple(
            part + noise(mechanism, (runs,), bits) for part, mechanism in zip(exact, self.mechanisms, strict=True)
        )


@asks(Anova)
def anova(
    values: Container,
    groups: Container,
    *,
    bounds: BoundsLike,
    keys: Iterable[object],
    **options: Unpack[TestOptions],
) -> Release:
    """Test whether groups of normal rows with one variance have one mean.

    The statistic is F1 = (between / (k - 1)) / (within / (n - k)), where between = sum n_j |mean_j - mean| and within =
    sum |x - mean_of_its_group|. The standard deviation is estimated from the noisy `within`, and the null law is
    simulated with it and with groups of one size, for which `between` is largest.

    Args:
        values: one column of private numbers.
        groups: the group of each row, one of `keys`; other rows are left out.
        bounds: public (lower, upper), to which values are clamped; "auto" spends a quarter of the price on finding
            them.
        keys: the groups, two or more.
        options: price, relation, units, ledger and `simulations`: see `TestOptions`.

    Guarantee: one row moves each of the two sums by at most 2 (upper - lower), under either relation; the source has 4
        and 3.
    Proof: docs/theory/statistics/hypothesis.md.
    Source: Swanberg, Globus-Harris, Griffith, Ritz, Groce, Bray (2019), arXiv:1903.00534.

    >>> import deniable as dn
    >>> heights, regions = [170, 180, 175, 160, 165, 158], list("aaabbb")
    >>> test = dn.statistics.anova(heights, regions, bounds=(100, 220), keys=["a", "b"], epsilon=1)
    >>> bool(0 <= test["p_value"] <= 1)
    True
    """
    return release(Anova, (values, groups), {"bounds": bounds, "keys": keys}, options)


def _deviations(steps: NDArray[np.int64], group_indices: NDArray[np.int64], groups: int) -> tuple[int, int]:
    """Return `between` and `within`, exact, rounded down to whole steps."""
    sizes = np.bincount(group_indices, minlength=groups)
    sums = np.bincount(group_indices, weights=steps, minlength=groups)  # exact below 2^53: 2^37 rows
    count, total = int(sizes.sum()), int(sums.sum())
    if count == 0:
        return 0, 0
    counts, totals = [int(size) for size in sizes], [int(value) for value in sums]
    between = sum(abs(count * value - size * total) for size, value in zip(counts, totals, strict=True)) // count
    above = steps * sizes[group_indices] > sums[group_indices]  # above the mean of its group
    high_sums = np.bincount(group_indices[above], weights=steps[above], minlength=groups)
    high_sizes = np.bincount(group_indices[above], minlength=groups)
    within = sum(
        (
            Fraction(2 * (size * int(high) - int(number) * value), size)  # deviations above and below are equal
            for size, value, high, number in zip(counts, totals, high_sums, high_sizes, strict=True)
            if size
        ),
        Fraction(0),
    )
    return between, int(within)


def _ratio(between: Floats, within: Floats, count: Floats, *, groups: int) -> Floats:
    """Return F1; a sum that noise made negative counts as a single step."""
    return np.asarray(between / (groups - 1) / (np.maximum(within, 1.0) / np.maximum(count - groups, 1.0)))

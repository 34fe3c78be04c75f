"""The variance and the standard deviation of a column."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar, TypeAlias, Unpack

import numpy as np

from deniable.noise.bits import Bits
from deniable.privacy import Sensitivity, of_spread_sum
from deniable.privacy.moment_sensitivity import SQUARE_WEIGHT, of_value_and_square
from deniable.release import Measure, Noisy, Release
from deniable.statistics.bounded import Bounded
from deniable.statistics.data import Floats
from deniable.statistics.laws import Law
from deniable.statistics.shares import STEP, UNIT, bernstein, shares
from deniable.statistics.statistic import Answer, Options, release

Sums: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Variance(Bounded):
    """The mean squared distance of the values, each clamped to the bounds, from their mean.

    With u the place of a value between its bounds, from 0 to 1, the sums of (1 - u)^2, 2 u (1 - u) and u^2 get noise.
    One row adds 1 in all to the three, so each may have the noise that a single count would need; number of rows, mean
    and mean square are made of them. Where the number of rows is public, two sums do: of t = 2 u - 1 and of t^2.

    Guarantee: docs/theory/moments.md.
    Error: expected_error is for values that are spread evenly between the bounds; up to 3 times that for others. With
        bounds="auto" it is a share of the squared width of the bounds.
    """

    name: ClassVar[str] = "variance"

    @cached_property
    def sensitivity(self) -> Sensitivity:
        if self.size_is_public:
            return of_value_and_square(reach=UNIT)
        return of_spread_sum(lower=0, upper=UNIT, total_rows=self.rows, relation=self.relation, cells=3)

    def expected_error(self, size: int) -> float:
        parts = 1 / (4 * float(SQUARE_WEIGHT)) if self.size_is_public else sqrt(1 / 6)
        return self.bounding.width() ** 2 * min(parts * self.spread / max(size, 1), 1 / 4)

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        column, ends = self._bounded(values, units, bits)
        count, totals = self._sums(column, ends)
        noisy = self.mechanism.release(totals, bits=bits).values
        steps = (STEP, STEP / SQUARE_WEIGHT) if self.size_is_public else (STEP,) * 3
        names = ("value", "square") if self.size_is_public else ("low", "middle", "high")
        scale = (ends[1] - ends[0]) ** 2
        of_share = _from_two(count) if self.size_is_public else _from_three(2 * self.spread)
        measure = Measure(
            name=self.name,
            bases=names,
            evaluate=lambda sums: self._final(scale * of_share(sums)),
            denominators=() if self.size_is_public else (_rows_above_zero,),
            lower=0,
            upper=float(self._final(np.float64(scale / 4))),
        )
        return Answer(
            parts=(measure,),
            noisy=tuple(
                Noisy(name=name, values=np.array([float(value) * float(step)]), law=Law(self.mechanism, step))
                for name, value, step in zip(names, noisy, steps, strict=True)
            ),
            notes=self.bounding.notes(ends),
        )

    def _final(self, variance: Any) -> Any:
        """The statistic from the variance."""
        return variance

    def _sums(self, column: Floats, ends: tuple[float, float]) -> tuple[int, list[int]]:
        count, totals = 0, [0, 0] if self.size_is_public else [0, 0, 0]
        for block in shares(column, [ends], relation=self.relation):
            count += block.shape[1]
            parts = _value_and_square(block) if self.size_is_public else bernstein(block)
            totals = [total + int(part) for total, part in zip(totals, parts.sum(axis=1), strict=True)]
        return count, totals


@dataclass(frozen=True, kw_only=True)
class StandardDeviation(Variance):
    """The square root of the variance.

    Guarantee, Error: see `Variance`. With bounds="auto" the expected error is a share of the width of the bounds.
    """

    name: ClassVar[str] = "standard_deviation"

    def expected_error(self, size: int) -> float:
        squared, even = super().expected_error(size), self.bounding.width() / sqrt(12)
        return min(squared / (2 * even), sqrt(squared))

    def _final(self, variance: Any) -> Any:
        return np.sqrt(np.maximum(variance, 0))


def variance(values: object, *, bounds: object, **options: Unpack[Options]) -> Release:
    """The mean squared distance of the values from their mean: see `Variance`."""
    return release(Variance, values, {"bounds": bounds}, options)


def standard_deviation(values: object, *, bounds: object, **options: Unpack[Options]) -> Release:
    """The square root of the variance: see `StandardDeviation`."""
    return release(StandardDeviation, values, {"bounds": bounds}, options)


def _value_and_square(block: Floats) -> Floats:
    """t = 2 u - 1 and its weighted square, in steps."""
    value = 2 * block - UNIT
    return np.concatenate([value, np.rint(float(SQUARE_WEIGHT) / UNIT * value * value)])


def _from_two(count: int) -> Callable[[Sums], Any]:
    """The variance of u from the sums of t and t^2 of so many rows."""
    size = max(count, 1)
    return lambda sums: (sums["square"] / size - (sums["value"] / size) ** 2) / 4


def _from_three(least: float) -> Callable[[Sums], Any]:
    """The variance of u from the sums of its weights, as if there were at least so many rows."""

    def evaluate(sums: Sums) -> Any:
        size = np.maximum(sums["low"] + sums["middle"] + sums["high"], least)
        return sums["high"] / size - ((sums["middle"] / 2 + sums["high"]) / size) ** 2

    return evaluate


def _rows_above_zero(sums: Sums) -> Any:
    return np.maximum(sums["low"] + sums["middle"] + sums["high"], 0)

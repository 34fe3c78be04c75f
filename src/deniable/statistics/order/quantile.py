"""A quantile, the median among them, with an interval."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from math import log
from typing import Annotated, ClassVar, Unpack

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.mechanisms.price import Price
from deniable.mechanisms.ranks import ExponentialQuantile, PermuteAndFlipQuantile
from deniable.mechanisms.ranks.base import OneQuantile, read_quantile
from deniable.mechanisms.ranks.permute_and_flip import LARGEST_SIZE
from deniable.mechanisms.ranks.points import Codes
from deniable.mechanisms.ranks.records import RankWindow
from deniable.noise.bits import Bits
from deniable.numbers.rationals import Real, shown
from deniable.privacy import PrivacyLoss
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate
from deniable.rows import Container
from deniable.statistics.call import asks
from deniable.statistics.order.base import OrderStatistic
from deniable.statistics.order.ends import CELLS, ends_around, lower_end, upper_end
from deniable.statistics.order.grid import ValueGrid
from deniable.statistics.statistic import Answer, BoundsLike, Options, release

_MIN_EPSILON = Fraction(1, 2**40)  # epsilon of one choice


@dataclass(frozen=True, kw_only=True)
class Quantile(OrderStatistic):
    """Value below which a share of the rows lies, with an interval: see `quantile`.

    Args:
        share: in [0, 1]; read to a denominator of 10^6.
    """

    name: ClassVar[str] = "quantile"
    sides: ClassVar[tuple[int, ...]] = (-1, 1)  # the ends that are drawn: below, above

    share: Annotated[Real, read_quantile]

    @property
    def _quantile(self) -> Fraction:
        assert isinstance(self.share, Fraction)
        return self.share

    @cached_property
    def epsilons(self) -> tuple[Fraction, ...]:
        """Epsilon of the estimate, and of each of the ends that are drawn."""
        shares = (1,) if self.interval is None else (2, *(1 for _ in self.sides))
        return selections(self.rest, shares)

    @property
    def _interval_share(self) -> str:
        return "half" if len(self.sides) == 2 else "a third"

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        losses = [draw.privacy_loss(self._records) for draw in (self._estimate, *self._ends)]
        return self.price.stated(self.bounding.with_loss(losses))

    @cached_property
    def _flips(self) -> bool:
        """Whether the grid is so small that permute-and-flip is better.

        For a rho it costs four times as much.
        """
        small = self.step is not None and self._declared is not None and self._declared.size <= LARGEST_SIZE
        return small and self.price.rho is None and not self.price.delta

    def expected_error(self, size: int) -> float:
        """Return the root mean squared error of the estimate, in ranks.

        Where values are drawn evenly between the bounds.
        """
        truth = self._quantile * (size - 1) + Fraction(1, 2)
        return self._estimate.expected_error(size, truth=truth)

    @cached_property
    def _estimate(self) -> OneQuantile:
        """Draw of the estimate, where numpy's quantile lies.

        Of n rows, the first stands at 1/2.
        """
        kind = PermuteAndFlipQuantile if self._flips else ExponentialQuantile
        shift = Fraction(1, 2) - self._quantile
        return kind.calibrated(
            self._records,
            epsilon=self.epsilons[0],
            quantile=self._quantile,
            shift=shift,
            interpolated=True,
            points=1,
        )

    @cached_property
    def _ends(self) -> tuple[ExponentialQuantile, ...]:
        """Draws of the ends of the interval, one for each side."""
        if self.interval is None:
            return ()
        epsilon = self.epsilons[1]  # of every end
        draw = ExponentialQuantile.calibrated(self._records, epsilon=epsilon, quantile=self._quantile, points=CELLS)
        return ends_around(draw, self.interval, self.sides)

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        column, grid = self._on_grid(values, units, bits)
        listed = grid.codes(column) if self._flips else None
        low, code, high = self.chosen(grid, partial(grid.seen_by, column), listed=listed, bits=bits)
        known = partial(known_ends, self.interval or 0.0, grid, np.array([low]), np.array([high]))
        estimate = Estimate(name=self.name, estimates=grid.points(np.array([code])), ends=known if self._ends else None)
        return Answer(parts=(estimate,), notes=self._notes(grid))

    def chosen(
        self,
        grid: ValueGrid,
        seen: Callable[[Iterable[OneQuantile]], RankWindow],
        *,
        bits: Bits,
        listed: Codes | None = None,
    ) -> tuple[int, int, int]:
        """Return the codes of the lower end, the estimate and the upper end. Public.

        Args:
            seen: gives the secret records of the ranks that some draws should know.
            listed: the secret codes of all records, where the estimate needs them.
        """
        estimate = replace(self._estimate, points=grid.candidates())
        rows = seen((estimate, *self._ends))
        code = estimate.release(rows if listed is None else listed, bits=bits).value
        low, high = 0, grid.size - 1
        for side, end in zip(self.sides, self._ends, strict=False):
            if side < 0:
                low = lower_end(end, rows, code, bits=bits)
            else:
                high = upper_end(end, rows, grid.size, code, bits=bits)
        return low, code, high


@dataclass(frozen=True, kw_only=True)
class Median(Quantile):
    """The quantile at 1/2."""

    name: ClassVar[str] = "median"

    share: Real = field(default=Fraction(1, 2), init=False)


@asks(Quantile)
def quantile(
    values: Container,
    share: Real,
    *,
    bounds: BoundsLike,
    interval: float | None = None,
    step: Real | None = None,
    **options: Unpack[Options],
) -> Release:
    """Return the value below which this share of the rows lies, with an interval.

    The estimate is a point of a public grid, drawn by the exponential mechanism with the distance in ranks as its
    score; by permute-and-flip, which is better, where a declared step makes the grid small. Between two rows ranks are
    counted in parts, so that more epsilon brings it closer than the next row, to what numpy's `quantile` gives. The
    ends of the interval are two more draws, aimed so far below and above that they miss the true quantile with
    probability 1 - interval at most, whatever the data are; they take half of the price.

    Args:
        values: one column of private numbers.
        share: in [0, 1]; read to a denominator of 10^6.
        bounds: public (lower, upper), to which values are clamped; "auto" spends a quarter of the price on finding
            them.
        interval: level of the interval, up to 0.999; None spends the whole price on the estimate.
        step: answers are multiples of it, and values are rounded to it: 1 for whole numbers. A coarse step helps where
            many rows are equal. None for about 2^-31 of the width of the bounds.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: that of `ExponentialQuantile` or `PermuteAndFlipQuantile`, and of an `ExponentialQuantile` for each end.
    Proof: docs/theory/mechanisms/ranks.md.
    Error: expected_error is in ranks, where values are drawn evenly between the bounds.

    >>> import deniable as dn
    >>> answer = dn.statistics.quantile([21, 45, 33, 60], 0.9, bounds=(0, 100), epsilon=1)
    """
    parameters = {"share": share, "bounds": bounds, "interval": interval, "step": step}
    return release(Quantile, values, parameters, options)


@asks(Median)
def median(
    values: Container,
    *,
    bounds: BoundsLike,
    interval: float | None = None,
    step: Real | None = None,
    **options: Unpack[Options],
) -> Release:
    """Return the noisy median of a column, as `quantile` does.

    Args:
        values: one column of private numbers.
        bounds: public (lower, upper), to which values are clamped; "auto" spends a quarter of the price on finding
            them.
        interval: level of the interval, up to 0.999, which takes half of the price; None for none.
        step: answers are multiples of it, and values are rounded to it; None for a fine grid.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: that of `quantile`, for the share 1/2.
    Proof: docs/theory/mechanisms/ranks.md.
    Error: expected_error is in ranks, where values are drawn evenly between the bounds.

    >>> import deniable as dn
    >>> answer = dn.statistics.median([21, 45, 33, 60], bounds=(0, 100), epsilon=1)
    """
    return release(Median, values, {"bounds": bounds, "interval": interval, "step": step}, options)


def selections(price: Price, shares: tuple[int, ...]) -> tuple[Fraction, ...]:
    """Return the epsilons of several exponential mechanisms that cost this together.

    With epsilon and delta the better of two ways: their epsilons add up to epsilon, or their rhos to what both buy.

    Raises: InvalidParameterError if one is below 2^-40 or above 2^40: races know rates within 2^100, in small units.
    """
    plain = tuple(part.selection() for part in price.split(*shares))
    if not _MIN_EPSILON <= min(plain) <= max(plain) <= 1 / _MIN_EPSILON:
        raise InvalidParameterError(
            f"one choice by rank may cost an epsilon between 2^-40 and 2^40, and here it would be {shown(min(plain))}"
        )
    if not price.delta:
        return plain
    shared = tuple(part.selection() for part in price.concentrated().split(*shares))
    return max(plain, shared, key=lambda epsilons: sum(log(epsilon) for epsilon in epsilons))


def known_ends(known: float, grid: ValueGrid, low: np.ndarray, high: np.ndarray, level: float) -> Bounds:
    """Return the ends that were drawn, up to the level that they were drawn for.

    Above it the public bounds.
    """
    if level <= known:
        return Bounds(grid.values(low), grid.values(high))
    return Bounds(np.full(low.shape, grid.value(0)), np.full(high.shape, grid.value(grid.size - 1)))

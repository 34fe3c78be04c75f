"""The smallest and the largest value, approximately: ranks near the end."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Annotated, ClassVar, Unpack

from deniable.mechanisms.ranks import ExponentialExtreme
from deniable.numbers.rationals import Real, yes_or_no
from deniable.release import Release
from deniable.rows import Container
from deniable.statistics.call import asks
from deniable.statistics.order.quantile import Quantile
from deniable.statistics.statistic import BoundsLike, Options, release


@dataclass(frozen=True, kw_only=True)
class _Extreme(Quantile):
    """Base of quantiles at an end, aimed at some ranks inside."""

    share: Real = field(init=False)
    tight: Annotated[bool, yes_or_no] = False

    @cached_property
    def _estimate(self) -> ExponentialExtreme:
        return ExponentialExtreme.calibrated(
            self._records,
            epsilon=self.epsilons[0],
            largest=self.share == 1,
            tight=self.tight,
            interpolated=True,
            points=1,
        )


@dataclass(frozen=True, kw_only=True)
class Minimum(_Extreme):
    """Value near the smallest, with an upper end for the smallest: see `minimum`.

    Args:
        tight: whether the rows are publicly known to reach near the bound.
    """

    name: ClassVar[str] = "minimum"
    sides: ClassVar[tuple[int, ...]] = (1,)

    share: Real = field(default=Fraction(0), init=False)


@dataclass(frozen=True, kw_only=True)
class Maximum(_Extreme):
    """Value near the largest, with a lower end for the largest: see `maximum`."""

    name: ClassVar[str] = "maximum"
    sides: ClassVar[tuple[int, ...]] = (-1,)

    share: Real = field(default=Fraction(1), init=False)


@asks(Minimum)
def minimum(
    values: Container,
    *,
    bounds: BoundsLike,
    interval: float | None = None,
    step: Real | None = None,
    tight: bool = False,
    **options: Unpack[Options],
) -> Release:
    """Return a value near the smallest, with an upper end for the smallest.

    The estimate aims some ranks above it: see `ExponentialExtreme`. The interval reaches from the lower bound to an end
    that is at or above the smallest value; that end takes a third of the price.

    Args:
        values: one column of private numbers.
        bounds: public (lower, upper), to which values are clamped; "auto" spends a quarter of the price on finding
            them.
        interval: level of the interval, up to 0.999; None spends the whole price on the estimate.
        step: answers are multiples of it, and values are rounded to it; None for a fine grid.
        tight: whether the rows are publicly known to reach near the bound. The estimate aims one rank inside then: far
            nearer where that is true, and anywhere between the bound and the rows where it is not.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: that of `ExponentialExtreme`, and of an `ExponentialQuantile` for the end.
    Proof: docs/theory/mechanisms/ranks.md.
    Error: expected_error is in ranks, where values are drawn evenly between the bounds.

    >>> import deniable as dn
    >>> answer = dn.statistics.minimum([21, 45, 33, 60], bounds=(0, 100), epsilon=1)
    """
    return release(Minimum, values, {"bounds": bounds, "interval": interval, "step": step, "tight": tight}, options)


@asks(Maximum)
def maximum(
    values: Container,
    *,
    bounds: BoundsLike,
    interval: float | None = None,
    step: Real | None = None,
    tight: bool = False,
    **options: Unpack[Options],
) -> Release:
    """Return a value near the largest, with a lower end for the largest.

    Args:
        values: one column of private numbers.
        bounds: public (lower, upper), to which values are clamped; "auto" spends a quarter of the price on finding
            them.
        interval: level of the interval, up to 0.999; None spends the whole price on the estimate.
        step: answers are multiples of it, and values are rounded to it; None for a fine grid.
        tight: whether the rows are publicly known to reach near the bound: see `minimum`.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: that of `ExponentialExtreme`, and of an `ExponentialQuantile` for the end.
    Proof: docs/theory/mechanisms/ranks.md.
    Error: expected_error is in ranks, where values are drawn evenly between the bounds.

    >>> import deniable as dn
    >>> answer = dn.statistics.maximum([21, 45, 33, 60], bounds=(0, 100), epsilon=1)
    """
    return release(Maximum, values, {"bounds": bounds, "interval": interval, "step": step, "tight": tight}, options)

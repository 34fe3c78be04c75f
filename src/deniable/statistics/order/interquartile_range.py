"""The distance between the quartiles."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import hypot
from typing import ClassVar, Unpack

import numpy as np

from deniable.mechanisms.price import Price
from deniable.mechanisms.ranks import ExponentialQuantile, Points, Quartiles
from deniable.noise.bits import Bits
from deniable.numbers.rationals import Real
from deniable.privacy import PrivacyLoss
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate
from deniable.rows import Container
from deniable.statistics.call import asks
from deniable.statistics.order.base import OrderStatistic
from deniable.statistics.order.ends import CELLS, ends_around, lower_end, upper_end
from deniable.statistics.order.grid import ValueGrid
from deniable.statistics.order.quantile import selections
from deniable.statistics.statistic import Answer, BoundsLike, Options, release


@dataclass(frozen=True, kw_only=True)
class InterquartileRange(OrderStatistic):
    """Difference of the quartiles, with an interval: see `interquartile_range`."""

    name: ClassVar[str] = "interquartile_range"

    @cached_property
    def _draws(self) -> tuple[Quartiles, ExponentialQuantile | None, bool]:
        """Draw of the quartiles, that of an end, and whether the quartiles share a charge.

        With a plain epsilon they are; with rho one by one, which costs less there.
        """
        price = self.rest
        counts = (2,) if self.interval is None else (2, 4)
        kind = ExponentialQuantile
        quarter = Fraction(1, 4)
        candidates = []
        if price.epsilon is not None:
            first, *others = selections(Price(epsilon=price.epsilon), (1,) * len(counts))
            together = Quartiles.calibrated(self._records, epsilon=first, points=1)
            candidates.append((together.rate, [epsilon / 4 for epsilon in others], True))
        if price.rho is not None or price.delta:
            parts = price.concentrated().split(*(1 for _ in counts))
            first, *others = (part.split(*[1] * n)[0].selection() for part, n in zip(parts, counts, strict=True))
            alone = kind.calibrated(self._records, epsilon=first, quantile=quarter, points=1)
            candidates.append((alone.rate, others, False))
        rate, ends, paid_together = max(candidates, key=lambda each: each[0])
        quartiles = Quartiles(rate=rate, points=Points(1))
        if not ends:
            return quartiles, None, paid_together
        end = kind.calibrated(self._records, epsilon=ends[0], quantile=quarter, points=CELLS)
        return quartiles, end, paid_together

    @property
    def _interval_share(self) -> str:
        return "half"

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        quartiles, end, paid_together = self._draws
        losses = [draw.privacy_loss(self._records) for draw in ([quartiles] if paid_together else quartiles.draws)]
        losses += [] if end is None else [end.privacy_loss(self._records)] * 4
        return self.price.stated(self.bounding.with_loss(losses))

    def expected_error(self, size: int) -> float:
        """Return the root mean squared error of the difference, in ranks.

        Where values are drawn evenly between the bounds.
        """
        return hypot(*(draw.expected_error(size, truth=draw.target(size)) for draw in self._draws[0].draws))

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        column, grid = self._on_grid(values, units, bits)
        codes, ends = [], []
        for draw in replace(self._draws[0], points=grid.candidates()).draws:
            sides = self._sides(draw.quantile)
            rows = grid.seen_by(column, (draw, *sides))
            code = draw.release(rows, bits=bits).value
            codes.append(code)
            if sides:
                ends += [
                    lower_end(sides[0], rows, code, bits=bits),
                    upper_end(sides[1], rows, grid.size, code, bits=bits),
                ]
        difference = abs(float((codes[1] - codes[0]) * grid.step))
        known = partial(_ends, self.interval or 0.0, [grid.value(end) for end in ends], grid) if ends else None
        estimate = Estimate(name=self.name, estimates=np.array([difference]), ends=known)
        return Answer(parts=(estimate,), notes=self._notes(grid))

    def _sides(self, quantile: Fraction) -> tuple[ExponentialQuantile, ...]:
        """Return the draws of the ends below and above a quartile, if any.

        Four ends, not two, hold together.
        """
        end = self._draws[1]
        if end is None:
            return ()
        return ends_around(replace(end, quantile=quantile), (1 + (self.interval or 0.0)) / 2)


@asks(InterquartileRange)
def interquartile_range(
    values: Container,
    *,
    bounds: BoundsLike,
    interval: float | None = None,
    step: Real | None = None,
    **options: Unpack[Options],
) -> Release:
    """Return the noisy difference of the quartiles, with an interval for it.

    Both are drawn like a `quantile`, in parts of ranks: more epsilon brings them to those of numpy. The interval comes
    from ends around either of them.

    Args:
        values: one column of private numbers.
        bounds: public (lower, upper), to which values are clamped; "auto" spends a quarter of the price on finding
            them.
        interval: level of the interval, up to 0.999, which takes half of the price; None for none.
        step: quartiles are multiples of it, and values are rounded to it; None for a fine grid.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: that of `Quartiles` or of two `ExponentialQuantile`, and of four more for the ends.
    Proof: docs/theory/mechanisms/ranks.md.
    Error: expected_error is in ranks, where values are drawn evenly between the bounds.

    >>> import deniable as dn
    >>> answer = dn.statistics.interquartile_range([21, 45, 33, 60], bounds=(0, 100), epsilon=1)
    """
    return release(InterquartileRange, values, {"bounds": bounds, "interval": interval, "step": step}, options)


def _ends(known: float, ends: list[float], grid: ValueGrid, level: float) -> Bounds:
    """Return the interval from the ends around both quartiles, in pairs.

    Above the level that they were drawn for, the public bounds.
    """
    if level > known:
        return Bounds(np.zeros(1), np.array([grid.value(grid.size - 1) - grid.value(0)]))
    low, low_upper, high_lower, high = ends
    return Bounds(np.array([max(0.0, high_lower - low_upper)]), np.array([max(0.0, high - low)]))

"""How far the quartiles are apart."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from math import hypot
from typing import ClassVar, Unpack

import numpy as np

from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.privacy import ExponentialMechanismLoss, PrivacyLoss, Relation
from deniable.privacy.around.restricted import Restricted
from deniable.release import Estimate, Release
from deniable.release.columns import Bounds
from deniable.statistics.call import in_words
from deniable.statistics.order.base import OrderStatistic
from deniable.statistics.order.choice import choose, reach, window
from deniable.statistics.order.ends import CELLS, lower_end, upper_end
from deniable.statistics.order.grid import Grid
from deniable.statistics.order.quantile import margin, place_error, selections
from deniable.statistics.order.ranks import around
from deniable.statistics.statistic import Answer, Options, release

_QUARTILES = (Fraction(1, 4), Fraction(3, 4))
_Draw = tuple[Fraction, list[PrivacyLoss]]  # the rate, and what all draws of the kind reveal
_TOGETHER = {Relation.ADD_REMOVE: Fraction(5, 2), Relation.REPLACE: Fraction(4)}


@dataclass(frozen=True, kw_only=True)
class InterquartileRange(OrderStatistic):
    """The difference of the quartiles, with an interval from ends around either of them.

    Both are drawn like a `Quantile`, in parts of ranks: more epsilon brings them to those of numpy.

    Args:
        bounds, interval, step: as for every `OrderStatistic`.

    Guarantee: each quartile has bounded range 3/2 rate under add/remove, but no row lies where both reach it: together
        they have 5/2 rate, for one row a unit. Under replace, 4 rate.
    Proof: docs/theory/mechanisms/ranks.md.
    Source: Smith (2011), "Privacy-preserving statistical estimation with optimal convergence rates", for quantiles.
    """

    name: ClassVar[str] = "interquartile_range"

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._draws

    @cached_property
    def _draws(self) -> tuple[tuple[Fraction, ...], list[PrivacyLoss]]:
        """The rates of a quartile and of an end, and the losses of all draws.

        With a plain epsilon both quartiles are paid together; with rho one by one, which costs less there.
        """
        price, counts = self._bounding[1], (2,) if self.interval is None else (2, 4)
        alone = 2 * self.rows * reach(_QUARTILES[0], self.relation)
        joint: list[_Draw] = []
        if price.epsilon is not None:
            together = (self.rows * _TOGETHER[self.relation], 4 * alone)
            epsilons = selections(Price(epsilon=price.epsilon), (1,) * len(counts))
            joint = [(e / span, [ExponentialMechanismLoss(e)]) for e, span in zip(epsilons, together, strict=False)]
        if price.rho is not None or price.delta:
            parts = price.concentrated().split(*(1 for _ in counts))
            epsilons = tuple(part.split(*[1] * count)[0].selection() for part, count in zip(parts, counts, strict=True))
            single: list[_Draw] = [
                (e / alone, [ExponentialMechanismLoss(e)] * count) for e, count in zip(epsilons, counts, strict=True)
            ]
            joint = max(joint, single, key=lambda draws: draws[0][0] if draws else 0)
        losses = [Restricted(loss, self.relation) for _, parts in joint for loss in parts]
        return tuple(rate for rate, _ in joint), list(losses)

    @property
    def _interval_share(self) -> str:
        return "half"

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        return self.price.stated(self._bounding[0].with_loss(self._draws[1]))

    def expected_error(self, size: int) -> float:
        """The root mean squared error in ranks of the difference, where values are drawn evenly between the bounds."""
        rate, places = self._draws[0][0], [float(_place(q, size)) for q in _QUARTILES]
        return hypot(*(place_error(rate, place, size, truth=place) for place in places))

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        column, grid = self._on_grid(values, units, bits)
        rate, *end_rates = self._draws[0]
        aside = [margin(slower, (1 + (self.interval or 0.0)) / 2) for slower in end_rates]  # four ends, not two
        codes, ends = [], []
        for q in _QUARTILES:
            target, rank = _place(q, column.size), q * column.size
            spans = [window(target, rate=rate, size=grid.size)]
            spans += [
                window(rank + sign * distance, rate=slower, size=CELLS)
                for distance, slower in zip(aside, end_rates, strict=True)
                for sign in (-1, 1)
            ]
            ranks = around(column, grid, min(low for low, _ in spans), max(high for _, high in spans))
            end, measure = grid.size - 1, grid.measure()
            code = choose(ranks, target=target, rate=rate, codes=(0, end), measure=measure, between=True, bits=bits)
            codes.append(code)
            for distance, slower in zip(aside, end_rates, strict=True):
                low = lower_end(ranks, code, target=rank - distance, rate=slower, bits=bits)
                high = upper_end(ranks, grid.size, code, target=rank + distance, rate=slower, bits=bits)
                ends += [grid.value(low), grid.value(high)]
        difference = abs(float((codes[1] - codes[0]) * grid.step))
        known = partial(_ends, self.interval or 0.0, ends, grid) if ends else None
        estimate = Estimate(name=self.name, estimates=np.array([difference]), ends=known)
        return Answer(parts=(estimate,), notes=self._notes(grid))


@in_words
def interquartile_range(
    values: object, *, bounds: object, interval: float | None = None, step: object = None, **options: Unpack[Options]
) -> Release:
    """How far the quartiles are apart: see `InterquartileRange`.

    >>> import deniable as dn
    >>> answer = dn.statistics.interquartile_range([21, 45, 33, 60], bounds=(0, 100), epsilon=1)
    """
    return release(InterquartileRange, values, {"bounds": bounds, "interval": interval, "step": step}, options)


def _place(share: Fraction, size: int) -> Fraction:
    """Where numpy's quantile is: of n rows, the first stands at 1/2 and the last at n - 1/2."""
    return share * (size - 1) + Fraction(1, 2)


def _ends(known: float, ends: list[float], grid: Grid, level: float) -> Bounds:
    """From the ends around both quartiles, in pairs; above the level that they were drawn for, the public bounds."""
    if level > known:
        return Bounds(np.zeros(1), np.array([grid.value(grid.size - 1) - grid.value(0)]))
    low, low_upper, high_lower, high = ends
    return Bounds(np.array([max(0.0, high_lower - low_upper)]), np.array([max(0.0, high - low)]))

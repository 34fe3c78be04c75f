"""Steps of a private mean: their prices, and the radii of the first ones.

All of it from public numbers.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from deniable.statistics.vectors.clipping_bound import taken
from deniable.statistics.vectors.tail_bound import NEARER, RadiusSearch, TailBound

Rough = tuple[tuple[Fraction, float], ...]  # shares of the price, and radii

_ROUGH = tuple(Fraction(percent, 100) for percent in (2, 5, 10, 20, 30, 40, 50))  # of the price, for all rough steps
_ROUGH_STEP_COUNTS = (1, 2, 3, 5, 7)
_SEARCH = tuple(Fraction(1, parts) for parts in (64, 32, 16, 8))  # of the price, to find the last radius
COUNT = Fraction(1, 32)  # of the price, to say how many rows are beyond a public radius
_CLIPPED = 0.05, 0.01, 0.001, 0.0001  # of normal rows, by a public radius; rough steps take the first
_FAR = 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0  # deviations of all columns, for other public radii
SMALLEST_SHARE = min(_ROUGH) / max(_ROUGH_STEP_COUNTS)

_EQUAL = 0.5  # of what clipping takes where all columns are equal counts too, because rows may be anything
_HALF_WIDTH = 2.0  # deviations of noise that are about half of an interval
_REACHED = 4.0  # deviations by which the norm of noise exceeds its expectation once in 1000 steps, or less
_ALONG = 3.0  # deviations that a normal row has in the direction in which the centre is off, at most
_CLOSE = 2.0  # deviations of a column at which rough steps clip; the mean loses e^-2 by that, at most
_CENTRED = 0.4  # deviations of a column; seen from further away, rows on the near side hide how others thin out


@dataclass(frozen=True)
class Schedule:
    """Steps of a private mean, in standard deviations of one column.

    Args:
        rough: shares of the price, and radii of the balls to which rows are clipped.
        search: share of the price that finds the last radius among the rows, 0 if it is public.
        count: share of the price that says how many rows are beyond a public radius, 0 if it is found or none can be.
        last: share of the price for the last step; where rows have a limit, it clips none.
        unit: half of an interval, about, for rows clipped to norm 1 in the last step, and times what `weight` says.
        radius: the last one; if there is a search, what it would find for normal rows.
        deviation: of the noise in one column of the final answer, at this radius.
        cost: half of an interval at 95%, in which what clipping takes weighs less.
    """

    rough: Rough
    search: Fraction
    count: Fraction
    last: Fraction
    unit: float
    radius: float
    deviation: float
    cost: float


@dataclass(frozen=True, kw_only=True)
class Scheduler:
    """Chooser of the schedule by what is public before the first step.

    Args:
        size: the number of rows, as far as it is public.
        columns: of the table.
        mean_radius: norm of the largest distance of the mean from the first centre.
        noise: standard deviation of the noise of a sum of rows clipped to the unit ball, for a share of the price.
        search: that costs this share of the price.
        counted: standard deviation of the noise in the number of rows beyond a radius.
        miscount: standard deviation of the number of rows; 0 if that is public.
        limit: norm of the largest distance of a row from the first centre; infinite if it is not known.
    """

    size: float
    columns: int
    mean_radius: float
    counted: float
    miscount: float
    noise: Callable[[Fraction], float]
    search: Callable[[Fraction], RadiusSearch]
    limit: float = math.inf

    def best(self) -> Schedule:
        """Return the schedule with the narrowest intervals for normal rows.

        What clipping takes counts less than noise.
        """
        return min(self._schedules(), key=lambda schedule: schedule.cost)

    @property
    def weight(self) -> float:
        """Ratio of the bound on what clipping takes to what one column loses.

        For rows along one line.
        """
        return (1 + math.sqrt(self.columns)) / 2

    def _schedules(self) -> Iterator[Schedule]:
        searches = self._searches()
        for shares in [(), *((part / steps,) * steps for part in _ROUGH for steps in _ROUGH_STEP_COUNTS)]:
            yield from self._counted(shares)
            rough, miss = self._rough(shares)
            distance = miss.norm()
            if distance > _CENTRED * math.sqrt(self.columns):
                continue
            for share, inner, far, beyond in searches:
                away = distance / 2  # reach is a bound; the centre is mostly nearer
                tail = TailBound.through(math.hypot(inner, away), math.hypot(far, away), beyond=beyond)
                last = 1 - sum(shares, share)
                radius, lost = tail.clip(self._unit(last) * self.weight, self.size)
                yield self._schedule(rough, (share, Fraction(0), last), radius, lost, distance)

    def _counted(self, shares: tuple[Fraction, ...]) -> Iterator[Schedule]:
        """Schedules with public radii, which few normal rows exceed, or none at all."""
        rough: list[tuple[Fraction, float]] = []
        bound = self.mean_radius
        noise = 0.0
        close = self._rows[0][0]
        for share in shares:
            rough.append((share, min(_distance(close, bound, noise), self.limit + len(rough) * self.mean_radius)))
            deviation = self.noise(share) / self.size * rough[-1][1]
            if not noise or deviation < noise:
                bound = min(bound, (math.sqrt(self.columns) + _REACHED) * deviation)
                noise = deviation
        if self.limit < math.inf:
            away = self.mean_radius / 2 if shares else 0.0  # the centre is mostly nearer than it may be
            yield self._schedule(
                tuple(rough), (Fraction(0), Fraction(0), 1 - sum(shares, Fraction(0))), self.limit + away, 0.0, bound
            )
        last = 1 - sum(shares, COUNT)
        for row, lost in self._rows:
            radius = _distance(row, bound, noise)
            yield self._schedule(tuple(rough), (Fraction(0), COUNT, last), radius, lost * math.hypot(1.0, noise), bound)

    @cached_property
    def _rows(self) -> list[tuple[float, float]]:
        """Distances from the mean, and what is lost where rows are clipped there."""
        from scipy.stats import chi2

        root, centred = math.sqrt(self.columns), np.zeros(self.columns)
        rows = [*np.sqrt(chi2.isf(_CLIPPED, self.columns)), *(root * far for far in _FAR)]
        beyond = chi2.sf(np.square(rows), self.columns) + _HALF_WIDTH * self.counted / self.size
        lost = [
            taken(min(1.0, share), radius=row, away=centred, size=self.size)[0] + _EQUAL * math.exp(-row / root)
            for row, share in zip(rows, beyond, strict=True)
        ]
        return list(zip(map(float, rows), map(float, lost), strict=True))

    def _searches(self) -> list[tuple[Fraction, float, float, float]]:
        """Yield shares of the price for which there are rows enough, with two quantiles.

        The quantiles are of normal rows.
        """
        from scipy.stats import chi2

        def normal(part: float) -> float:
            return math.sqrt(chi2.isf(part, self.columns))

        searches = [(share, self.search(share)) for share in _SEARCH]
        parts = [(share, search.beyond) for share, search in searches if search.is_possible]
        return [(share, normal(NEARER * beyond), normal(beyond), beyond) for share, beyond in parts]

    def _rough(self, shares: tuple[Fraction, ...]) -> tuple[Rough, "Miss"]:
        """Return the radii of rough steps, and the distance that is left to the mean."""
        miss = Miss(self.columns, self.mean_radius, 0.0)
        rough = []
        for share in shares:
            radius = miss.distance(_CLOSE)
            rough.append((share, radius))
            noise = self.noise(share) / self.size * radius
            miss = min(miss, Miss(self.columns, math.sqrt(self.columns) * math.exp(-_CLOSE), noise), key=Miss.norm)
        return tuple(rough), miss

    def _unit(self, last: Fraction) -> float:
        return _HALF_WIDTH * self.noise(last) / self.size

    def _schedule(
        self, rough: Rough, shares: tuple[Fraction, Fraction, Fraction], radius: float, lost: float, distance: float
    ) -> Schedule:
        half = self._unit(shares[-1]) * radius
        drift = _HALF_WIDTH * self.miscount / self.size * distance / math.sqrt(self.columns)
        cost = math.hypot(half, drift) + lost / self.weight
        return Schedule(rough, *shares, self._unit(shares[-1]) * self.weight, radius, half / _HALF_WIDTH, cost)


def _distance(row: float, bound: float, noise: float) -> float:
    """From a centre to a normal row at this distance of the mean.

    Args:
        bound: norm of how far the centre may be off the mean.
        noise: deviation of that in every column, 0 if it need not be noise.
    """
    along = 0.0 if noise else _ALONG * bound
    return min(bound + row, math.sqrt(bound**2 + 2 * along + row**2))


@dataclass(frozen=True)
class Miss:
    """Distance of a centre from the mean of the rows.

    Args:
        clipped: by bounds or by what a step clipped, in norm, in whatever direction.
        noise: deviation in each column, in a direction that has nothing to do with the rows.
    """

    columns: int
    clipped: float
    noise: float

    def norm(self) -> float:
        """Bound on the whole distance that fails once in 1000 steps, or less."""
        return self.clipped + (math.sqrt(self.columns) + _REACHED) * self.noise

    def distance(self, deviations: float) -> float:
        """Bound the distance from the centre to a row `deviations` off the mean.

        In every column.

        Noise of norm a has a part of `_REACHED` deviations or less along the row, so squares add up but for that.
        """
        away = (math.sqrt(self.columns) + _REACHED) * self.noise
        row = math.sqrt(self.columns) * deviations
        return self.clipped + math.sqrt(away**2 + row**2 + 2 * _REACHED * self.noise * row)

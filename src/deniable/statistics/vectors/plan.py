"""The steps of a private mean: what each may cost, and where the first ones clip. All of it from public numbers."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from deniable.statistics.vectors.tail import NEARER, Search, Tail

Rough = tuple[tuple[Fraction, float], ...]  # shares of the price, and radii

_ROUGH = tuple(Fraction(percent, 100) for percent in (5, 10, 20, 30, 40, 50))  # of the price, for all rough steps
_STEPS = (1, 2, 3, 5, 7)
_SEARCH = tuple(Fraction(1, parts) for parts in (64, 32, 16, 8))  # of the price, to find the last radius
SMALLEST_SHARE = min(_ROUGH) / max(_STEPS)

_HALF_WIDTH = 2.0  # deviations of noise that are about half of an interval
_REACHED = 4.0  # deviations by which the norm of noise exceeds its expectation once in 1000 steps, or less
_CLOSE = 2.0  # deviations of a column at which rough steps clip; the mean loses e^-2 by that, at most
_CENTRED = 0.4  # deviations of a column; seen from further away, rows on the near side hide how others thin out


@dataclass(frozen=True)
class Plan:
    """Steps of a private mean, in standard deviations of one column.

    Args:
        rough: shares of the price, and radii of the balls to which rows are clipped.
        search: share of the price that finds the last radius among the rows, 0 if it is public.
        last: share of the price for the last step.
        unit: half of an interval, about, for rows clipped to norm 1 in the last step.
        tail: of the distances of rows from the last centre. If there is a search, what it would find for normal rows.
        deviation: of the noise in one column of the final answer, if that is the tail.
        half_width: of an interval at 95%, if that is the tail.
    """

    rough: Rough
    search: Fraction
    last: Fraction
    unit: float
    tail: Tail
    deviation: float
    half_width: float


@dataclass(frozen=True, kw_only=True)
class Planner:
    """What is public before the first step.

    Args:
        size: the number of rows, as far as it is public.
        columns: of the table.
        reach: norm of the largest distance of the mean from the first centre.
        noise: standard deviation of the noise of a sum of rows clipped to the unit ball, for a share of the price.
        search: that costs this share of the price.
        miscount: standard deviation of the number of rows; 0 if that is public.
    """

    size: float
    columns: int
    reach: float
    miscount: float
    noise: Callable[[Fraction], float]
    search: Callable[[Fraction], Search]

    def best(self) -> Plan:
        """The plan with the narrowest intervals for normal rows."""
        return min(self._plans(), key=lambda plan: plan.half_width)

    def _plans(self) -> Iterator[Plan]:
        searches = self._searches()
        for shares in [(), *((part / steps,) * steps for part in _ROUGH for steps in _STEPS)]:
            rough, miss = self._rough(shares)
            left, reach = 1 - sum(shares, Fraction(0)), miss.norm()
            yield self._plan(rough, Fraction(0), left, miss.tail(), reach)
            if reach > _CENTRED * math.sqrt(self.columns):
                continue
            for share, near, far, beyond in searches:
                away = reach / 2  # reach is a bound; the centre is mostly nearer
                tail = Tail.through(math.hypot(near, away), math.hypot(far, away), beyond=beyond)
                yield self._plan(rough, share, left - share, tail, reach)

    def _searches(self) -> list[tuple[Fraction, float, float, float]]:
        """Shares of the price for which there are rows enough, and the two quantiles of normal rows."""
        from scipy.stats import chi2

        def normal(part: float) -> float:
            return math.sqrt(chi2.isf(part, self.columns))

        found = [(share, self.search(share)) for share in _SEARCH]
        parts = [(share, search.beyond) for share, search in found if search.is_possible]
        return [(share, normal(NEARER * beyond), normal(beyond), beyond) for share, beyond in parts]

    def _rough(self, shares: tuple[Fraction, ...]) -> tuple[Rough, "Miss"]:
        """The radii of rough steps, and how far off the mean of the rows the centre is then."""
        miss, rough = Miss(self.columns, self.reach, 0.0), []
        for share in shares:
            radius = miss.distance(_CLOSE)
            rough.append((share, radius))
            noise = self.noise(share) / self.size * radius
            miss = min(miss, Miss(self.columns, math.sqrt(self.columns) * math.exp(-_CLOSE), noise), key=Miss.norm)
        return tuple(rough), miss

    def _plan(self, rough: Rough, search: Fraction, last: Fraction, tail: Tail, reach: float) -> Plan:
        unit = _HALF_WIDTH * self.noise(last) / self.size
        radius, lost = tail.clip(unit, self.size)
        drift = _HALF_WIDTH * self.miscount / self.size * reach / math.sqrt(self.columns)
        width = math.hypot(unit * radius, drift) + lost
        return Plan(rough, search, last, unit, tail, unit / _HALF_WIDTH * radius, width)


@dataclass(frozen=True)
class Miss:
    """How far a centre may be off the mean of the rows.

    Args:
        clipped: by bounds or by what a step clipped, in norm, in whatever direction.
        noise: deviation in each column, in a direction that has nothing to do with the rows.
    """

    columns: int
    clipped: float
    noise: float

    def norm(self) -> float:
        """Of all of it, nearly surely."""
        return self.clipped + (math.sqrt(self.columns) + _REACHED) * self.noise

    def distance(self, deviations: float) -> float:
        """From the centre to a row that is so many deviations off the mean in every column, nearly surely.

        Noise of norm a has a part of `_REACHED` deviations or less along the row, so squares add up but for that.
        """
        away, row = (math.sqrt(self.columns) + _REACHED) * self.noise, math.sqrt(self.columns) * deviations
        return self.clipped + math.sqrt(away**2 + row**2 + 2 * _REACHED * self.noise * row)

    def tail(self) -> Tail:
        """Where no row is looked at: a share e^-t may be beyond t >= 1 deviations in all columns at once."""
        root, nearest = math.sqrt(self.columns), self.distance(1.0)
        return Tail(near=nearest, far=nearest - root, beyond=1.0, scale=root, excess=1.0)

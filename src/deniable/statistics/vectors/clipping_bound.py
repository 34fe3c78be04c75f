"""Bounds on what clipping takes from a mean, by the share of clipped rows."""

import math
from dataclasses import dataclass

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.release.columns import Noisy

_ROUNDS = 30  # until the bound hardly falls any more; every one is valid
_SIDE = 1.0  # ln of e: a side of the mean with a tail that thins out exponentially or faster has a share 1/e or more


@dataclass(frozen=True, eq=False)
class ClippingBound:
    """Bound for rows clipped at a public radius, from the noisy number beyond it.

    Args:
        radius: in deviations.
        beyond: the noisy number of rows beyond the radius.
        size: of rows, surely not above their number.
    """

    radius: float
    beyond: Noisy
    size: float

    def lost(self, moved: Floats, largest_move: Floats, *, chance: float) -> Floats:
        """Bound the loss of each mean, in deviations, but for this chance.

        Proof: docs/theory/statistics/vectors.md.

        Args:
            moved: how far the mean of the clipped rows is from the centre at most.
            largest_move: the same for the mean of the rows, by public bounds.
        """
        rows_beyond = float(self.beyond.values[0]) + self.beyond.law.half_width(1 - 2 * chance)
        share = min(1.0, max(rows_beyond, 1.0) / self.size)
        lost = largest_move
        for _ in range(_ROUNDS):
            away = np.minimum(largest_move, moved + lost)
            lost = taken(share, radius=self.radius, away=away, size=self.size)
        return lost


def taken(share: float, *, radius: float, away: Floats, size: float) -> Floats:
    """Bound what clipping takes from the mean of each column, in deviations.

    Args:
        share: of the rows, beyond the radius.
        away: how far the mean of each column is from the centre.
        size: the number of rows.
    """
    spread = np.hypot(1.0, away)
    part = part_taken(share, radius=radius, spread=float(np.linalg.norm(spread)))
    reached = (radius - float(np.linalg.norm(away))) / math.sqrt(len(away))  # by a row, in every column
    return np.minimum(part * spread, _beyond(reached, size))


def _beyond(reached: float, size: float) -> float:
    """Return the mean excess beyond `reached` deviations, chance included.

    Where a share e^-t is beyond t >= 1 deviations.
    """
    if reached < 1:
        return math.inf
    share = math.exp(-reached)
    return share + math.sqrt(2 * share / size)


def part_taken(share: float, *, radius: float, spread: float) -> float:
    """Bound what clipping takes from a mean, as a part of the root mean square.

    Of the column.

    Args:
        share: of the rows, beyond the radius.
        spread: the root mean square of the distance of rows.
    """
    return min(math.sqrt(share * _mean_squared_excess(share)), _whatever_the_tail(share, spread / radius))


def _mean_squared_excess(share: float) -> float:
    """Return the mean square of 1 - radius / distance beyond the radius.

    Where distances thin out exponentially or faster.

    That is E[(U / (1 + U))^2] = 1 - 2 A + rate (1 - A) for U exponential, with A = rate e^rate E1(rate).
    """
    from scipy.special import exp1

    rate = -math.log(share) - _SIDE
    if rate <= 0:
        return 1.0
    nearness = rate * math.exp(rate) * float(exp1(rate))
    return max(0.0, 1 - 2 * nearness + rate * (1 - nearness))


def _whatever_the_tail(share: float, spread: float) -> float:
    """Return the largest root mean square of 1 - 1 / distance for any tail.

    Over up to `share` of rows, of a root mean square `spread`.

    With p of the rows at one distance, which is spread / sqrt(p), it is sqrt(p) - p / spread.
    """
    part = min(math.sqrt(share), spread / 2)
    return part - part**2 / spread

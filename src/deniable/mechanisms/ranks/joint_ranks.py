"""Exact draws of the ranks of several quantiles at once, a chain along them.

Ranks i_1 <= ... <= i_k of [0, n] get the weight exp(-rate sum |N_j - T_j|) times W(i)^r / r! for every rank i that r of
them share. N_j = i_j - i_(j-1), with i_0 = 0 and i_(k+1) = n, and T_j = t_j - t_(j-1) likewise for the wanted ranks t.

Logarithms of the sums over all ways to go on are bounded from above (`log_sums`), for ranks in a window around each t.
Ranks are proposed one after the other with integer weights made of those bounds; so the chance of a proposal is a
known rational number, and a last coin, which nearly always shows True, corrects it to the stated law.

Guarantee: exactly the stated law, restricted to the windows. Proof: docs/theory/mechanisms/ranks.md, "The joint draw".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, factorial, floor, lgamma
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.ranks.log_sums import running, sliding, total
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import Bits
from deniable.numbers import balls
from deniable.numbers.arrays import Floats
from deniable.numbers.certified import exp_of_minus, log

if TYPE_CHECKING:
    from flint import arb

_PARTS = 2.0**52  # of all chances of one step
_LIFT = 2.0**-28  # of every bound: above the errors of parts, and of exponents up to 2^16
_RUN = 4  # quantiles that enter a rank together, but for the heaviest ranks of each window
_HEAVIEST = 64


@dataclass(frozen=True, kw_only=True)
class Targets:
    """Wanted ranks t_1 <= ... <= t_k among n records, with rates and windows."""

    ranks: Sequence[Fraction]
    total: int
    rate: Fraction
    width: int

    @property
    def count(self) -> int:
        return len(self.ranks)

    def window(self, index: int) -> tuple[int, int]:
        """Return the first and last rank of a window; others are more than `width` off."""
        centre = floor(self.ranks[index])
        return max(0, centre - self.width), min(self.total, centre + 1 + self.width)

    @property
    def complete(self) -> bool:
        """Whether all windows hold all ranks."""
        return self.window(0)[1] == self.total and self.window(self.count - 1)[0] == 0

    def holds(self, ranks: NDArray[np.int64]) -> bool:
        """Return whether each rank lies in its window."""
        windows = (self.window(index) for index in range(self.count))
        return all(low <= rank <= high for rank, (low, high) in zip(ranks.tolist(), windows, strict=True))

    def cost(self, ranks: NDArray[np.int64]) -> Fraction:
        """Return the sum of |N_j - T_j|."""
        off = [Fraction(0), *(rank - t for rank, t in zip(ranks.tolist(), self.ranks, strict=True)), Fraction(0)]
        return sum((abs(b - a) for a, b in pairwise(off)), Fraction(0))


class RankSampler:
    """Bounds for one table, from which any number of proposals can be made.

    Args:
        weights: W of the ranks from the first to the last of a window; integers of [0, 2^63).
    """

    def __init__(self, targets: Targets, weights: Callable[[int, int], NDArray[np.int64]]) -> None:
        self.targets, count = targets, targets.count
        self.windows = [targets.window(index) for index in range(count)]
        self.weights = [weights(*window) for window in self.windows]
        self.logs = [np.where(w > 0, log(np.maximum(w, 1).astype(np.float64)), -np.inf) for w in self.weights]
        self.heavy = [_largest(w, _HEAVIEST) for w in self.weights]
        self.away = [self._away(index) for index in range(count)]
        nothing: Floats = np.empty(0)
        self.above = [nothing] * count  # ways to go on behind quantile j at rank i, the next one above i
        self.further = [nothing] * count  # the same, and the next one may enter i once more
        self.entering = [nothing] * count  # ways from quantile j on, which enters rank i
        for index in reversed(range(count)):
            self._prepare(index)
        self.start = float(self._raised(running(self.entering[0] - np.abs(self.away[0]))[-1:])[0])

    def propose(self, bits: Bits) -> NDArray[np.int64] | None:
        """Propose ranks; None where the last coin shows that all is to be done again."""
        ranks_so_far: list[int] = []
        factor = Fraction(1)
        lowest = 0
        offset = 0.0
        known = self.start
        while (quantile_index := len(ranks_so_far)) < self.targets.count:
            first = max(0, lowest - self.windows[quantile_index][0])
            ways = self.entering[quantile_index][first:] - np.abs(self.away[quantile_index][first:] - offset)
            index, chance = _pick(ways - known, bits)
            index += first
            heavy = bool(self.heavy[quantile_index][index])
            runs = self._runs(quantile_index, np.array([index]), heavy)[:, 0]
            more, share = _pick(runs - self.entering[quantile_index][index], bits)
            rank = self.windows[quantile_index][0] + index
            last = quantile_index + more
            ranks_so_far += [rank] * (more + 1)
            factor *= int(self.weights[quantile_index][index]) ** (more + 1) / (chance * share)
            again = not heavy and more + 1 == _RUN
            lowest = rank if again else rank + 1
            index = rank - self.windows[last][0]
            offset = float(self.away[last][index])
            known = float((self.further if again else self.above)[last][index])
        ranks = np.array(ranks_so_far, dtype=np.int64)
        for number in np.unique(ranks, return_counts=True)[1].tolist():
            factor /= factorial(number)
        return ranks if self._kept(factor, ranks, bits) else None

    def _kept(self, factor: Fraction, ranks: NDArray[np.int64], bits: Bits) -> bool:
        """Return True with probability factor exp(-rate cost) / exp(start)."""
        exponent = self.targets.rate * self.targets.cost(ranks) + Fraction(self.start)

        def chance() -> "arb":
            return (-balls.ball(exponent)).exp() * balls.ball(factor)

        return coin(chance, bits)

    def _away(self, index: int) -> Floats:
        """Return rate (i - t) for the ranks of a window."""
        low, high = self.windows[index]
        rate = self.targets.rate
        first = float(rate * (low - self.targets.ranks[index]))
        return first + float(rate) * np.arange(high - low + 1, dtype=np.float64)

    def _prepare(self, index: int) -> None:
        """Set the bounds for one quantile, from those for the quantiles behind it."""
        away = self.away[index]
        if index == self.targets.count - 1:
            self.above[index] = self.further[index] = self._raised(-np.abs(away))
        else:
            self.above[index] = self._raised(self._ways(index))
            stays = self._shifted(index, 1, self.entering[index + 1], np.arange(away.size))
            self.further[index] = self._raised(total(np.stack([self.above[index], stays])))
        entering = total(self._runs(index, np.arange(away.size), heavy=False))
        heavy = np.flatnonzero(self.heavy[index])
        entering[heavy] = total(self._runs(index, heavy, heavy=True))
        self.entering[index] = self._raised(entering)

    def _runs(self, index: int, columns: NDArray[np.intp], heavy: bool) -> Floats:
        """Return the ways in which 1, 2, ... quantiles enter ranks together.

        They are at most _RUN where ranks are not heavy.
        """
        rows = []
        quantiles_left = self.targets.count - index
        for number in range(1, (quantiles_left if heavy else min(quantiles_left, _RUN)) + 1):
            last = index + number - 1
            if self.windows[last][0] > self.windows[index][1]:
                break
            behind = self.further if number == _RUN and not heavy else self.above
            ways = self._shifted(index, number - 1, behind[last], columns)
            rows.append(number * self.logs[index][columns] - lgamma(number + 1) + ways)
        return np.stack(rows)

    def _shifted(self, index: int, more: int, ways: Floats, columns: NDArray[np.intp]) -> Floats:
        """Return ways from the same ranks on for a quantile that is `more` further on.

        With its own distance.
        """
        start, end = self.windows[index + more]
        ranks = self.windows[index][0] + columns
        pause = float(self.targets.rate * (self.targets.ranks[index + more] - self.targets.ranks[index]))
        return np.where(
            (ranks >= start) & (ranks <= end), ways[np.clip(ranks - start, 0, end - start)] - pause, -np.inf
        )

    def _ways(self, index: int) -> Floats:
        """Return the sums over the next, higher rank, for every rank of the window."""
        low, high = self.windows[index]
        start, end = self.windows[index + 1]
        step = max(1, ceil(self.targets.ranks[index + 1] - self.targets.ranks[index]))
        here = self.away[index]
        there = self.away[index + 1]
        entering = self.entering[index + 1]
        ranks = np.arange(low, high + 1)
        falling = np.append(running((entering - there)[::-1])[::-1], -np.inf)
        over: Floats = here + falling[np.clip(ranks + step, start, end + 1) - start]
        if step == 1:
            return over
        rising = entering + there
        if start > high:
            sums = running(rising)
            last = np.minimum(ranks + step - 1, end) - start
            under = np.where(last >= 0, sums[np.maximum(last, 0)], -np.inf)
        else:
            padded = np.full(high - low + step - 1, -np.inf)  # of the ranks low + 1, ..., high + step - 1
            first = max(start, low + 1)
            behind = min(end, high + step - 1) + 1
            padded[first - low - 1 : behind - low - 1] = rising[first - start : behind - start]
            under = sliding(padded, step - 1)
        return total(np.stack([over, under - here]))

    def _raised(self, bounds: Floats) -> Floats:
        """Return bounds raised by the rounding errors of all exponents behind them."""
        count = self.targets.count
        known = np.isfinite(bounds)
        spread = 2 * float(self.targets.rate) * (self.targets.width + 2)
        largest_exponent = spread + 64 * count + lgamma(count + 1) + float(np.abs(bounds[known]).max(initial=0.0))
        raised: Floats = bounds + (_LIFT + bounds.size * 2.0**-50 + largest_exponent * 2.0**-46)
        return raised


def coin(chance: Callable[[], "arb"], bits: Bits) -> bool:
    """Return True with the probability that `chance` encloses, a number of [0, 1]."""
    from flint import ctx

    with ctx.workprec(128):
        approximation = float(chance().mid())
    assert approximation <= 1 + 2.0**-40
    return bool(bernoulli.sample_each(probabilities=np.array([approximation]), exact=lambda _: chance, bits=bits)[0])


def _pick(chances: Floats, bits: Bits) -> tuple[int, Fraction]:
    """Draw an index with chances of about exp(chances); return its exact chance too.

    The chances add up to less than 1.
    """
    possible = np.isfinite(chances)
    parts = np.where(possible, np.floor(_PARTS * exp_of_minus(np.maximum(-chances, 0.0))) + 1, 0).astype(np.int64)
    ends = np.cumsum(parts)
    drawn = int(uniform.below(int(ends[-1]), bits=bits))
    index = int(np.searchsorted(ends, drawn, side="right"))
    return index, Fraction(int(parts[index]), int(ends[-1]))


def _largest(values: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    """Return a mask of the largest ones."""
    mask = np.zeros(values.shape, dtype=np.bool_)
    mask[np.argsort(-values)[:count]] = True
    return mask

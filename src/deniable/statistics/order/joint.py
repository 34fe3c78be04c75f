"""Many quantiles in one draw: the exponential mechanism over all ordered tuples of points.

Between consecutive quantiles, and outside of the first and the last, N_1, ..., N_(m+1) rows should lie where T_1, ...,
T_(m+1) do. A tuple is chosen with probability proportional to the weights of its points times exp(-rate sum |N - T|).

Guarantee: bounded range epsilon = 2 rate reach for one row, with reach = 2 under replace, and 2 (1 - the smallest share
between two quantiles) under add/remove. Proof: docs/theory/mechanisms/ranks.md.
Source: Gillenwater, Joseph, Kulesza (2021), arXiv:2102.08244, for the mechanism.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil, factorial, lgamma, log
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft
from scipy.optimize import brentq

from deniable.noise import refine, uniform
from deniable.noise.bits import Bits
from deniable.privacy import ExponentialMechanismLoss, PrivacyLoss, Relation
from deniable.privacy.around.restricted import Restricted
from deniable.rows import Floats
from deniable.statistics.order.chain import Chain, Targets, coin
from deniable.statistics.order.choice import EQUAL
from deniable.statistics.order.measure import Codes, Measure
from deniable.statistics.order.method import OUTSIDE, Method
from deniable.statistics.order.quantile import selections
from deniable.statistics.order.rows import Rows

if TYPE_CHECKING:
    from flint import arb

_NATS = 30.0  # between the windows and what they leave out, for rows of different values
_LARGEST_RATE = Fraction(32)  # per rank: above it nothing is gained but exponents too large for floats
_MANY = 10**6  # rows for which the work is estimated
_LARGEST_WORK = 10**6  # ranks of half windows
_RESERVE = 1.5  # for rows that lie thinner towards the ends
_FINE = 16  # points of the lattice for expected errors while chances fall by e


@dataclass(frozen=True, kw_only=True)
class Joint(Method):
    """Quantiles in one draw."""

    name: ClassVar[str] = "joint"

    @cached_property
    def losses(self) -> list[PrivacyLoss]:
        """The one of the draw."""
        return [Restricted(ExponentialMechanismLoss(self._epsilon), self.relation)]

    def rank_errors(self, size: int) -> Floats:
        return rank_errors(self.shares, self._rate, size)

    def draw(self, ordered: Rows, size: int, *, measure: Measure, bits: Bits) -> tuple[Codes, NDArray[np.int64]]:
        return draw(ordered, size, self.shares, self._rate, measure=measure, bits=bits)

    @property
    def is_quick(self) -> bool:
        count = len(self.shares)
        return count * first_width(count, self._rate, _MANY) <= _LARGEST_WORK

    def is_steady(self, size: int) -> bool:
        """Whether so many rows are enough for no two outer quantiles to leave them together.

        Rows that fill a twentieth of the bounds weigh little beside the points outside, and r quantiles that are all
        drawn to one side cost no more than 2 rate t, where the r-th is wanted at t: see
        docs/theory/mechanisms/ranks.md.
        """
        speed = float(self._rate)
        gain = log(max(1.0, OUTSIDE * size * speed / 2))
        inner, outer = list(self.shares), [1 - share for share in reversed(self.shares)]
        return all(
            _RESERVE * (number * gain - lgamma(number + 1)) < 2 * speed * size * float(share)
            for side in (inner, outer)
            for number, share in enumerate(side[1:], 2)
        )

    @cached_property
    def _epsilon(self) -> Fraction:
        """The bounded range."""
        return selections(self.price, (1,))[0]

    @property
    def _rate(self) -> Fraction:
        return self._epsilon / (2 * self.rows * reach(self.shares, self.relation))


def reach(shares: Sequence[Fraction], relation: Relation) -> Fraction:
    """How far one row moves the sum of all |N - T|."""
    if relation is Relation.REPLACE:
        return Fraction(2)
    return 2 * (1 - min(b - a for a, b in pairwise([Fraction(0), *shares, Fraction(1)])))


def draw(
    ordered: Rows, size: int, shares: Sequence[Fraction], rate: Fraction, *, measure: Measure = EQUAL, bits: Bits
) -> tuple[Codes, NDArray[np.int64]]:
    """The codes of all quantiles, and how many rows are below each, which is secret.

    Args:
        ordered: rows with codes of [0, size).
        shares: in order, at least one.
        measure: the weights of all codes.
    """
    table = _Table(ordered, size, measure)
    slower = min(rate, _LARGEST_RATE)
    wanted = [share * ordered.size for share in shares]
    width = first_width(len(shares), slower, ordered.size)
    while True:
        targets = Targets(ranks=wanted, rows=ordered.size, rate=slower, width=width)
        chain = Chain(targets, table.weights)
        if targets.complete or chain.start > table.outside(targets) + 5:
            break
        width *= 2
    while True:
        if not targets.complete and coin(lambda: table.chance_outside(targets, chain.start), bits):
            codes = table.anywhere(targets, bits)
        else:
            ranks = chain.propose(bits)
            codes = None if ranks is None else table.located(ranks, bits)
        if codes is not None:
            return codes, ordered.below(codes)


def first_width(count: int, rate: Fraction, size: int) -> int:
    """So far from the wanted ranks one looks at first: where all rows differ, the rest weighs e^-30 or less."""
    spread = count * log(1 + size * float(rate) / 2) - lgamma(count + 1)
    return ceil((_NATS + max(0.0, spread)) / (2 * float(rate))) + count // 2 + 1


def rank_errors(shares: Sequence[Fraction], rate: Fraction, size: int) -> Floats:
    """The root mean squared error of every quantile in ranks, for about `size` rows of different values.

    The rows N between quantiles are independent, with chances exp(-rate |N - T|), given that they add up to all rows.
    """
    speed = float(min(rate, _LARGEST_RATE))
    wanted = size * np.diff([0.0, *map(float, shares), 1.0])
    away = _lattice(speed, size, len(wanted))
    kinds, kind, numbers = np.unique(wanted.round(6), return_inverse=True, return_counts=True)
    rows = np.maximum(kinds[:, None] + away, 0.0)  # (kinds of steps, lattice)
    logs = np.where(kinds[:, None] + away >= -0.5, -speed * np.abs(away), -np.inf)
    steps = _chances(logs, rows, _tilt(logs, rows, numbers, size))[kind]
    factors = rfft(steps)
    behind = np.cumprod(factors[::-1], axis=0)[::-1]
    ahead, errors = factors[0], []
    for place in range(len(shares)):
        chances = np.maximum(irfft(ahead), 0.0) * np.roll(np.maximum(irfft(behind[place + 1]), 0.0)[::-1], 1)
        errors.append(np.sqrt(np.sum(chances * away**2) / np.sum(chances)))
        ahead = ahead * factors[place + 1]
    return np.minimum(errors, float(size))


def _lattice(speed: float, size: int, steps: int) -> Floats:
    """Distances in ranks, as a circle that begins at 0."""
    fine = max(1.0, min(1 / (_FINE * speed), size / 2**11))
    reached = min((8 * steps**0.5 + 40) / speed, 2.0 * size) / fine + 8
    half = 1 << ceil(log(reached, 2))
    return np.append(np.arange(half), np.arange(-half, 0)).astype(np.float64) * fine


def _tilt(logs: Floats, rows: Floats, numbers: NDArray[np.int64], size: int) -> float:
    """The exponent that makes the rows of all steps add up to all rows on average."""

    def excess(exponent: float) -> float:
        return float(numbers @ (_chances(logs, rows, exponent) * rows).sum(axis=1)) - size

    return float(brentq(excess, 0.0, 40.0)) if excess(0.0) > 1e-3 and excess(40.0) < 0 else 0.0


def _chances(logs: Floats, rows: Floats, exponent: float) -> Floats:
    """Of the numbers of rows of every kind of step, tilted: the law changes, but not given the sum of all steps."""
    tilted = logs - exponent * rows
    chances = np.exp(tilted - tilted.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Table:
    """Rows on a grid; rank i belongs to the points behind the i-th row up to the next one, which is among them."""

    ordered: Rows
    size: int
    measure: Measure

    @cached_property
    def weight(self) -> int:
        return int(self.measure.below(np.array([self.size]))[0])

    def weights(self, first: int, last: int) -> NDArray[np.int64]:
        """What the points of the ranks from the first to the last weigh."""
        below: NDArray[np.int64] = self.measure.below(self._starts(first, last + 1))
        return np.diff(below)

    def located(self, ranks: NDArray[np.int64], bits: Bits) -> Codes:
        """Points of these ranks, drawn by weight, in order."""
        starts = [self._starts(rank, rank + 1) for rank in ranks.tolist()]
        return np.sort(np.array([self._point(int(start), int(end), bits) for start, end in starts], dtype=np.int64))

    def outside(self, targets: Targets) -> float:
        """ln of a bound on the weight of all tuples with a rank outside of its window, up to rounding."""
        count = targets.count
        return count * log(self.weight) - lgamma(count + 1) - 2 * float(targets.rate) * targets.width

    def chance_outside(self, targets: Targets, start: float) -> "arb":
        """The share of that bound in the sum with exp(start)."""
        exponent = Fraction(start) + 2 * targets.rate * targets.width
        inside = (
            refine.ball(exponent).exp() * factorial(targets.count) / refine.ball(Fraction(self.weight)) ** targets.count
        )
        return 1 / (1 + inside)

    def anywhere(self, targets: Targets, bits: Bits) -> Codes | None:
        """Points by weight alone; None if all their ranks lie in the windows, or a coin shows that they are too far."""
        codes = np.sort(np.array([self._point(0, self.size, bits) for _ in range(targets.count)], dtype=np.int64))
        ranks = self.ordered.below(codes)
        if targets.holds(ranks):
            return None
        exponent = targets.rate * (targets.cost(ranks) - 2 * targets.width)
        return codes if coin(refine.exp_of_minus(exponent), bits) else None

    def _starts(self, first: int, last: int) -> Codes:
        """The first points of the ranks from the first to the last; that of rank n + 1 is behind all points."""
        ends = [0] * (first == 0) + [self.size] * (last == self.ordered.size + 1)
        inner = self.ordered.between(first - 1, last) + 1
        return np.concatenate([ends[: first == 0], inner, ends[first == 0 :]]).astype(np.int64)

    def _point(self, first: int, end: int, bits: Bits) -> int:
        low, high = (int(weight) for weight in self.measure.below(np.array([first, end])))
        return self.measure.locate(first, end, int(uniform.below(high - low, bits=bits)))

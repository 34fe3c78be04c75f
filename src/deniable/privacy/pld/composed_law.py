"""Composed laws, written out so that a composition can be sampled as a whole.

Two steps are repeated. On one grid the probabilities of losses are convolved: nothing is subtracted, so errors stay
relative. When the grid becomes long, the law is put on a coarser one by `discretise`, which is proved to reveal more,
or less. Proof: docs/theory/privacy/sampling.md.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deniable.errors import UnprovedError
from deniable.numbers.arrays import Floats
from deniable.privacy.pld.discretise import Grid, discretise
from deniable.privacy.pld.law import UNIT, FiniteLaw, LossLaw, Pairs, ReversedLaw
from deniable.privacy.pld.pilot import span
from deniable.privacy.pld.search import RepeatedPair

_GRID_POINTS = 2**13  # of a composed law; convolutions grow with their square
_NEGLIGIBLE_PROBABILITY = 1e-60  # of both ends of a law, which are cut off
_NEGLIGIBLE_VANISHING = 1e-9  # a smaller probability under Q of no finite loss is a matter of rounding
_LOWEST_LOSS = -15.0  # lower losses are joined: there a rounding of P is exp(15) roundings of Q


class _Masses(NamedTuple):
    """Probabilities under P at the losses first + step * i, and of an infinite loss.

    step: 0 for a single loss. error: relative, of the probabilities. slack: of the losses.

    step: 0 for a single loss. error: relative, of the probabilities. slack: of the losses.
    """

    first: float
    step: float
    p: Floats
    infinite: float
    error: float
    slack: float

    @property
    def losses(self) -> Floats:
        """The losses, shape (masses,)."""
        return np.asarray(self.first + self.step * np.arange(self.p.size))


class WrittenLaw(FiniteLaw):
    """Finite law whose losses may be off by `doubt`."""

    def __init__(self, masses: _Masses, *, upper: bool, settled: bool = False) -> None:
        kept = masses.p > 0
        losses, p = masses.losses[kept], masses.p[kept]
        q = p * np.exp(-losses)
        spacing = masses.step or None
        side = 1 if upper else -1
        infinite = max(masses.infinite * (1 + side * (masses.error + 8 * UNIT)), 0.0)
        if settled and not upper:
            losses, p, q = _settled(losses, p * (1 - masses.error - 64 * UNIT), infinite)
            spacing = None if losses.size < kept.sum() else spacing
        gone = 1 - float(q.sum())
        super().__init__(
            losses,
            p,
            q,
            infinite=infinite,
            vanishing=gone if gone > _NEGLIGIBLE_VANISHING else 0.0,
            spacing=spacing,
            roundings=8 + masses.error / UNIT,
        )
        self._doubt = masses.slack

    def slack(self, magnitude: float) -> float:
        """Return the slack of a finite law plus the doubt about its losses."""
        return super().slack(magnitude) + self._doubt


def _settled(losses: Floats, p: Floats, infinite: float) -> tuple[Floats, Floats, Floats]:
    """Return a true pair of probabilities, below the curve of these masses.

    Its curve is the larger of theirs and of max(1 - x, 0), which is below all curves. The largest losses are kept; all
    else of P and of Q is joined at one loss, where the curve meets 1 - x.

    The largest losses are kept; all else of P and of Q is joined at one loss, where the curve meets 1 - x.
    """
    q = p * np.exp(-losses)
    rest_p = 1 - infinite - np.cumsum(p[::-1])[::-1]  # below each loss and without it
    rest_q = 1 - np.cumsum(q[::-1])[::-1]
    steep = np.flatnonzero((rest_q <= 0) | (rest_p > rest_q * np.exp(losses)))
    first = int(steep[-1]) + 1 if steep.size else 0  # the first loss that is kept
    if first == losses.size:
        rest = np.array([1 - infinite])
        return np.log(rest), rest, np.ones(1)
    left = max(float(rest_p[first]), 0.0)
    right = float(rest_q[first])
    if left == 0:
        return losses[first:], p[first:], q[first:]
    joined = min(math.log(left / right), float(losses[first]))
    p, q = np.append(left, p[first:]), np.append(right, q[first:])
    return np.append(joined, losses[first:]), p, q


def written_pairs(directions: tuple[list[list[RepeatedPair]], list[list[RepeatedPair]]] | None, shown: str) -> Pairs:
    """Return the pairs of laws of a composition of these parts, above it and below it.

    Args:
        directions: the laws that dominate, and those that are attained; None where some are not known.
        shown: the composition, for the message.
    """
    if directions is None:
        raise UnprovedError(
            f"sampling needs a pair of distributions that dominates the mechanism, and a part of {shown} is known by "
            "a bound alone. Use the losses of the mechanisms themselves, such as GaussianLoss or LaplaceLoss."
        )
    above = [composed_law(parts, upper=True) for parts in directions[0]]
    below = [composed_law(parts, upper=False) for parts in directions[1]]
    return Pairs((above[0], above[-1]), (below[0], below[-1]))


def composed_law(parts: Sequence[RepeatedPair], *, upper: bool) -> WrittenLaw:
    """Return a law above or below the sum of independent losses."""
    total = _Masses(0.0, 0.0, np.ones(1), 0.0, 0.0, 0.0)
    for part in parts:
        power = _written(part.law, upper=upper)
        left = part.count
        while left:
            if left & 1:
                total = _added(total, power, upper=upper)
            left >>= 1
            if left:
                power = _added(power, power, upper=upper)
    return WrittenLaw(total, upper=upper, settled=True)


def _written(law: LossLaw, *, upper: bool) -> _Masses:
    """Return one law on a grid: its own lattice, if that is not too fine."""
    high = span(law, _NEGLIGIBLE_PROBABILITY, 1.0)[1]
    low = -span(ReversedLaw(law), _NEGLIGIBLE_PROBABILITY, 1.0)[1]
    step = max((high - low) / _GRID_POINTS, 1e-12)
    if law.spacing is not None and law.spacing > step / 2:
        step = law.spacing
    return _on_grid(law, low, high, step, 0.0, upper=upper)


def _on_grid(law: LossLaw, low: float, high: float, step: float, error: float, *, upper: bool) -> _Masses:
    """Return a bound on a law on the grid with this step through its anchor."""
    last = math.ceil((high - law.anchor) / step - 1e-9)
    first = min(math.floor((max(low, _LOWEST_LOSS) - law.anchor) / step) - 1, last - 2)
    grid = Grid(law.anchor, step, first, last)
    bounds = discretise(law, grid)
    p, infinite = (bounds.upper, bounds.upper_infinite) if upper else (bounds.lower, bounds.lower_infinite)
    return _trimmed(_Masses(float(grid.losses[0]), step, p, infinite, error, bounds.slack), upper=upper)


def _coarser(given: _Masses, step: float, *, upper: bool) -> _Masses:
    """Return the law on a grid with another step."""
    if given.step in (step, 0.0):
        return given._replace(step=step)
    law = WrittenLaw(given._replace(error=0.0), upper=upper)
    return _on_grid(law, law.lowest, law.highest, step, given.error, upper=upper)


def _added(one: _Masses, other: _Masses, *, upper: bool) -> _Masses:
    """Return the law of a sum of two independent losses, on a grid short enough."""
    step = _common_step(one.step, other.step)
    while step and max(one.step * one.p.size, other.step * other.p.size) > 2 * _GRID_POINTS * step:
        step *= 2
    one = _coarser(one, step, upper=upper)
    other = _coarser(other, step, upper=upper)
    together = _Masses(
        one.first + other.first,
        step,
        np.convolve(one.p, other.p),
        one.infinite + other.infinite - one.infinite * other.infinite,
        one.error + other.error + UNIT * (8 + 2 * min(one.p.size, other.p.size)),
        one.slack + other.slack + 4 * UNIT * (abs(one.first) + abs(other.first) + step * (one.p.size + other.p.size)),
    )
    together = _trimmed(together, upper=upper)
    while together.p.size > _GRID_POINTS:
        together = _coarser(together, 2 * together.step, upper=upper)
    return together


def _common_step(one: float, other: float) -> float:
    """Return the smaller step, or a part of it if the larger is not a multiple of it.

    0 stands for a single loss.
    """
    small, large = sorted((one, other))
    if small == 0:
        return large
    return small if abs(large / small - round(large / small)) < 64 * UNIT * large / small else small / 16


def _trimmed(given: _Masses, *, upper: bool) -> _Masses:
    """Return the law without ends that cannot matter.

    To reveal more they are moved upwards, to reveal less they are dropped.
    """
    p = given.p
    q = given.p * np.exp(np.minimum(-given.losses, 600.0))
    last = p.size - int(np.count_nonzero(np.cumsum(p[::-1]) < _NEGLIGIBLE_PROBABILITY))
    begin = min(
        int(np.count_nonzero((np.cumsum(q) < _NEGLIGIBLE_PROBABILITY) | (given.losses < _LOWEST_LOSS))), last - 1
    )
    kept = p[begin:last].copy()
    if not kept.size:
        raise UnprovedError(
            "sampling needs losses that floats can exponentiate, and those of this composition are too large. Use more "
            "noise, or fewer mechanisms."
        )
    infinite = given.infinite
    if upper:
        kept[0] += float(p[:begin].sum())
        infinite += float(p[last:].sum())
    return given._replace(first=given.first + given.step * begin, p=kept, infinite=infinite)

"""Rough picture of a composition, from which grid, tilt and window are chosen.

Nothing here needs to be exact. Whatever is chosen, the bounds of `transform` hold; a bad choice makes them wide.

Whatever is chosen, the bounds of `transform` hold; a bad choice makes them wide.
"""

import math
from collections.abc import Sequence
from copy import copy
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import LossLaw

_POSITIVE_POINTS = np.geomspace(1e-9, 600.0, 600)  # losses at which laws are read
LOSS_POINTS = np.concatenate((-_POSITIVE_POINTS[::-1], [0.0], _POSITIVE_POINTS))
_LARGEST_TILT = 1e5  # of the table
_FADING_EXPONENT = 20.0  # exp(-20) of the weight of losses above the threshold is left at the window's end
_WINDOW_SPREADS = 6.0  # standard deviations of the tilted sum in a window


class Cumulants(NamedTuple):
    """Log moment function of a sum at a tilt, its slope and its curvature."""

    value: float
    mean: float
    variance: float


class _Table(NamedTuple):
    """Cumulants of the tilted sum at each tilt: K, mean, spread.

    tops: the greatest weight of exp(-tilt * loss) in delta. logs: about ln delta at the mean, as if the tilted sum were
    normal.

    logs: about ln delta at the mean, as if the tilted sum were normal.
    """

    tilts: Floats
    values: Floats
    means: Floats
    widths: Floats
    tops: Floats
    logs: Floats


class Pilot:
    """Composition of laws in one direction, each collapsed to about a thousand losses."""

    def __init__(self, laws: Sequence[LossLaw], counts: Sequence[int]) -> None:
        self.counts = np.array(counts, dtype=np.float64)
        stride = 1 if len(laws) <= 4 else 2 if len(laws) <= 12 else 4
        collapsed = [_collapsed(law, stride) for law in laws]
        width = max(losses.size for losses, _ in collapsed)
        self._losses = np.array([np.pad(losses, (0, width - losses.size)) for losses, _ in collapsed])
        self._masses = np.array([np.pad(masses, (0, width - masses.size)) for _, masses in collapsed])
        self._min_variance = 1e-300
        self._min_variance = 1e-5 * self.cumulants(0.0).variance  # of the sum when tilted to its end

    def cut(self, above: Floats) -> "Pilot":
        """Return the composition without the greatest losses.

        They have probability `above` in each law.
        """
        other = copy(self)
        beyond = np.cumsum(self._masses[:, ::-1], axis=1)[:, ::-1]
        kept = (beyond > above[:, None]) | (self._masses == self._masses.max(axis=1, keepdims=True))
        other._masses = np.where(kept, self._masses, 0.0)
        other.__dict__.pop("_table", None)
        return other

    def cumulants(self, tilt: float) -> Cumulants:
        """Return the cumulants of the sum, at one tilt."""
        exponents = tilt * self._losses
        top = np.where(self._masses > 0, exponents, -np.inf).max(axis=1, keepdims=True)
        weights = self._masses * np.exp(np.minimum(exponents - top, 0.0))
        total = weights.sum(axis=1)
        mean = (weights * self._losses).sum(axis=1) / total
        spread = (weights * (self._losses - mean[:, None]) ** 2).sum(axis=1) / total
        value = float(self.counts @ (top[:, 0] + np.log(total)))
        return Cumulants(value, float(self.counts @ mean), max(float(self.counts @ spread), self._min_variance))

    def chernoff(self, epsilon: float) -> tuple[float, float]:
        """Return the tilt at which exp(K - tilt epsilon) bounds delta best.

        Also the logarithm of that bound.
        """
        bounds = self._bounds(epsilon)
        best = int(np.argmin(bounds))
        return float(self._table.tilts[best]), min(float(bounds[best]), 0.0)

    def epsilon_at(self, delta: float) -> float:
        """Return about the epsilon for this delta.

        It is at most the least one for which some tilt bounds delta so.
        """
        proved = float(((self._bounds(0.0) - math.log(delta)) / self._table.tilts).min())
        normal = float(np.interp(-math.log(delta), -self._table.logs, self._table.means))
        return max(min(proved, normal), 0.0)

    def log_delta_at(self, epsilon: float) -> float:
        """Return about ln delta at an epsilon; at most what some tilt proves."""
        normal = float(np.interp(epsilon, self._table.means, self._table.logs))
        return min(self.chernoff(epsilon)[1], normal)

    def tilt(self, epsilon: float, log_delta: float, room: float) -> float:
        """Return the tilt with the narrowest window whose bound is about the best one.

        Or one with a bound of at most exp(room) times delta. A window has to hold the tilted sum, and the weight of
        losses above the threshold until it has faded.

        A window has to hold the tilted sum, and the weight of losses above the threshold until it has faded.
        """
        _, bound = self.chernoff(epsilon)
        allowed = self._bounds(epsilon) <= max(bound + 0.5, log_delta + room)
        windows = np.where(
            allowed, np.maximum(_FADING_EXPONENT / self._table.tilts, _WINDOW_SPREADS * self._table.widths), np.inf
        )
        return float(self._table.tilts[int(np.argmin(windows))])

    def _bounds(self, epsilon: float) -> Floats:
        """Return the logarithm of the bound on delta at each tilt."""
        return self._table.values + self._table.tops - self._table.tilts * epsilon

    @cached_property
    def _table(self) -> _Table:
        """Cumulants at tilts from far below the reciprocal spread and mean upwards."""
        plain = self.cumulants(0.0)
        largest = float(self._losses[self._masses > 0].max(initial=0.0))
        smallest_tilt = 0.05 / max(math.sqrt(plain.variance), plain.mean, largest)
        tilts = np.geomspace(smallest_tilt, max(_LARGEST_TILT, 100 * smallest_tilt), 100)
        values, means, variances = np.zeros((3, tilts.size))
        for losses, masses, count in zip(self._losses, self._masses, self.counts, strict=True):
            present = masses > 0
            exponents = np.outer(tilts, losses[present])
            top = exponents.max(axis=1, keepdims=True)
            weights = masses[present] * np.exp(exponents - top)
            total = weights.sum(axis=1)
            mean = weights @ losses[present] / total
            values += count * (top[:, 0] + np.log(total))
            means += count * mean
            variances += count * np.maximum(weights @ losses[present] ** 2 / total - mean**2, 0.0)
        tops = tilts * np.log(tilts) - (1 + tilts) * np.log1p(tilts)
        widths = np.sqrt(np.maximum(variances, self._min_variance))
        logs = values - tilts * means + np.log(_normal_delta(tilts, widths))
        return _Table(tilts, values, np.maximum.accumulate(means), widths, tops, np.minimum.accumulate(logs))

    def one_jump(self, epsilon: float) -> tuple[float, float]:
        """Return the part of delta from single losses above `epsilon`, roughly.

        Also -d ln / d epsilon of it.
        """
        ratios = np.exp(np.minimum(epsilon - self._losses, 0.0))
        gains = float(self.counts @ (self._masses * (1 - ratios)).sum(axis=1))
        steep = float(self.counts @ (self._masses * np.where(self._losses > epsilon, ratios, 0.0)).sum(axis=1))
        return gains, steep / gains if gains > 0 else math.inf


def span(law: LossLaw, above: float, below: float) -> tuple[float, float]:
    """Return losses between which all but about `below` and `above` of the law lies."""
    low = max(law.lowest, -600.0)
    high = min(law.highest, 600.0)
    tails, lower = _tails(law)
    fitting = LOSS_POINTS[tails <= above]
    high = min(high, float(fitting[0]) if fitting.size else high)
    fitting = LOSS_POINTS[lower <= below]
    low = max(low, float(fitting[-1]) if fitting.size else low)
    return min(low, high), high


@lru_cache(maxsize=128)
def _tails(law: LossLaw) -> tuple[Floats, Floats]:
    """Return P(L > l) and P(L <= l) at all points."""
    return law.above(LOSS_POINTS).p, law.below(LOSS_POINTS).p


def _normal_delta(tilts: Floats, widths: Floats) -> Floats:
    """Return E exp(-tilt X) max(0, 1 - exp(-X)) for X normal with mean 0."""
    from scipy.special import erfcx

    first, second = (erfcx((tilts + more) * widths / math.sqrt(2)) / 2 for more in (0, 1))
    return np.asarray(np.maximum(first - second, 1e-300))


def _collapsed(law: LossLaw, stride: int) -> tuple[Floats, Floats]:
    """Return mean losses and masses of the bins between every `stride`-th point."""
    points = LOSS_POINTS[::stride]
    if math.isfinite(law.highest) and math.isfinite(law.lowest):
        inner = np.linspace(law.lowest, law.highest, 256 // stride + 1)
        points = np.unique(np.concatenate((points, inner, [np.nextafter(law.highest, -np.inf)])))
    upper = law.above(points)
    lower = law.below(points)
    left = points <= 0
    p = np.where(left[1:], np.diff(lower.p), -np.diff(upper.p))
    q = np.where(left[1:], np.diff(lower.q), -np.diff(upper.q))
    kept = (p > 0) & (q > 0)
    ends = (points[:-1][kept], points[1:][kept])
    return np.clip(np.log(p[kept] / q[kept]), *ends), p[kept]

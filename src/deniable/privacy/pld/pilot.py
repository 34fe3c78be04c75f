"""A rough picture of a composition, from which grid, tilt and window are chosen. Nothing here needs to be exact.

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

_SIDE = np.geomspace(1e-9, 600.0, 600)
POINTS = np.concatenate((-_SIDE[::-1], [0.0], _SIDE))
_LARGEST_TILT = 1e5
_FADED = 20.0
_SPREADS = 6.0


class Cumulants(NamedTuple):
    """Log moment function of a sum at a tilt, its slope and its curvature."""

    value: float
    mean: float
    variance: float


class _Table(NamedTuple):
    """At each tilt: K, mean and spread of the tilted sum, and the greatest weight of exp(-tilt * loss) in delta.

    logs: about ln delta at the mean, as if the tilted sum were normal.
    """

    tilts: Floats
    values: Floats
    means: Floats
    widths: Floats
    tops: Floats
    logs: Floats


class Pilot:
    """A composition of laws in one direction, each collapsed to about a thousand losses."""

    def __init__(self, laws: Sequence[LossLaw], counts: Sequence[int]) -> None:
        self.counts = np.array(counts, dtype=np.float64)
        stride = 1 if len(laws) <= 4 else 2 if len(laws) <= 12 else 4
        collapsed = [_collapsed(law, stride) for law in laws]
        width = max(losses.size for losses, _ in collapsed)
        self._losses = np.array([np.pad(losses, (0, width - losses.size)) for losses, _ in collapsed])
        self._masses = np.array([np.pad(masses, (0, width - masses.size)) for _, masses in collapsed])
        self._least = 1e-300
        self._least = 1e-5 * self.cumulants(0.0).variance  # of the sum when tilted to its end

    def cut(self, above: Floats) -> "Pilot":
        """The same without the greatest losses, which have probability `above` in each law."""
        other = copy(self)
        beyond = np.cumsum(self._masses[:, ::-1], axis=1)[:, ::-1]
        kept = (beyond > above[:, None]) | (self._masses == self._masses.max(axis=1, keepdims=True))
        other._masses = np.where(kept, self._masses, 0.0)
        other.__dict__.pop("_table", None)
        return other

    def cumulants(self, tilt: float) -> Cumulants:
        """Cumulants of the sum, at one tilt."""
        exponents = tilt * self._losses
        top = np.where(self._masses > 0, exponents, -np.inf).max(axis=1, keepdims=True)
        weights = self._masses * np.exp(np.minimum(exponents - top, 0.0))
        total = weights.sum(axis=1)
        mean = (weights * self._losses).sum(axis=1) / total
        spread = (weights * (self._losses - mean[:, None]) ** 2).sum(axis=1) / total
        value = float(self.counts @ (top[:, 0] + np.log(total)))
        return Cumulants(value, float(self.counts @ mean), max(float(self.counts @ spread), self._least))

    def chernoff(self, epsilon: float) -> tuple[float, float]:
        """The tilt at which exp(K - tilt epsilon) bounds delta best, and the logarithm of that bound."""
        bounds = self._bounds(epsilon)
        best = int(np.argmin(bounds))
        return float(self._table.tilts[best]), min(float(bounds[best]), 0.0)

    def epsilon_at(self, delta: float) -> float:
        """About the epsilon for this delta; at most the least one for which some tilt bounds delta so."""
        proved = float(((self._bounds(0.0) - math.log(delta)) / self._table.tilts).min())
        near = float(np.interp(-math.log(delta), -self._table.logs, self._table.means))
        return max(min(proved, near), 0.0)

    def log_delta_at(self, epsilon: float) -> float:
        """About ln delta at an epsilon; at most what some tilt proves."""
        near = float(np.interp(epsilon, self._table.means, self._table.logs))
        return min(self.chernoff(epsilon)[1], near)

    def tilt(self, epsilon: float, log_delta: float, room: float) -> float:
        """The tilt with the narrowest window whose bound is about the best one, or at most exp(room) times delta.

        A window has to hold the tilted sum, and the weight of losses above the threshold until it has faded.
        """
        _, bound = self.chernoff(epsilon)
        allowed = self._bounds(epsilon) <= max(bound + 0.5, log_delta + room)
        windows = np.where(allowed, np.maximum(_FADED / self._table.tilts, _SPREADS * self._table.widths), np.inf)
        return float(self._table.tilts[int(np.argmin(windows))])

    def _bounds(self, epsilon: float) -> Floats:
        """The logarithm of the bound on delta at each tilt."""
        return self._table.values + self._table.tops - self._table.tilts * epsilon

    @cached_property
    def _table(self) -> _Table:
        """At tilts from far below the reciprocal spread and mean upwards."""
        plain = self.cumulants(0.0)
        largest = float(self._losses[self._masses > 0].max(initial=0.0))
        least = 0.05 / max(math.sqrt(plain.variance), plain.mean, largest)
        tilts = np.geomspace(least, max(_LARGEST_TILT, 100 * least), 100)
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
        widths = np.sqrt(np.maximum(variances, self._least))
        logs = values - tilts * means + np.log(_normal_delta(tilts, widths))
        return _Table(tilts, values, np.maximum.accumulate(means), widths, tops, np.minimum.accumulate(logs))

    def one_jump(self, epsilon: float) -> tuple[float, float]:
        """What single losses above `epsilon` contribute, about a lower bound on delta; and -d ln / d epsilon of it."""
        odds = np.exp(np.minimum(epsilon - self._losses, 0.0))
        gains = float(self.counts @ (self._masses * (1 - odds)).sum(axis=1))
        steep = float(self.counts @ (self._masses * np.where(self._losses > epsilon, odds, 0.0)).sum(axis=1))
        return gains, steep / gains if gains > 0 else math.inf


def span(law: LossLaw, above: float, below: float) -> tuple[float, float]:
    """Losses between which all but about `below` and `above` of the law lies."""
    low, high = max(law.lowest, -600.0), min(law.highest, 600.0)
    tails, lower = _tails(law)
    fitting = POINTS[tails <= above]
    high = min(high, float(fitting[0]) if fitting.size else high)
    fitting = POINTS[lower <= below]
    low = max(low, float(fitting[-1]) if fitting.size else low)
    return min(low, high), high


@lru_cache(maxsize=128)
def _tails(law: LossLaw) -> tuple[Floats, Floats]:
    """P(L > l) and P(L <= l) at all points."""
    return law.above(POINTS).p, law.below(POINTS).p


def _normal_delta(tilts: Floats, widths: Floats) -> Floats:
    """E exp(-tilt X) max(0, 1 - exp(-X)) for X normal with mean 0."""
    from scipy.special import erfcx

    first, second = (erfcx((tilts + more) * widths / math.sqrt(2)) / 2 for more in (0, 1))
    return np.asarray(np.maximum(first - second, 1e-300))


def _collapsed(law: LossLaw, stride: int) -> tuple[Floats, Floats]:
    """Mean losses and masses of the bins between every `stride`-th point."""
    points = POINTS[::stride]
    if math.isfinite(law.highest) and math.isfinite(law.lowest):
        inner = np.linspace(law.lowest, law.highest, 256 // stride + 1)
        points = np.unique(np.concatenate((points, inner, [np.nextafter(law.highest, -np.inf)])))
    upper, lower = law.above(points), law.below(points)
    left = points <= 0
    p = np.where(left[1:], np.diff(lower.p), -np.diff(upper.p))
    q = np.where(left[1:], np.diff(lower.q), -np.diff(upper.q))
    kept = (p > 0) & (q > 0)
    ends = (points[:-1][kept], points[1:][kept])
    return np.clip(np.log(p[kept] / q[kept]), *ends), p[kept]

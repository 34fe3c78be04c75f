"""A rough picture of a composition, from which grid, tilt and window are chosen. Nothing here needs to be exact.

Whatever is chosen, the bounds of `transform` hold; a bad choice makes them wide.
"""

import math
from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from deniable.privacy.pld.law import Floats, LossLaw

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
        self._table()

    def cut(self, above: Floats) -> "Pilot":
        """The same without the greatest losses, which have probability `above` in each law."""
        other = copy(self)
        beyond = np.cumsum(self._masses[:, ::-1], axis=1)[:, ::-1]
        kept = (beyond > above[:, None]) | (self._masses == self._masses.max(axis=1, keepdims=True))
        other._masses = np.where(kept, self._masses, 0.0)
        other._table()
        return other

    def cumulants(self, tilt: float) -> Cumulants:
        """Of the sum, at one tilt."""
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
        bounds = self._values + self._tops - self._tilts * epsilon
        best = int(np.argmin(bounds))
        return float(self._tilts[best]), min(float(bounds[best]), 0.0)

    def epsilon_at(self, delta: float) -> float:
        """The least epsilon for which some tilt bounds delta so; somewhat above the true one."""
        return max(float(((self._values + self._tops - math.log(delta)) / self._tilts).min()), 0.0)

    def tilt(self, epsilon: float, log_delta: float, room: float) -> float:
        """The tilt with the narrowest window whose bound is about the best one, or at most exp(room) times delta.

        A window has to hold the tilted sum, and the weight of losses above the threshold until it has faded.
        """
        _, bound = self.chernoff(epsilon)
        allowed = self._values + self._tops - self._tilts * epsilon <= max(bound + 0.5, log_delta + room)
        windows = np.where(allowed, np.maximum(_FADED / self._tilts, _SPREADS * self._widths), np.inf)
        return float(self._tilts[int(np.argmin(windows))])

    def _table(self) -> None:
        """K, its curvature, and the greatest weight, at tilts from far below the reciprocal spread and mean upwards."""
        plain = self.cumulants(0.0)
        largest = float(self._losses[self._masses > 0].max(initial=0.0))
        least = 0.05 / max(math.sqrt(plain.variance), plain.mean, largest)
        self._tilts = np.geomspace(least, max(_LARGEST_TILT, 100 * least), 100)
        values, variances = np.zeros(self._tilts.size), np.zeros(self._tilts.size)
        for losses, masses, count in zip(self._losses, self._masses, self.counts, strict=True):
            present = masses > 0
            exponents = np.outer(self._tilts, losses[present])
            top = exponents.max(axis=1, keepdims=True)
            weights = masses[present] * np.exp(exponents - top)
            total = weights.sum(axis=1)
            mean = weights @ losses[present] / total
            values += count * (top[:, 0] + np.log(total))
            variances += count * np.maximum(weights @ losses[present] ** 2 / total - mean**2, 0.0)
        self._values, self._widths = values, np.sqrt(np.maximum(variances, self._least))
        self._tops = self._tilts * np.log(self._tilts) - (1 + self._tilts) * np.log1p(self._tilts)

    def one_jump(self, epsilon: float) -> tuple[float, float]:
        """What single losses above `epsilon` contribute, about a lower bound on delta; and -d ln / d epsilon of it."""
        odds = np.exp(np.minimum(epsilon - self._losses, 0.0))
        gains = float(self.counts @ (self._masses * (1 - odds)).sum(axis=1))
        steep = float(self.counts @ (self._masses * np.where(self._losses > epsilon, odds, 0.0)).sum(axis=1))
        return gains, steep / gains if gains > 0 else math.inf


def span(law: LossLaw, above: float, below: float) -> tuple[float, float]:
    """Losses between which all but about `below` and `above` of the law lies."""
    low, high = max(law.lowest, -600.0), min(law.highest, 600.0)
    tails = law.above(POINTS).p
    fitting = POINTS[tails <= above]
    high = min(high, float(fitting[0]) if fitting.size else high)
    tails = law.below(POINTS).p
    fitting = POINTS[tails <= below]
    low = max(low, float(fitting[-1]) if fitting.size else low)
    return min(low, high), high


def _collapsed(law: LossLaw, stride: int) -> tuple[Floats, Floats]:
    """Mean losses and masses of the bins between every so many points."""
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

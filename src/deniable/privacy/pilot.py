"""A rough picture of a composition, from which grid, tilt and window are chosen. Nothing here needs to be exact.

Whatever is chosen, the bounds of `transform` hold; a bad choice makes them wide.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from deniable.privacy.law import Floats, LossLaw

_SIDE = np.geomspace(1e-9, 600.0, 600)
_POINTS = np.concatenate((-_SIDE[::-1], [0.0], _SIDE))
_LARGEST_TILT = 1e5


class Cumulants(NamedTuple):
    """Log moment function of a sum at a tilt, its slope and its curvature."""

    value: float
    mean: float
    variance: float


class Pilot:
    """A composition of laws in one direction, each collapsed to about a thousand losses."""

    def __init__(self, laws: Sequence[LossLaw], counts: Sequence[int]) -> None:
        self.counts = np.array(counts, dtype=np.float64)
        collapsed = [_collapsed(law) for law in laws]
        width = max(losses.size for losses, _ in collapsed)
        self._losses = np.array([np.pad(losses, (0, width - losses.size)) for losses, _ in collapsed])
        self._masses = np.array([np.pad(masses, (0, width - masses.size)) for _, masses in collapsed])
        self._least = 1e-300
        self._least = 1e-5 * self.cumulants(0.0).variance  # of the sum when tilted to its end

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

    def tilt_for_epsilon(self, epsilon: float) -> float:
        """The tilt at which the sum has mean `epsilon`, or the least one that is used."""
        least = min(self._least_tilt(), 0.5 / max(self.cumulants(0.0).mean - epsilon, 1e-9))
        return _root(lambda tilt: self.cumulants(tilt).mean - epsilon, least)

    def tilt_for_delta(self, delta: float) -> float:
        """The tilt whose mean has about this delta."""
        goal = math.log(delta)
        return _root(lambda tilt: goal - self.log_delta(tilt), self._least_tilt())

    def log_delta(self, tilt: float) -> float:
        """ln delta at the mean of the tilted sum, were that sum normal (exact for Gaussian noise)."""
        from scipy.special import erfcx

        at = self.cumulants(tilt)
        spread = math.sqrt(at.variance)
        share = float(erfcx(tilt * spread / math.sqrt(2)) - erfcx((tilt + 1) * spread / math.sqrt(2))) / 2
        return at.value - tilt * at.mean + math.log(max(share, 1e-300))

    def reach(self, tilt: float, unlikely: float) -> tuple[float, float, float, float]:
        """Start and end of where all but `unlikely` of the tilted sum lies, and the Chernoff rates that show it."""
        at = self.cumulants(tilt)
        goal = -math.log(unlikely)
        typical = math.sqrt(2 * goal / at.variance)
        end, rise = self._edge(at, tilt, goal, typical, 1.0)
        start, fall = self._edge(at, tilt, goal, typical, -1.0)
        return start, end, rise, fall

    def _edge(self, at: Cumulants, tilt: float, goal: float, typical: float, sign: float) -> tuple[float, float]:
        """The nearest edge that a Chernoff bound proves, and its rate."""
        best, best_rate = math.inf, typical
        for factor in (0.0625, 0.125, 0.25, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 4.0):
            rate = typical * factor
            edge = (self.cumulants(tilt + sign * rate).value - at.value + goal) / rate
            if edge < best:
                best, best_rate = edge, rate
        return sign * best, best_rate

    def _least_tilt(self) -> float:
        """Moves the mean by half a spread. Weights that do not fall would let in the errors of the whole window."""
        return 0.5 / math.sqrt(self.cumulants(0.0).variance)


def span(law: LossLaw, above: float, below: float) -> tuple[float, float]:
    """Losses between which all but about `below` and `above` of the law lies."""
    low, high = max(law.lowest, -600.0), min(law.highest, 600.0)
    tails = law.above(_POINTS).p
    fitting = _POINTS[tails <= above]
    high = min(high, float(fitting[0]) if fitting.size else high)
    tails = law.below(_POINTS).p
    fitting = _POINTS[tails <= below]
    low = max(low, float(fitting[-1]) if fitting.size else low)
    return min(low, high), high


def _collapsed(law: LossLaw) -> tuple[Floats, Floats]:
    """Mean losses and masses of the bins between the points."""
    points = _POINTS
    if math.isfinite(law.highest) and math.isfinite(law.lowest):
        inner = np.linspace(law.lowest, law.highest, 257)
        points = np.unique(np.concatenate((points, inner, [np.nextafter(law.highest, -np.inf)])))
    upper, lower = law.above(points), law.below(points)
    left = points <= 0
    p = np.where(left[1:], np.diff(lower.p), -np.diff(upper.p))
    q = np.where(left[1:], np.diff(lower.q), -np.diff(upper.q))
    kept = (p > 0) & (q > 0)
    ends = (points[:-1][kept], points[1:][kept])
    return np.clip(np.log(p[kept] / q[kept]), *ends), p[kept]


def _root(excess: Callable[[float], float], least: float) -> float:
    """Where an increasing function of the tilt crosses 0, between `least` and a large number; to a few digits."""
    below = least
    low = excess(below)
    if low >= 0:
        return below
    above = 4 * below
    high = excess(above)
    while high < 0 and above < _LARGEST_TILT:
        below, low, above = above, high, 4 * above
        high = excess(above)
    if high < 0:
        return above
    for _ in range(60):
        if above - below <= 1e-3 * above:
            break
        share = min(max(low / (low - high), 0.1), 0.9)
        middle = below + share * (above - below)
        value = excess(middle)
        if value < 0:
            below, low = middle, value
        else:
            above, high = middle, value
    return above

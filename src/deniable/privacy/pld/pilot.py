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
        self._table()

    def of(self, counts: Sequence[int]) -> "Pilot":
        """The same laws, other counts; for `cumulants` and `reach` alone."""
        other = copy(self)
        other.counts = np.array(counts, dtype=np.float64)
        other._least = self._least * float(other.counts.sum() / self.counts.sum())
        return other

    def cut(self, above: float) -> "Pilot":
        """The same without the greatest losses, which have probability `above` in each law."""
        other = copy(self)
        beyond = np.cumsum(self._masses[:, ::-1], axis=1)[:, ::-1]
        kept = (beyond > above) | (self._masses == self._masses.max(axis=1, keepdims=True))
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

        A tilt beyond the best one only widens the window; a smaller one leaves heavy tails where they are.
        """
        best, bound = self.chernoff(epsilon)
        allowed = self._values - self._tilts * epsilon <= max(bound + 0.5, log_delta + room)
        allowed &= (self._tilts <= best) & (self._tilts >= best / 64)
        allowed |= self._tilts == best
        widths = np.where(allowed, self._widths, np.inf)
        return float(self._tilts[int(np.argmin(widths))])

    def _table(self) -> None:
        """K, its curvature, and the greatest weight, at tilts from far below the reciprocal spread and mean upwards."""
        plain = self.cumulants(0.0)
        largest = float(self._losses[self._masses > 0].max(initial=0.0))
        least = 0.05 / max(math.sqrt(plain.variance), plain.mean, largest)
        self._tilts = np.geomspace(least, max(_LARGEST_TILT, 100 * least), 160)
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

    def one_jump(self, epsilon: float) -> float:
        """The probability that a single loss exceeds `epsilon`, weighed as in delta: about a lower bound on delta."""
        gains = -np.expm1(np.minimum(epsilon - self._losses, 0.0))
        return float(self.counts @ (self._masses * gains).sum(axis=1))

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
        for factor in (0.001, 0.004, 0.016, 0.0625, 0.125, 0.25, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 4.0):
            rate = typical * factor
            edge = (self.cumulants(tilt + sign * rate).value - at.value + goal) / rate
            if edge < best:
                best, best_rate = edge, rate
        return sign * best, best_rate


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

"""Certified trade-off function: false negatives at each false positive rate."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import PROBABILITIES, Interval, round_up
from deniable.privacy.notions.convex import Corner, Point, corners, hits, misses, polygon
from deniable.privacy.pld.accountant import Wish
from deniable.privacy.statement import Statement

_MAX_KNOTS = 400  # values of delta on one curve
_MAX_ATOMS = 256  # losses of a finite pair that are all knots
_MAX_LOSS = 650.0  # which floats can exponentiate
_NUDGE = Fraction(1, 2**44)  # more than the error of a sum of losses, relative to the largest one
_SMALL_HIT = 1e-15  # true positive rate below which the tolerance is absolute, times this
_SMALL_MISS = 0.01  # false negative rate below which the tolerance is absolute, times this


class Rates(NamedTuple):
    """Bounds on one error rate for each rate of the other, in the same order."""

    lower: Floats
    upper: Floats


class _Knot(NamedTuple):
    """Bounds that one evaluation of delta proves, with x = exp(epsilon).

    delta is at least `lower` at x_low, and at most `upper` at x_high; x_low <= x <= x_high.
    """

    epsilon: float
    x_low: Fraction
    x_high: Fraction
    lower: Fraction
    upper: Fraction


class TradeOffCurve:
    """Largest symmetric f for which a loss is f-DP, from delta at several epsilons.

    Guarantee: f(a) = sup over epsilon >= 0 of max(0, 1 - d - e^epsilon a, (1 - d - a) e^-epsilon) with d =
        delta(epsilon). Lower bounds come from any finite set of epsilons, the knots, upper bounds from the convexity of
        delta in e^epsilon; a finite pair has a polygon, real Gaussian noise a closed form.
    Error: the share of hits is known to a relative width of about `tolerance`, where delta is.
    Source: Dong, Roth, Su (2019), arXiv:1905.02383; proofs in docs/theory/privacy/notions.md.
    """

    def __init__(self, loss: Statement, tolerance: float) -> None:
        self.loss, self.tolerance = loss, tolerance
        self.mu_squared = loss.normal_mu_squared
        self._knots: dict[float, _Knot] = {}
        self._linear = False

    def misses(self, rates: Floats) -> Rates:
        """Return bounds on the least false negative rate at each false positive rate."""
        if self.mu_squared is not None:
            return _rates_of([_gaussian_misses(self.mu_squared, rate) for rate in rates.flat], rates.shape)
        self._refine(rates)
        lower = misses([(knot.x_high, knot.upper) for knot in self._sorted()], rates, side=-1)
        upper = misses([(corner.x, corner.delta) for corner in self._certain_corners()], rates, side=+1)
        return Rates(np.minimum(lower, upper), upper)

    def hits(self, rates: Floats) -> Rates:
        """Return bounds on the largest true positive rate at each false positive rate.

        They are sharp also where it is tiny.
        """
        if self.mu_squared is not None:
            return _rates_of([_gaussian_misses(self.mu_squared, rate, hits=True) for rate in rates.flat], rates.shape)
        self._refine(rates)
        upper = hits([(knot.x_high, knot.upper) for knot in self._sorted()], rates, side=+1)
        lower = hits([(corner.x, corner.delta) for corner in self._certain_corners()], rates, side=-1)
        return Rates(np.minimum(lower, upper), upper)

    def corners_below(self, rates: Floats, min_rate: Fraction) -> list[tuple[Fraction, Fraction]]:
        """Return (false positives, false negatives) at corners of a polygon below f.

        The rates are `min_rate` and more, and the polygon is sharp at `rates`.
        """
        self._refine(rates)
        return polygon([(knot.x_high, knot.upper) for knot in self._sorted()], min_rate)

    def _refine(self, rates: Floats) -> None:
        """Add epsilons until corners change hits by less than the tolerance at all rates."""
        if not self._knots:
            self._start()
        settled: set[float] = set()
        while True:
            segment, epsilon, gap = self._worst(rates, settled)
            if gap <= self.tolerance:
                return
            if len(self._knots) >= _MAX_KNOTS:
                if isinstance(self.tolerance, Wish):
                    return
                raise InvalidParameterError(
                    f"tolerance={self.tolerance:g} cannot be reached with {_MAX_KNOTS} values of delta: the true "
                    f"positive rate is known to a relative width of {gap:.2g}. Ask for a larger tolerance."
                )
            if not self._split(segment, epsilon):
                settled.add(self._sorted()[segment].epsilon)

    def _start(self) -> None:
        """Add the ends of the curve, and for a finite pair all of its losses.

        Between these delta is linear in exp(epsilon).
        """
        self._add(0.0)
        losses = _atoms(self.loss)
        if losses is not None:
            self._linear = True
            nudge = _NUDGE * Fraction(float(np.max(np.abs(losses))))
            for loss in losses[losses > float(nudge)]:
                self._add(float(loss), nudge=nudge)
            return
        limit = self.loss.failing_epsilon
        end = min(1.0, float(limit)) if limit is not None else 1.0
        if end > 0:
            self._add(end)

    def _worst(self, rates: Floats, settled: set[float]) -> tuple[int, float, float]:
        """Return (segment, epsilon, gap) of the corner with the largest relative gap.

        Segments in `settled` are skipped.
        """
        worst = (0, 0.0, 0.0)
        knots = self._sorted()
        for points in ([(k.x_low, k.lower) for k in knots], [(k.x_high, k.upper) for k in knots]):
            known = hits(points, rates, side=-1)
            inner = [
                corner
                for corner in self._corners(points, points)
                if corner.segment >= 0 and knots[corner.segment].epsilon not in settled
            ]
            if not inner:
                continue
            lines = np.stack([hits([(corner.x, corner.delta)], rates, side=-1) for corner in inner])
            best = np.min(lines, axis=0)
            gaps = (known - best) / np.clip(np.minimum(known, np.maximum(1 - best, _SMALL_MISS)), _SMALL_HIT, 1.0)
            index = int(np.argmax(gaps))
            if gaps[index] > worst[2]:
                corner = inner[int(np.argmin(lines[:, index]))]
                worst = (corner.segment, math.log(corner.x), float(gaps[index]))
        return worst

    def _split(self, segment: int, epsilon: float) -> bool:
        """Add a knot near `epsilon`, well inside its segment; return False without room."""
        knots = self._sorted()
        before = len(self._knots)
        start = knots[segment].epsilon
        if segment == len(knots) - 1:
            limit = self.loss.pure_epsilon
            max_epsilon = min(_MAX_LOSS, round_up(limit)) if limit is not None else _MAX_LOSS
            trial = min(max(epsilon, start + 0.1), 2 * start + 1, max_epsilon)
            if start < trial:
                self._add(trial)
        else:
            end = knots[segment + 1].epsilon
            width = end - start
            if width > 1e-9 * max(end, 1e-3):
                self._add(min(max(epsilon, start + 0.15 * width), end - 0.15 * width))
        return len(self._knots) > before

    def _add(self, epsilon: float, *, nudge: Fraction = Fraction(0)) -> None:
        """Add a knot at epsilon, or beside it where delta cannot be computed.

        That is so at the edge of the greatest loss.
        """
        for position in (epsilon, epsilon * (1 + 1e-9), epsilon * (1 + 1e-6)):
            bounds = self.curve(Fraction(position) + nudge)
            if bounds is not None:
                break
        else:
            bounds = self.loss.infinite_mass, min((knot.upper for knot in self._knots.values()), default=Fraction(1))
        if position == 0:
            self._knots[position] = _Knot(position, Fraction(1), Fraction(1), *bounds)
            return
        grown = Fraction(math.exp(position))
        off = Fraction(1, 2**51) + 2 * nudge
        self._knots[position] = _Knot(position, grown * (1 - off), grown * (1 + off), *bounds)

    def curve(self, epsilon: Fraction) -> tuple[Fraction, Fraction] | None:
        """Return delta, as sharp as the tolerance asks, or as sharp as possible."""
        limit = self.loss.pure_epsilon
        if limit is not None and epsilon >= limit:
            return Fraction(0), Fraction(0)
        for tolerance in (self.tolerance / 4, self.tolerance, 0.1, 1.0):
            try:
                delta = self.loss.delta_within(epsilon, tolerance)
            except InvalidParameterError:
                continue
            return Fraction(delta.lower), Fraction(delta.upper)
        return None

    def _sorted(self) -> list[_Knot]:
        return [self._knots[epsilon] for epsilon in sorted(self._knots)]

    def _certain_corners(self) -> list[Corner]:
        """Return the corners of the least curve that the knots allow."""
        knots = self._sorted()
        return self._corners([(k.x_low, k.lower) for k in knots], [(k.x_high, k.upper) for k in knots])

    def _corners(self, points: list[Point], tops: list[Point]) -> list[Corner]:
        if self._linear:
            return [Corner(x, delta, -1) for x, delta in points]
        return corners(points, tops, self.loss.infinite_mass)


def _atoms(loss: Statement) -> Floats | None:
    """Return the losses of a finite pair with one law in both directions, or None.

    Each is known to 2^-48 of the largest.
    """
    sums = np.zeros(1)
    for pairs, count in loss.laws_of_runs(1):
        if pairs is None or any(law is not pairs.upper[0] for law in (*pairs.upper, *pairs.lower)):
            return None
        atoms = pairs.upper[0].atoms()
        if atoms is None or count * (atoms.losses.size - 1) >= _MAX_ATOMS:
            return None
        for _ in range(count):
            sums = _distinct(np.add.outer(sums, atoms.losses).ravel())
            if sums.size > _MAX_ATOMS:
                return None
    return sums if np.max(np.abs(sums)) <= _MAX_LOSS else None


def _distinct(losses: Floats) -> Floats:
    """Return the losses in order; those equal up to rounding are taken as one."""
    ordered = np.sort(losses)
    apart = np.diff(ordered) > 2.0**-50 * np.max(np.abs(ordered))
    kept: Floats = ordered[np.append(True, apart)]
    return kept


def _gaussian_misses(mu_squared: Fraction, rate: float, *, hits: bool = False) -> Interval:
    """Return Phi(Phi^-1(1 - rate) - mu), or one minus it."""
    share = Fraction(float(rate))
    if share in (0, 1):
        missed = share == 0
        return Interval(1.0, 1.0) if missed != hits else Interval(0.0, 0.0)

    def formula() -> Arb:
        from flint import arb

        quantile = arb(2).sqrt() * (1 - 2 * ball(share)).erfinv() - ball(mu_squared).sqrt()
        return ((quantile if hits else -quantile) / arb(2).sqrt()).erfc() / 2

    return certified(formula, within=PROBABILITIES)


def _rates_of(intervals: list[Interval], shape: tuple[int, ...]) -> Rates:
    lower, upper = ([getattr(item, end) for item in intervals] for end in ("lower", "upper"))
    return Rates(np.array(lower).reshape(shape), np.array(upper).reshape(shape))

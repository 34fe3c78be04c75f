"""Private tuning: the loss of the best of a random number of private runs."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Annotated, ClassVar

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, Interval
from deniable.numbers.rationals import Real, decimal_above, exact_rational, positive_rational, within_floats
from deniable.privacy.losses.approximate import mixed_with_failure
from deniable.privacy.losses.pure import pure_delta
from deniable.privacy.notions.conversion import ORDERS, delta_of_divergences
from deniable.privacy.notions.gaussian_dp import DIGITS
from deniable.privacy.notions.renyi import upper_divergence
from deniable.privacy.pld.curve_law import pairs_above
from deniable.privacy.pld.law import Pairs
from deniable.privacy.relation import Relation
from deniable.privacy.statement import Stated, Statement, statement_of

Point = tuple[Fraction, Fraction]  # an epsilon of the base and its delta

_CURVE_POINTS = 24  # of the curve of the base
_REFINEMENTS = 10  # of the best of these points
_POINTS_ABOVE = 192  # of a curve that is composed
_NEGLIGIBLE_DELTA = 1e-12  # at which the curve of the base ends
_CERTIFIED_POINTS = 2  # for each delta; every point gives a bound, and these give the least


class SelectedStatement(Statement):
    """Loss of the best of a random number K of independent runs of `base`.

    "Best" is any public order of what the runs release. With g(x) = E[x^K], every point (e, d) of the curve of the base
    gives the point (e + growth, E[K] d), where e^growth bounds g'(a)/g'(b) over all probabilities a, b that an event
    and the base allow.

    "Best" is any public order of what the runs release. With g(x) = E[x^K], every point (e, d) of the curve of the base
    gives the point (e + growth, E[K] d), where e^growth bounds g'(a)/g'(b) over all probabilities a, b that an event
    and the base allow.
    """

    base: Statement

    @property
    @abstractmethod
    def mean_runs(self) -> Interval:
        """Mean number of runs, E[K]."""

    @abstractmethod
    def _growth(self, point: Point) -> float:
        """Return the growth for a base of which this point is known, rounded up."""

    @property
    @abstractmethod
    def _some(self) -> Arb:
        """Probability P(K >= 1), at the working precision."""

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta at `epsilon`, by the best points of the curve of the base."""
        left = epsilon - self._least_growth
        nearest = sorted((self._about(point, epsilon), point) for point in self._known if point[0] > left)
        upper = min((self._beyond(point, epsilon) for _, point in nearest[:_CERTIFIED_POINTS]), default=1.0)
        if left >= 0:
            upper = min(upper, self._scaled(Fraction(self.base.curve(left).upper)))
        if self.failing_epsilon is not None:
            upper = min(upper, mixed_with_failure(pure_delta(self.failing_epsilon, epsilon), self.failure).upper)
        lower = certified(lambda: self._some * ball(Fraction(self.base.curve(epsilon).lower))).lower
        return Interval(min(lower, upper), upper)

    def _about(self, point: Point, epsilon: Fraction) -> float:
        """Return `_beyond` in floats, to choose the points whose bound is certified."""
        moved = float(point[0] + self._least_growth)
        failed = min(self.mean_runs.upper * float(point[1]), 1.0)
        within = -math.expm1(min(float(epsilon) - moved, 0.0)) / (1 + math.exp(-moved))
        return failed + (1 - failed) * within

    def _beyond(self, point: Point, epsilon: Fraction) -> float:
        """Return delta of any mechanism with the point that follows from this one."""
        moved = point[0] + self._least_growth
        failed = Fraction(self._scaled(point[1]))
        return mixed_with_failure(pure_delta(moved, epsilon), failed).upper

    def _scaled(self, delta: Fraction) -> float:
        """Return E[K] delta, rounded up."""
        return min(Interval.around(Fraction(self.mean_runs.upper) * delta).upper, 1.0)

    @cached_property
    def _known(self) -> list[Point]:
        """Points above the curve of the base, from 0 to where it ends."""
        limit = self.base.failing_epsilon
        top = Fraction(1, 8)
        while limit is None and top < 512 and self._point(top)[1] > _NEGLIGIBLE_DELTA:
            top *= 2
        top = top if limit is None else limit
        points = [self._point(top * Fraction(index, _CURVE_POINTS)) for index in range(_CURVE_POINTS + 1)]
        return points if limit is None else [*points[:-1], (limit, self.base.failure)]

    def _point(self, epsilon: Fraction) -> Point:
        """Return a point of the curve of the base."""
        return epsilon, Fraction(self.base.curve(epsilon).upper)

    @cached_property
    def _least_growth(self) -> Fraction:
        """Growth for the point at which it is least."""
        best = min(self._known, key=self._growth)
        least_growth = self._growth(best)
        width = self._known[1][0]
        for _ in range(_REFINEMENTS):
            width /= 2
            for nearer in (best[0] - width, best[0] + width):
                if nearer >= 0:
                    point = self._point(nearer)
                    growth = self._growth(point)
                    if growth < least_growth:
                        best, least_growth = point, growth
                        break
        return Fraction(least_growth)

    def laws(self) -> Pairs | None:
        """Return laws from points of the curve; nothing is known from below."""
        return self._laws

    @cached_property
    def _laws(self) -> Pairs | None:
        return pairs_above(self.upper_delta, self.failing_epsilon, _POINTS_ABOVE)

    @property
    def relations(self) -> frozenset[Relation]:
        return self.base.relations

    @property
    def failure(self) -> Fraction:
        """Failure of the base times E[K]."""
        if not self.base.failure:
            return Fraction(0)
        return min(decimal_above(Fraction(self.mean_runs.upper) * self.base.failure, DIGITS), Fraction(1))

    @property
    def failing_epsilon(self) -> Fraction | None:
        """Epsilon of the base plus the growth at its end."""
        limit = self.base.failing_epsilon
        if limit is None:
            return None
        return decimal_above(limit + Fraction(self._growth((limit, self.base.failure))), DIGITS)


@dataclass(frozen=True, init=False, repr=False)
class BestOfStatement(SelectedStatement):
    """Loss of the best of K runs of a mechanism, K truncated negative binomial.

    P(K = k) is proportional to (1 - stop)^k (shape)(shape + 1)...(shape + k - 1)/k! for k >= 1: geometric for shape 1,
    where every run is the last one with probability `stop`; logarithmic for shape 0.

    Args:
        base: the loss of one run.
        stop: in (0, 1); the smaller, the more runs.
        shape: above -1; the smaller, the less is lost, and the less sure is a large number of runs.

    Guarantee: an epsilon-DP base gives epsilon + (1 + shape) ln((e^epsilon + stop)/(1 + stop e^epsilon)), which is
        below (2 + shape) epsilon, 3 epsilon for the geometric law, and is attained. (e, d)-DP gives E[K] d at e + (1 +
        shape) ln max(1 + (1 - stop) d/stop, (e^e + stop + (1 - stop) d)/(1 + stop e^e - (1 - stop) d)), where the two e
        and the two d may be of different points of the curve.
    Source: Liu, Talwar (2019), arXiv:1811.07971; Papernot, Steinke (2022), arXiv:2110.03620; the bounds by curves, as
        Koskela, Redberg, Wang (2024), arXiv:2402.06701, have them, and sharper: proof in docs/theory/privacy/tuning.md.

    >>> from deniable.privacy import BestOfLoss, PureLoss
    >>> print(f"{BestOfLoss(PureLoss('0.1'), stop='0.01').epsilon(0).upper:.3f}")
    0.296
    """

    kind: ClassVar[str] = "best_of"
    base: Annotated[Statement, statement_of]
    stop: Annotated[Fraction, positive_rational]
    shape: Fraction

    def __init__(self, base: Stated, stop: Real, shape: Real = 1) -> None:
        read_fields(self, base=base, stop=stop, shape=within_floats("shape", exact_rational("shape", shape)))
        if self.stop >= 1:
            raise InvalidParameterError(f"stop must be in (0, 1), got {stop!r}. For one run use the loss of the base.")
        if self.shape <= -1:
            raise InvalidParameterError(f"shape must be > -1, got {shape!r}")

    @property
    def mean_runs(self) -> Interval:
        return self._mean_runs

    @cached_property
    def _mean_runs(self) -> Interval:
        def formula() -> Arb:
            stop, shape = ball(self.stop), ball(self.shape)
            if self.shape == 0:
                return (1 / stop - 1) / -stop.log()
            return shape * (1 - stop) / (stop * -(shape * stop.log()).expm1())

        return certified(formula, within=Interval(1.0, math.inf))

    def _growth(self, point: Point) -> float:
        """Return (1 + shape) ln of the greatest ratio at the corners, rounded up."""
        if not any(point):
            return 0.0

        def formula() -> Arb:
            stop = ball(self.stop)
            exp_epsilon = ball(point[0]).exp()
            failed = ball(min(point[1], Fraction(1)))
            spare = (1 - stop) * failed
            corner = (exp_epsilon + stop + spare) / (1 + stop * exp_epsilon - spare)
            return (1 + ball(self.shape)) * corner.max(1 + spare / stop).log()

        return certified(formula, within=NONNEGATIVE).upper

    @property
    def _some(self) -> Arb:
        return ball(Fraction(1))

    @property
    def infinite_mass(self) -> Fraction:
        return self.base.infinite_mass


@dataclass(frozen=True, init=False, repr=False)
class BestOfPoissonStatement(SelectedStatement):
    """Loss of the best of K runs of a mechanism, K Poisson; K = 0 releases nothing.

    Args:
        base: the loss of one run.
        mean: the mean number of runs.

    Guarantee: with t = delta(0) of the base, an epsilon-DP base gives epsilon + mean t, where t is at most
        tanh(epsilon/2); (e, d)-DP gives mean d at e + mean t. A run with the divergence D_a of order a gives D_a + mean
        delta(ln(a/(a - 1))) + ln(mean)/(a - 1), and a little more for the case K = 0.
    Source: Papernot, Steinke (2022), arXiv:2110.03620; proof in docs/theory/privacy/tuning.md.
    """

    kind: ClassVar[str] = "best_of_poisson"
    base: Annotated[Statement, statement_of]
    mean: Annotated[Fraction, positive_rational]

    def __init__(self, base: Stated, mean: Real) -> None:
        read_fields(self, base=base, mean=mean)

    @property
    def mean_runs(self) -> Interval:
        return Interval.around(self.mean)

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta by curves and, for unbounded losses of a run, by divergences."""
        known = super().curve(epsilon)
        if self.base.failing_epsilon is not None:
            return known
        upper = min(known.upper, delta_of_divergences(self._divergences_known, epsilon))
        return Interval(min(known.lower, upper), upper)

    @cached_property
    def _divergences_known(self) -> list[tuple[Fraction, Fraction]]:
        """Divergences of several orders a.

        They are ln(e^-mean + mean e^((a - 1) (D_a + mean delta(ln(a/(a - 1)))))) / (a - 1).
        """
        divergences = []
        for order in ORDERS:
            threshold = certified(partial(_log_of_ratio, order, order - 1), within=NONNEGATIVE)
            moved = self.mean * Fraction(self.base.curve(Fraction(threshold.lower)).upper)
            single = upper_divergence(self.base, order)
            if math.isinf(single):
                continue

            def formula(a: Fraction = order, total: Fraction = Fraction(single) + moved) -> Arb:
                return ((-ball(self.mean)).exp() + ball(self.mean) * ball((a - 1) * total).exp()).log() / ball(a - 1)

            value = certified(formula, within=NONNEGATIVE).upper
            if math.isfinite(value):
                divergences.append((order, Fraction(value)))
        return divergences

    def _growth(self, point: Point) -> float:
        """Return the mean times the most that an event's probability moves.

        For a point at 0 that is delta(0).
        """
        moved = _most_variation(point) if any(point) else 0.0
        return certified(lambda: ball(self.mean) * ball(Fraction(moved)), within=NONNEGATIVE).upper

    @property
    def _some(self) -> Arb:
        return -(-ball(self.mean)).expm1()


def _log_of_ratio(a: Fraction, b: Fraction) -> Arb:
    """Return ln(a / b)."""
    return (ball(a) / ball(b)).log()


def _most_variation(point: Point) -> float:
    """Return the greatest total variation of (epsilon, delta)-DP, rounded up."""
    return mixed_with_failure(pure_delta(point[0], Fraction(0)), min(point[1], Fraction(1))).upper

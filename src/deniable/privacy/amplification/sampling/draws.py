"""Losses on a fixed number of draws with replacement, under replace.

Proofs in docs/theory/privacy/sampling.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.arrays import Floats
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, Interval
from deniable.numbers.rationals import decimal_above, positive_integer
from deniable.privacy.amplification.sampling.drawn_noise import attained_laws
from deniable.privacy.amplification.sampling.poisson import SampledStatement, checked_base, known_laws
from deniable.privacy.amplification.sampling.subsets import MirroredLaw
from deniable.privacy.composition.group import group
from deniable.privacy.losses.pure import PureStatement
from deniable.privacy.notions.gaussian_dp import DIGITS
from deniable.privacy.pld.law import UNIT, LossLaw, Pairs
from deniable.privacy.pld.laws import randomized_response_law
from deniable.privacy.pld.pilot import span
from deniable.privacy.pld.points import law_of_points
from deniable.privacy.pld.single import read
from deniable.privacy.relation import Replace
from deniable.privacy.statement import Stated, Statement

_NEGLIGIBLE_WEIGHT = 1e-50  # probability of more draws of one unit, which are taken together
_MAX_DRAWS = 10**7  # for which binomial weights are computed
_MAX_TIMES = 100  # mean number of draws of one unit
_MAX_UNITS = 10**15  # of a population
_UNDERFLOW = 1e-300  # added to curves, where floats may underflow to 0
_NEGLIGIBLE_DELTA = 1e-22  # at which curves end that are composed
_MAX_LOSS = 440.0  # that the engine can compose
_PASSED = 1 + 1e-9  # factor that exceeds the greatest loss by more than roundings
_DENSE_LOSS = 1e-3  # loss around which points are close together
_CURVE_POINTS = 2**12  # of a curve that is composed
_TABLE_LOSSES = 2**11  # of each law, at which its tail is tabulated
_HALVINGS = 48  # of the common tail probability, to the precision of floats


@dataclass(frozen=True, init=False)
class DrawnStatement(SampledStatement):
    """Loss of a mechanism on units drawn one by one with replacement, under replace.

    A unit that is drawn j times counts as j rows, each of which `base`, stated for replace, lets change: for vectors of
    norm at most c that are summed, `GaussianLoss` counts the standard deviation divided by 2 c. The result holds under
    replace: `population` is public.

    Args:
        base: the loss of the mechanism, under replace.
        draws: the number of draws.
        population: the number of units.

    Guarantee: with w_j = P(Binomial(draws, 1/population) = j), x = exp(epsilon) and D_j the curve of `base` for groups
        of j, delta is at most sum over j >= 1 of w_j D_j(ln y_j), for all y_j >= x with sum w_j y_j = x - w_0; the best
        y is searched in floats, and the sum is certified. At least what noise on a count attains, where `base` is
        Gaussian, Laplace or pure, and otherwise what a mechanism attains that looks for one value.
    Error: compositions see losses of probability above 1e-22 alone: their delta is bounded from about 1e-20 up.
    Source: Balle, Barthe, Gaboardi (2018), arXiv:1807.01647, theorem 10, for one y; proof in
        docs/theory/privacy/sampling.md.
    """

    kind: ClassVar[str] = "drawn"
    base: Statement
    draws: int
    population: int
    relations = frozenset({Replace})

    def __init__(self, base: Stated, draws: object, population: object) -> None:
        count = positive_integer("draws", draws)
        whole = positive_integer("population", population)
        if count > _MAX_DRAWS or not 2 <= whole <= _MAX_UNITS or count > _MAX_TIMES * whole:
            raise InvalidParameterError(
                f"draws must be at most {_MAX_DRAWS} and {_MAX_TIMES} for each unit, and population from 2 to "
                f"{_MAX_UNITS}, got draws={count}, population={whole}"
            )
        checked = checked_base(base, Replace, "drawing with replacement", "sampled_with_replacement")
        read_fields(self, base=checked, draws=count, population=whole)

    def __repr__(self) -> str:
        return f"{self.base.operand}.sampled_with_replacement(draws={self.draws}, population={self.population})"

    @property
    def share(self) -> Fraction:
        """Bound on the probability that a unit is drawn."""
        return min(sum((Fraction(weight.upper) for weight in self._weights[1:]), Fraction(0)), Fraction(1))

    @property
    def infinite_mass(self) -> Fraction:
        """Lower bound on the infinite mass, as the probability of being drawn is a float."""
        base = known_laws(self.base)
        return _drawn(self._weights) * self.base.infinite_mass if base.lower[0] is base.lower[1] else Fraction(0)

    @property
    def _weights(self) -> list[Interval]:
        """Probabilities of being drawn 0, 1, 2, ... times, and last of anything more."""
        return _binomial(self.draws, self.population)

    def laws(self) -> Pairs:
        """Return the mirrored upper curve, and a pair that noise attains."""
        return _pairs(self)

    def _closed_delta(self, epsilon: Fraction) -> Interval:
        """Return delta: the upper curve, and what noise attains below it."""
        limit = self.pure_epsilon
        if limit is not None and epsilon >= limit:
            return Interval(0.0, 0.0)
        at = math.nextafter(float(min(epsilon, Fraction(600))), 0.0)
        upper = float(_upper_curve(self, np.array([at]))[0])
        return Interval(min(read(_attained(self), epsilon).lower, upper), upper)

    @property
    def failure(self) -> Fraction:
        """Mean failure of the groups that the draws make, given that the unit is drawn.

        It is the mean of f (e^(j e) - 1)/(e^e - 1), the failure of a group of j.
        """
        limit, failed = self.base.failing_epsilon, self.base.failure
        if not failed or limit is None:
            return Fraction(0)
        drawn = _drawn(self._weights)

        def formula() -> Arb:
            grown = _mean_growth(limit, self.draws, self.population) - 1
            return ball(failed) * grown / ball(limit).expm1() / ball(drawn)

        failure = certified(formula).upper if limit else failed * self.draws
        return min(decimal_above(Fraction(failure), DIGITS), Fraction(1))

    @property
    def failing_epsilon(self) -> Fraction | None:
        """Epsilon of the draws, from that of the base."""
        limit = self.base.failing_epsilon
        return None if limit is None else _pure_limit(limit, self.draws, self.population)


@lru_cache(maxsize=32)
def _pairs(loss: DrawnStatement) -> Pairs:
    """Return the bound from loss 0 up to where it ends, and its mirror image."""
    losses_tried = np.geomspace(_DENSE_LOSS, _MAX_LOSS, 128)
    limit = math.inf if loss.failing_epsilon is None else float(loss.failing_epsilon) * _PASSED
    seen = max(_NEGLIGIBLE_DELTA, 4 * loss._weights[-1].upper)
    end = min(losses_tried[min(int(np.count_nonzero(_upper_curve(loss, losses_tried) > seen)), 127)], limit)
    losses = _DENSE_LOSS * np.sinh(np.linspace(0.0, math.asinh(end / _DENSE_LOSS), _CURVE_POINTS))
    law = _mirrored(losses, _upper_curve(loss, losses), limit if loss.failure == 0 else math.inf)
    return Pairs((law, law), _attained(loss))


def _mirrored(losses: Floats, heights: Floats, limit: float) -> LossLaw:
    """Return the polygon and its mirror image.

    Points near 0 are left out where roundings make it too steep for that.
    """
    for nearest in (1, 2**6, 2**9, _CURVE_POINTS - 1):
        kept = np.append(0, np.arange(nearest, _CURVE_POINTS))
        try:
            return MirroredLaw(law_of_points(losses[kept], heights[kept]))
        except UnprovedError:
            if nearest == _CURVE_POINTS - 1 and math.isinf(limit):
                raise
    return randomized_response_law(limit)


@lru_cache(maxsize=32)
def _attained(loss: DrawnStatement) -> tuple[LossLaw, LossLaw]:
    """Return laws that noise attains, in both directions."""
    return attained_laws(loss.base, loss._weights)


class _Times(NamedTuple):
    """Unit that is drawn a certain number of times: its probability and laws.

    levels, losses: a table of the probability, under Q and as a negative logarithm, of losses above each loss.

    levels, places: a table of the probability, under Q and as a negative logarithm, of losses above a place.
    """

    weight: float
    laws: Sequence[LossLaw]
    levels: Floats
    losses: Floats

    def gaps(self, level: Floats, losses: Floats, exp_losses: Floats) -> Floats:
        """Return y - x for the y at which losses above ln(y) have this level.

        0 where y is not above x.
        """
        threshold = np.interp(level, self.levels, self.losses)
        return np.asarray(exp_losses * np.expm1(np.maximum(threshold - losses, 0.0)))

    def delta(self, losses: Floats) -> Floats:
        """Return an upper bound on delta at each loss."""
        return np.asarray(np.maximum.reduce([_raised(law, losses) for law in self.laws]))


@lru_cache(maxsize=32)
def _times(loss: DrawnStatement) -> list[_Times]:
    """Return the laws of a unit drawn 1, 2, ... times, with tables."""
    all_times = []
    for times, weight in enumerate(loss._weights[1:-1], 1):
        upper = known_laws(_group_above(loss.base, times)).upper
        laws = upper[:1] if upper[0] is upper[1] else upper
        end = min(max(span(law, 1e-300, 1.0)[1] for law in laws), _MAX_LOSS) * _PASSED
        losses = np.linspace(0.0, end, _TABLE_LOSSES)
        mass = np.maximum.reduce([law.above(losses).q for law in laws])
        all_times.append(_Times(weight.upper, laws, np.maximum.accumulate(-np.log(np.maximum(mass, 1e-300))), losses))
    return all_times


def _group_above(base: Statement, size: int) -> Statement:
    """Return the loss of a group, or of a pure loss where that is costly.

    The pure loss is that of any mechanism with the same greatest loss.
    """
    if size > 2 and base.pure_epsilon is not None and base.grouped(size) is None:
        return group(PureStatement(base.pure_epsilon), size)
    return group(base, size)


def _upper_curve(loss: DrawnStatement, losses: Floats) -> Floats:
    """Return the bound at losses >= 0, rounded up.

    sum w_j D_j(y_j) is least where the events {loss of j > ln y_j} are equally probable under Q, or y_j = x. This
    probability is found by halving, and between its last two values the y_j are mixed so that their sum is right.
    """
    times = _times(loss)
    exp_losses = np.exp(losses)
    budget = np.expm1(losses) * loss._weights[0].lower * (1 - (64 + len(times)) * UNIT)

    def gaps(level: Floats) -> list[Floats]:
        return [one.gaps(level, losses, exp_losses) for one in times]

    def total(each_gap: list[Floats]) -> Floats:
        return np.asarray(sum(one.weight * gap for one, gap in zip(times, each_gap, strict=True)))

    low = np.zeros(losses.size)
    high = np.full(losses.size, 800.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        small = total(gaps(middle)) <= budget
        low, high = np.where(small, middle, low), np.where(small, high, middle)
    lower_gaps, upper_gaps = gaps(low), gaps(high)
    lower_total, upper_total = total(lower_gaps), total(upper_gaps)
    wide = np.divide(
        budget - lower_total, upper_total - lower_total, out=np.zeros_like(lower_total), where=upper_total > lower_total
    )
    shares = np.clip(wide, 0.0, 1.0)
    heights = np.full(losses.size, loss._weights[-1].upper + _UNDERFLOW)
    for one, a, b in zip(times, lower_gaps, upper_gaps, strict=True):
        inside = losses + np.log1p(((1 - shares) * a + shares * b) / exp_losses) * (1 - 64 * UNIT)
        heights += one.weight * one.delta(np.maximum(np.nextafter(inside, -np.inf), 0.0))
    return np.asarray(np.minimum(heights * (1 + (64 + len(times)) * UNIT), 1.0))


def _raised(law: LossLaw, losses: Floats) -> Floats:
    """Return an upper bound on delta at each loss.

    The event is off by two slacks, and its masses by their error.
    """
    slacks = law.slacks(losses) + 8 * UNIT * losses
    tails = law.above(losses - slacks)
    scaled = np.exp(losses) * tails.q
    doubt = 2 * (tails.error + 16 * UNIT + 2 * slacks) * (tails.p + scaled)
    return np.asarray(np.maximum(tails.p - scaled, 0.0) + doubt + law.infinite * (1 + 8 * UNIT))


@lru_cache(maxsize=256)
def _binomial(draws: int, population: int) -> list[Interval]:
    """Return the probabilities of being drawn 0, 1, 2, ... times, and the rest."""

    def weight(times: int) -> Arb:
        chance = ball(Fraction(1, population))
        return ball(Fraction(math.comb(draws, times))) * chance**times * (1 - chance) ** (draws - times)

    weights = [certified(lambda: weight(0))]
    for times in range(1, draws + 1):
        weights.append(certified(lambda times=times: weight(times)))  # type: ignore[misc]
        more = _more_than(times, draws, population)
        if more.upper < _NEGLIGIBLE_WEIGHT:
            return [*weights, more]
    return [*weights, Interval(0.0, 0.0)]


def _drawn(weights: Sequence[Interval]) -> Fraction:
    """Return a lower bound on the probability to be drawn at all."""
    return sum((Fraction(weight.lower) for weight in weights[1:]), Fraction(0))


def _more_than(times: int, draws: int, population: int) -> Interval:
    """Return P(Binomial(draws, 1/population) > times).

    It is a regularised incomplete beta function.
    """
    if times >= draws:
        return Interval(0.0, 0.0)
    return certified(lambda: ball(Fraction(1, population)).beta_lower(times + 1, draws - times, 1))


def _mean_growth(limit: Fraction, draws: int, population: int) -> Arb:
    """Return sum w_j e^(j limit)."""
    return (1 + ball(limit).expm1() / population) ** draws


@lru_cache(maxsize=256)
def _pure_limit(limit: Fraction, draws: int, population: int) -> Fraction | None:
    """Return the pure epsilon of the draws, rounded up.

    It is ln(x) for the least x with sum over j >= 1 of w_j (e^(j limit) - x)+ <= (x - 1) w_0.

    That is f(x) = sum over j >= 0 of w_j e^(j limit) - x + sum over j >= 1 of w_j (x - e^(j limit))+ <= 0. f falls and
    is convex, so that Newton's method finds its root from below; what it finds is checked.
    """
    from flint import arb, ctx

    *weights, rest = _binomial(draws, population)[1:]
    chances = [*(Fraction(weight.upper) for weight in weights), Fraction(rest.upper)]
    with ctx.workprec(256):

        def excess(x: Arb) -> tuple[Arb, Arb]:
            value = _mean_growth(limit, draws, population) - x
            slope = arb(1)
            for times, chance in enumerate(chances, 1):
                beyond = x - ball(times * limit).exp()
                if beyond <= 0:
                    break
                value = value + ball(chance) * beyond.max(arb(0))
                slope = slope - ball(chance)
            return value, slope

        x = _mean_growth(limit, draws, population)
        for _ in range(len(chances)):
            value, slope = excess(x)
            x = (x + value / slope).mid()
        x *= 1 + ball(Fraction(1, 10**12))
        if not excess(x)[0] <= 0:
            return None
        limit_above = Interval.of_ball(x.log(), within=NONNEGATIVE).upper
        return decimal_above(Fraction(limit_above), DIGITS) if math.isfinite(limit_above) else None

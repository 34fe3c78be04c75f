"""Losses on a fixed number of draws with replacement, under replace: proofs in docs/theory/sampling.md."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy.currencies.gaussian_dp import gaussian_delta
from deniable.privacy.exact import positive_integer
from deniable.privacy.interval import Interval, round_up
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.losses.gaussian import GaussianLoss
from deniable.privacy.losses.mixture import GaussianMixtureLoss
from deniable.privacy.pld.law import UNIT, Floats, LossLaw, Pairs, ReversedLaw, Tails
from deniable.privacy.pld.laws import NormalLaw
from deniable.privacy.pld.pilot import span
from deniable.privacy.pld.points import law_of_points
from deniable.privacy.profile import ball, certified
from deniable.privacy.public_mixture import MixedLaw
from deniable.privacy.relation import AddRemove, Relation, Replace
from deniable.privacy.sampling.poisson import SampledLoss
from deniable.privacy.sampling.subsets import MirroredLaw

if TYPE_CHECKING:
    from flint import arb

_NEGLIGIBLE = 1e-50
_LARGEST = 10**7
_UNSEEN = 1e-22  # of the probability of losses so great that compositions need not see them
_SMALL = 1e-30  # weights below this are left out of the lower bound
_POINTS = 2**13
_FARTHEST = 440.0  # of losses that the engine can compose
_NEAR = 1e-3  # points are close together around this loss


class CutLaw(LossLaw):
    """A law without its losses above `highest`: it reveals less."""

    def __init__(self, base: LossLaw, highest: float) -> None:
        self.base, self.infinite, self.vanishing = base, base.infinite, base.vanishing
        self.lowest, self.highest = base.lowest, min(base.highest, highest)
        self._cut = base.above(np.array([self.highest]))

    def above(self, losses: Floats) -> Tails:
        found = self.base.above(np.minimum(losses, self.highest))
        p, q = found.p - self._cut.p, found.q - self._cut.q
        least = np.minimum(p / np.maximum(found.p, 1e-320), q / np.maximum(found.q, 1e-320))
        error = np.divide(3 * found.error, least, out=np.ones_like(least), where=least > found.error)
        return Tails(np.maximum(p, 0.0), np.maximum(q, 0.0), np.minimum(error, 1.0))

    def below(self, losses: Floats) -> Tails:
        return self.base.below(np.minimum(losses, self.highest))

    def slack(self, reach: float) -> float:
        return self.base.slack(reach)

    def slacks(self, losses: Floats) -> Floats:
        return self.base.slacks(losses)


@dataclass(frozen=True, init=False)
class DrawnLoss(SampledLoss):
    """`base`, Gaussian noise on a sum, run on `draws` units drawn one by one, with replacement, from `population`.

    A unit that is drawn j times counts j times. `base` counts noise in the sensitivity under replace of one draw: for
    vectors of norm at most c, the standard deviation divided by 2 c. The result holds under replace.

    Guarantee: with w_j = P(Binomial(draws, 1/population) = j), g = 1 - w_0 and x = exp(epsilon), y = 1 + (x - 1)/g:
        delta is at least that of sum w_j N(j mu, 1) against N(0, 1), which is attained; and at most the mean, with
        weights 1 - x/y and x/y, of this and of sum over j >= 1 of w_j delta_j(ln y), for j times the sensitivity.
    Error: compositions see losses of probability above 1e-22 alone: their delta is bounded from about 1e-20 up.
    Source: Balle, Barthe, Gaboardi (2018), arXiv:1807.01647, for the latter alone; proof in docs/theory/sampling.md.
    """

    kind: ClassVar[str] = "drawn"
    base: GaussianLoss
    draws: int
    population: int

    def __init__(self, base: PrivacyLoss, draws: object, population: object) -> None:
        count, whole = positive_integer("draws", draws), positive_integer("population", population)
        if count > _LARGEST or whole < 2:
            raise InvalidParameterError(
                f"draws must be at most {_LARGEST} and population at least 2, got draws={count}, population={whole}"
            )
        if not isinstance(base, GaussianLoss):
            raise UnprovedError(
                f"draws with replacement are proved for Gaussian noise, whose loss for a unit that is drawn several "
                f"times is known; {base!r} is another. Use sampled_without_replacement()."
            )
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "draws", count)
        object.__setattr__(self, "population", whole)

    def __repr__(self) -> str:
        return f"{self.base!r}.sampled_with_replacement(draws={self.draws}, population={self.population})"

    @property
    def share(self) -> Fraction:
        return Fraction(self._weights()[0].upper)

    def _weights(self) -> list[Interval]:
        """The probabilities of being drawn at all, then once, twice, and so on; at the end that of anything more."""
        return _binomial(self.draws, self.population)

    def laws(self) -> Pairs:
        return _pairs(self)

    def _closed_delta(self, epsilon: Fraction) -> Interval:
        attained = _attained(self)._delta(epsilon)
        drawn, *weights, rest = self._weights()
        apart = Fraction(rest.upper)
        inside = certified(lambda: _inside(epsilon, drawn).log(), within=Interval(0.0, math.inf))
        for times, weight in enumerate(weights, 1):
            found = gaussian_delta(times**2 * self.base.mu_squared, Fraction(inside.lower))
            apart += Fraction(weight.upper) * Fraction(found.upper)
        share = Fraction(certified(lambda: ball(epsilon).exp() / _inside(epsilon, drawn)).upper)
        upper = round_up((1 - share) * Fraction(attained.upper) + share * max(apart, Fraction(attained.upper)))
        return Interval(min(attained.lower, upper), min(upper, 1.0))

    @property
    def pure_epsilon(self) -> None:
        return None

    @property
    def relations(self) -> frozenset[Relation]:
        return frozenset({Replace})


def _inside(epsilon: Fraction, drawn: Interval) -> "arb":
    """1 + (e^epsilon - 1)/g: the e^epsilon of units that are drawn."""
    return 1 + ball(epsilon).expm1() / ball(Fraction(drawn.upper))


@lru_cache(maxsize=32)
def _pairs(loss: DrawnLoss) -> Pairs:
    lower = _attained(loss).laws()
    assert lower is not None  # under add/remove both directions are known
    law = MirroredLaw(law_of_points(*_upper_curve(loss, lower.lower[0])))
    attained = CutLaw(lower.lower[0], min(span(lower.lower[0], _UNSEEN, 1.0)[1], _FARTHEST))
    return Pairs((law, law), (attained, ReversedLaw(attained)))


def _upper_curve(loss: DrawnLoss, attained: LossLaw) -> tuple[Floats, Floats]:
    """The bound at losses from 0 upwards, rounded up."""
    drawn, *weights, rest = loss._weights()
    mu, scale = math.sqrt(loss.base.mu_squared), (1 + 16 * Fraction(UNIT)) / Fraction(drawn.upper)
    parts: list[tuple[Fraction, LossLaw]] = [
        (Fraction(weight.upper) * scale, NormalLaw(times * mu)) for times, weight in enumerate(weights, 1)
    ]
    apart = MixedLaw(parts)
    end = min(span(attained, _UNSEEN, 1.0)[1], _FARTHEST)
    losses = _NEAR * np.sinh(np.linspace(0.0, math.asinh(end / _NEAR), _POINTS))
    inside = np.log1p(np.expm1(losses) / drawn.upper)
    share = np.minimum(np.exp(losses - inside) * (1 + 64 * UNIT), 1.0)
    first, second = _raised(attained, losses), drawn.upper * _raised(apart, inside) + rest.upper
    heights = ((1 - share) * first + share * np.maximum(second, first)) * (1 + 64 * UNIT)
    return losses, np.asarray(np.minimum(heights, 1.0))


def _raised(law: LossLaw, losses: Floats) -> Floats:
    """An upper bound on delta at each loss: the event is off by the slack, and its masses by their error."""
    moved = losses - law.slacks(losses)
    found = law.above(moved)
    scaled = np.exp(losses) * found.q
    return np.asarray(
        np.maximum(found.p - scaled, 0.0) + 2 * (found.error + 16 * UNIT * (1 + losses)) * (found.p + scaled)
    )


@lru_cache(maxsize=32)
def _attained(loss: DrawnLoss) -> GaussianMixtureLoss:
    """All other units at one end, the unit at the other or there too; doubtful weight counts as never drawn."""
    weights = [Fraction(weight.lower) for weight in loss._weights()[1:-1] if weight.lower > _SMALL]
    mixture = [(1 - sum(weights), 0), *((weight, times) for times, weight in enumerate(weights, 1))]
    return GaussianMixtureLoss(mixture, sigma=loss.base.noise_multiplier, relation=AddRemove)


@lru_cache(maxsize=256)
def _binomial(draws: int, population: int) -> list[Interval]:
    def weight(times: int) -> "arb":
        chance = ball(Fraction(1, population))
        ways = math.comb(draws, times)
        return ball(Fraction(ways)) * chance**times * (1 - chance) ** (draws - times)

    found = [certified(lambda: 1 - weight(0))]
    for times in range(1, draws + 1):
        found.append(certified(lambda times=times: weight(times)))  # type: ignore[misc]
        more = _more_than(times, draws, population)
        if more.upper < _NEGLIGIBLE:
            return [*found, more]
    return [*found, Interval(0.0, 0.0)]


def _more_than(times: int, draws: int, population: int) -> Interval:
    """P(Binomial(draws, 1/population) > times): a regularised incomplete beta function."""
    if times >= draws:
        return Interval(0.0, 0.0)
    return certified(lambda: ball(Fraction(1, population)).beta_lower(times + 1, draws - times, 1))


def sampled_with_replacement(loss: PrivacyLoss, draws: object, population: object) -> PrivacyLoss:
    """`loss` on units drawn with replacement."""
    return DrawnLoss(loss, draws, population)

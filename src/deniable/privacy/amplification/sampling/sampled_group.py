"""Groups under Poisson sampling of Gaussian noise, partly in the sample.

Proof: docs/theory/privacy/group.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated, ClassVar

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, Interval, round_up
from deniable.numbers.rationals import Real, exact_rational, exact_root, positive_integer, positive_rational
from deniable.privacy.composition.compose import Composed, composed
from deniable.privacy.losses.dominated import curve_of
from deniable.privacy.losses.gaussian_mixture import GaussianMixtureStatement
from deniable.privacy.notions.renyi import Directions, directed
from deniable.privacy.pld.curve_law import exp_epsilon_grid, heights_above, law_above
from deniable.privacy.pld.law import Pairs
from deniable.privacy.relation import AddRemove, Relation, Replace
from deniable.privacy.statement import Statement

MAX_UNITS = 64  # of a group with a loss of its own
_MAX_SPLITS = 4  # of a group, whose runs are composed one by one
_CURVE_POINTS = 320  # of the greatest curve over all splits
_MAX_MOMENTS = 256  # largest order of the closed form


@dataclass(frozen=True, init=False, repr=False)
class SampledGaussianGroupStatement(Statement):
    """Loss of a group of units under Gaussian noise on a Poisson sample.

    Args:
        noise_multiplier: standard deviation of the noise over the sensitivity to one unit.
        rate: the sampling probability, in (0, 1).
        size: how many units differ together.
        relation: the neighbouring relation.
        one_direction: whether all units are added or all removed.

    Guarantee: with a of the group in one data set only and b = size - a in the other, the pair of mixtures sum_i Bin(a,
        rate)(i) N(i mu, 1) against sum_j Bin(b, rate)(j) N(-j mu, 1), mu = 1 / noise_multiplier, in either order; delta
        is the greatest over a, and exact. Under replace (a unit in place of another one) a = b; with `one_direction`,
        where all units are added or all removed, a = size.
    Source: Schuchardt, Stoian, Kosmala, Guennemann (2024), arXiv:2403.04867; proof in docs/theory/privacy/group.md.
    """

    kind: ClassVar[str] = "sampled_gaussian_group"
    noise_multiplier: Annotated[Fraction, positive_rational]
    rate: Annotated[Fraction, exact_rational]
    size: Annotated[int, positive_integer]
    relation: Relation
    one_direction: bool

    def __init__(
        self,
        noise_multiplier: Real,
        *,
        rate: Real,
        size: object,
        relation: Relation | str = AddRemove,
        one_direction: bool = False,
    ) -> None:
        read_fields(
            self,
            noise_multiplier=noise_multiplier,
            rate=rate,
            size=size,
            relation=Relation(relation),
            one_direction=one_direction,
        )
        if one_direction not in (True, False) or (one_direction and self.relation is Replace):
            raise InvalidParameterError(
                f"one_direction must be True or False, and False under replace, got {one_direction!r}"
            )
        if not 0 < self.rate < 1:
            raise InvalidParameterError(f"rate must be in (0, 1), got {rate!r}. Without sampling use GaussianLoss.")
        if self.size > MAX_UNITS:
            raise InvalidParameterError(f"size must be at most {MAX_UNITS}, got {size!r}")
        if self.relation is Replace and self.size % 2:
            raise InvalidParameterError(
                f"size must be even under replace, where it counts removed and added units, got {size!r}"
            )

    @cached_property
    def pairs(self) -> list[GaussianMixtureStatement]:
        """Pairs of mixtures, one for each way to split the group; each covers both orders."""
        half = self.size // 2
        splits = [half] if self.relation is Replace else range(1 if self.one_direction else half + 1)
        return [
            GaussianMixtureStatement(
                _binomial(self.size - less, self.rate, +1),
                against=_binomial(less, self.rate, -1),
                sigma=self.noise_multiplier,
                relation=AddRemove,
            )
            for less in splits
        ]

    def of_runs(self, runs: Statement) -> Statement:
        """Return runs with the greatest over splits in place of a composition."""
        return SplitRuns(runs, self) if 1 < len(self.pairs) <= _MAX_SPLITS else runs

    def grouped(self, size: int) -> Statement | None:
        return sampled_gaussian_group(1 / self.noise_multiplier**2, self.rate, self.size * size, self.relation)

    def grouped_one_way(self, size: int) -> Statement | None:
        if not self.one_direction:
            return None
        return sampled_gaussian_group(1 / self.noise_multiplier**2, self.rate, self.size * size, AddRemove, True)

    def replaced(self) -> Statement | None:
        return sampled_gaussian_group(1 / self.noise_multiplier**2, self.rate, self.size * 2, Replace)

    def curve(self, epsilon: Fraction) -> Interval:
        """Return the greatest delta over all splits."""
        return _greatest([pair.curve(epsilon) for pair in self.pairs])

    def laws(self) -> Pairs | None:
        """Return a pair above all splits, its reverse, and the split that reveals most.

        The first data set holds more of the group; the most is revealed near epsilon = 1.
        """
        return self._laws

    def divergences(self, order: Fraction) -> Directions:
        """Return the greatest divergences over all splits, in each direction.

        From below, those of the split that `laws` takes.
        """
        by_pair = {pair: directed(pair, order) for pair in self.pairs}
        ends = []
        for direction in (0, 1):
            upper = max(
                min(both[direction].upper, self._upper_divergence(pair, direction, order))
                for pair, both in by_pair.items()
            )
            lower = max(
                by_pair[self._strongest][direction].lower, self._lower_divergence(self._strongest, direction, order)
            )
            ends.append(Interval(min(lower, upper), upper))
        return ends[0], ends[1]

    def _upper_divergence(self, pair: GaussianMixtureStatement, direction: int, order: Fraction) -> float:
        """Bound a divergence of a pair, sharply where it is large.

        No unit of the second data set is drawn.
        """
        units = (len(pair.mixture) - 1, len(pair.against) - 1)
        none_drawn = certified(lambda: -ball((1 - self.rate) ** units[1 - direction]).log(), within=NONNEGATIVE)
        return round_up(
            Fraction(self._alone(units[direction], max(math.ceil(order), 2)).upper) + Fraction(none_drawn.upper)
        )

    def _lower_divergence(self, pair: GaussianMixtureStatement, direction: int, order: Fraction) -> float:
        """Return a lower bound where the second data set has none of the units."""
        units = (len(pair.mixture) - 1, len(pair.against) - 1)
        return 0.0 if units[1 - direction] or order < 2 else self._alone(units[direction], math.floor(order)).lower

    def _alone(self, units: int, order: int) -> Interval:
        """Return the divergence of some units against none."""
        if order > _MAX_MOMENTS:
            return Interval(0.0, float(order * self.mu_squared / 2) * (1 + 1e-12))
        return one_sided_divergence(units, self.rate, 1 / self.noise_multiplier**2, order)

    @cached_property
    def _strongest(self) -> GaussianMixtureStatement:
        """Split of the group with the largest delta at epsilon = 1."""
        return max(self.pairs, key=lambda pair: pair.curve(Fraction(1)).lower)

    @cached_property
    def _laws(self) -> Pairs | None:
        attained = self._strongest.laws()
        if attained is None or len(self.pairs) == 1:
            return attained

        known = [laws for pair in self.pairs if (laws := pair.laws()) is not None]

        def there(epsilon: Fraction) -> float:
            return max(curve_of(laws.upper[0], epsilon).upper for laws in known)

        def back(epsilon: Fraction) -> float:
            return max(curve_of(laws.upper[1], epsilon).upper for laws in known)

        first, second = (heights_above(curve, exp_epsilon_grid(curve, None, _CURVE_POINTS)) for curve in (there, back))
        return Pairs((law_above(first, second), law_above(second, first)), attained.lower)

    @property
    def mu_squared(self) -> Fraction:
        """Bound on mu^2: that of the whole group in every sample."""
        return (self.size / self.noise_multiplier) ** 2


class SplitRuns(Composed):
    """Runs of one group on Poisson samples: a composition, greatest over all splits.

    Guarantee: two data sets fix how the group is split between them, so the split is the same in every run.
    """

    def __init__(self, runs: Statement, group: SampledGaussianGroupStatement) -> None:
        super().__init__(runs.composition)
        read_fields(self, _group=group)  # follows from the parts, which may wrap it

    @cached_property
    def _ways(self) -> list[Statement]:
        """Compositions of each split with itself."""
        [(_, count)] = self.parts
        group: SampledGaussianGroupStatement = vars(self)["_group"]
        return [composed([pair], count) for pair in group.pairs]

    def proves(self, epsilon: Fraction, delta: Fraction) -> bool:
        return all(runs.proves(epsilon, delta) for runs in self._ways)

    def curve(self, epsilon: Fraction) -> Interval:
        return _greatest([runs.curve(epsilon) for runs in self._ways])

    def delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        return _greatest([runs.delta_within(epsilon, tolerance) for runs in self._ways])

    def epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        return _greatest([runs.epsilon_within(delta, tolerance) for runs in self._ways])


def _greatest(intervals: list[Interval]) -> Interval:
    """Return the greatest of several intervals."""
    lower = max(one.lower for one in intervals)
    upper = max(one.upper for one in intervals)
    return Interval(lower, upper, wide=any(one.wide and one.upper > lower for one in intervals))


def sampled_gaussian_group(
    mu_squared: Fraction | None, rate: Fraction, size: int, relation: Relation, one_direction: bool = False
) -> SampledGaussianGroupStatement | None:
    """Return the loss of a group on a Poisson sample of noise with this mu.

    None where mu is irrational or the group large.
    """
    mu = None if mu_squared is None else exact_root(mu_squared)
    if not mu or size > MAX_UNITS:
        return None
    return SampledGaussianGroupStatement(1 / mu, rate=rate, size=size, relation=relation, one_direction=one_direction)


@lru_cache(maxsize=1024)
def one_sided_divergence(units: int, rate: Fraction, mu_squared: Fraction, order: int) -> Interval:
    """Return the divergence of a sampled group against none, for a whole order >= 2.

    The pair is sum_i Bin(units, rate)(i) N(i mu, 1) against N(0, 1). With (sum_i w_i exp(-i^2 mu^2/2) z^i)^order =
    sum_s c_s z^s the divergence is ln(sum_s c_s exp(s^2 mu^2/2)) / (order - 1).

    With (sum_i w_i exp(-i^2 mu^2/2) z^i)^order = sum_s c_s z^s it is ln(sum_s c_s exp(s^2 mu^2/2)) / (order - 1).
    """
    if units == 0:
        return Interval(0.0, 0.0)

    def formula() -> Arb:
        from flint import arb, arb_poly

        weights = [weight for weight, _ in _binomial(units, rate, +1)]
        one = arb_poly([ball(w) * ball(-i * i * mu_squared / 2).exp() for i, w in enumerate(weights)])
        total = sum((c * ball(s * s * mu_squared / 2).exp() for s, c in enumerate((one**order).coeffs())), arb(0))
        return total.log() / (order - 1)

    return certified(formula, within=NONNEGATIVE)


def _binomial(units: int, rate: Fraction, side: int) -> list[tuple[Fraction, int]]:
    """Return the weights of 0, 1, ..., `units` sampled units, with their shifts."""
    return [
        (math.comb(units, count) * rate**count * (1 - rate) ** (units - count), side * count)
        for count in range(units + 1)
    ]

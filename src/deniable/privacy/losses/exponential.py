"""Selection by noisy scores: the exponential mechanism and permute-and-flip."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import Real, positive_rational
from deniable.privacy.composition.repeated_choice import chosen_one_after_another
from deniable.privacy.losses.bounded import bounded_law
from deniable.privacy.notions.gaussian_dp import mu_squared_of_pure
from deniable.privacy.notions.renyi import Directions, both_ways
from deniable.privacy.pld.law import Pairs
from deniable.privacy.pld.laws import BoundedRangeLaw, LaplaceLaw
from deniable.privacy.relation import AddRemove, Relation
from deniable.privacy.statement import Statement

# Of the pairs of two candidates, those that bound compositions from below; good ones for many compositions.
_POSITIVE_SHARE = 0.6  # share of the interval of losses above 0, for the exponential mechanism
_THRESHOLD_SHARE = 0.8  # position between the centres of the noise, for permute-and-flip


@dataclass(frozen=True, init=False, repr=False)
class _SelectionStatement(Statement):
    """Loss of a choice among candidates by their scores; it is `epsilon`-DP."""

    words: ClassVar[Mapping[str, str]] = {"limit": "epsilon"}
    limit: Fraction
    monotone: bool

    def __init__(self, epsilon: Real, *, monotone: bool = False) -> None:
        if not isinstance(monotone, bool):
            raise InvalidParameterError(f"monotone must be True or False, got {monotone!r}")
        read_fields(self, limit=positive_rational("epsilon", epsilon), monotone=monotone)

    @classmethod
    def of_scores(cls, *, rate: Real, sensitivity: Real, monotone: bool = False) -> Self:
        """Return the loss when scores are weighted with `rate` per unit of score.

        Weights are exp(rate * score), or noise has mean 1 / rate.

        Args:
            rate: per unit of score.
            sensitivity: how far one unit can move one score.
            monotone: under add/remove, adding a unit never lowers any score, or never raises any. The cost is then rate
                * sensitivity, else twice that.
        """
        moved = positive_rational("rate", rate) * positive_rational("sensitivity", sensitivity)
        return cls(moved if monotone else 2 * moved, monotone=monotone)

    @property
    def relations(self) -> frozenset[Relation]:
        """Relations: monotone scores are proved for add/remove alone.

        Scores move in one direction only when a unit is added, not when one is exchanged for another.
        """
        return frozenset({AddRemove}) if self.monotone else frozenset(Relation)

    @property
    def failing_epsilon(self) -> Fraction:
        return self.limit


@dataclass(frozen=True, init=False, repr=False)
class ExponentialMechanismStatement(_SelectionStatement):
    """Loss of the exponential mechanism: a candidate chosen by weighted scores.

    Candidate y has a probability proportional to w(y) exp(rate * score(y)). epsilon is 2 * rate * sensitivity, or rate
    * sensitivity for monotone scores; `of_scores` computes it. Report noisy max with Gumbel noise of scale 1 / rate is
    the same mechanism.

    Args:
        epsilon: above 0.
        monotone: whether adding a unit moves all scores in one direction, under add/remove.

    Guarantee: all losses lie in one interval of length epsilon (bounded range), hence epsilon-DP, epsilon^2/8-zCDP,
        mu-GDP with the mu of epsilon/2-DP, and delta(x) = (e^(epsilon/2) - e^(x/2))^2 / (e^epsilon - 1), which two
        candidates attain for every x. Equal runs are bounded from above by the best strategy that chooses each of them
        after the answers of the earlier ones, and from below by two candidates with the same losses in every run.
    Source: McSherry, Talwar (2007); Dong, Durfee, Rogers (2020), arXiv:1909.13830; Cesar, Rogers (2021),
        arXiv:2004.07223; curve and mu in docs/theory/privacy/losses.md.

    >>> from deniable.privacy import ExponentialMechanismLoss
    >>> print(f"{(ExponentialMechanismLoss('0.1') * 100).epsilon('1e-6').upper:.2f}")
    2.26
    """

    kind: ClassVar[str] = "exponential_mechanism"
    divergences_are_closed = True

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta of two candidates at `epsilon`."""
        if epsilon >= self.limit:
            return Interval(0.0, 0.0)

        return certified(lambda: ball((epsilon - self.limit) / 2).expm1() ** 2 / -ball(-self.limit).expm1())

    def divergences(self, order: Fraction) -> Directions:
        """Return divergences of two candidates, with the worst losses for the order."""

        def formula() -> Arb:
            shrunk = ball(-self.limit).exp()
            if order == 1:
                smallest_ratio = ball(self.limit) * shrunk / (1 - shrunk)  # exp(-greatest loss)
                return smallest_ratio - 1 - smallest_ratio.log()
            a = ball(order)
            far = ball(-order * self.limit).exp()
            smallest_ratio = a * (shrunk - far) / ((a - 1) * (1 - far))
            return (-a * smallest_ratio.log() + ((shrunk - far) / ((a - 1) * (1 - shrunk))).log()) / (a - 1)

        return both_ways(certified(formula, within=Interval(0.0, Interval.around(self.limit).upper)))

    def laws(self) -> Pairs:
        """Return the bounded-range law, and two candidates below."""
        limit = float(self.limit)
        attained = bounded_law(_POSITIVE_SHARE * limit, (1 - _POSITIVE_SHARE) * limit)
        return Pairs.symmetric(BoundedRangeLaw(limit), attained)

    def laws_of_runs(self, count: int) -> list[tuple[Pairs | None, int]]:
        """Return pairs above the best adaptive strategy of the runs."""
        return [*chosen_one_after_another(self.limit, count)] if count > 1 else super().laws_of_runs(count)

    @property
    def failing_rho(self) -> Fraction:
        """Rho epsilon^2 / 8, as the loss has bounded range."""
        return self.limit**2 / 8

    @property
    def mu_squared(self) -> Fraction:
        """Value of mu^2 of epsilon/2-DP, as the loss has bounded range."""
        return mu_squared_of_pure(self.limit / 2)


@dataclass(frozen=True, init=False, repr=False)
class PermuteAndFlipStatement(_SelectionStatement):
    """Loss of permute-and-flip, which is report noisy max with exponential noise.

    epsilon is 2 * rate * sensitivity, or rate * sensitivity for monotone scores; `of_scores` computes it.

    Guarantee: at most the curve of Laplace noise with that epsilon, delta(x) = 1 - e^((x - epsilon)/2) for x < epsilon,
        which two candidates attain for every x; epsilon-DP. The losses do not lie in an interval of length epsilon, so
        the epsilon^2/8 of the exponential mechanism does not hold. A composition is bounded from below by one choice
        between two candidates.
    Source: McKenna, Sheldon (2020), arXiv:2010.12603; Ding et al. (2021), arXiv:2105.07260; the curve in
        docs/theory/privacy/losses.md.
    """

    kind: ClassVar[str] = "permute_and_flip"

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta of Laplace noise at `epsilon`, attained by two candidates."""
        gap = self.limit - epsilon
        return certified(lambda: -ball(-gap / 2).expm1()) if gap > 0 else Interval(0.0, 0.0)

    def laws(self) -> Pairs:
        """Return the Laplace law, and two candidates below."""
        limit = float(self.limit)
        ours, theirs = (
            -share * limit - math.log(2) for share in (1 - _THRESHOLD_SHARE, _THRESHOLD_SHARE)
        )  # ln of tails
        attained = bounded_law(math.log1p(-math.exp(ours)) - theirs, math.log1p(-math.exp(theirs)) - ours)
        return Pairs.symmetric(LaplaceLaw(limit), attained)

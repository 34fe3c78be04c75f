"""Poisson samples cut to a fixed batch size (truncated Poisson sampling): proofs in docs/theory/privacy/sampling.md."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import ClassVar

from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import Interval, round_up
from deniable.numbers.rationals import Real, positive_integer
from deniable.privacy.around.mixture import MixedLaw
from deniable.privacy.around.sampling.poisson import (
    SampledLaw,
    SampledLoss,
    amplified_limit,
    checked_base,
    checked_rate,
    known_laws,
    mixed_pairs,
    removed_delta,
    sampled_delta,
)
from deniable.privacy.around.sampling.poisson_replace import PoissonReplacedLoss, exchanged_laws, exchanged_normal_delta
from deniable.privacy.around.sampling.subsets import MirroredLaw
from deniable.privacy.currencies.gaussian_dp import gaussian_delta
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.pld.law import Pairs, ReversedLaw
from deniable.privacy.relation import AddRemove, Relation, Replace

_RANGES = 256  # of sizes of the data: the last one is so short a part of all, the others are longer and longer
_SHORTEST = 16  # but not above such a part of what is left
_SELDOM = 1e-25  # below it all sizes are one range


@dataclass(frozen=True, init=False)
class CappedPoissonLoss(SampledLoss):
    """`base` on a Poisson sample of at most `population` units; if it has more than `cap`, a random `cap` are kept.

    Guarantee: with f the probability that `cap` or more other units are in the sample, r <= rate the probability that
        the unit is then in the sample and kept, and D the pair of one unit in place of another, the public mixture, of
        weights 1 - f and f, of Poisson sampling of `base` and, under add/remove, of ((1 - r) D_2 + r D_1, D_2) or its
        reverse; under replace of the one pair above both. The greatest of these over all sizes of the data up to
        `population`: for Gaussian noise as it is, otherwise by a pair above all, where the second is drawn at `rate`
        and its weight is the greatest f r / rate. At least Poisson sampling of `base` under the same relation, attained
        by data of at most `cap` units.
    Source: Ganesh et al. (2025), arXiv:2508.15089, treat the same samples; the bound is proved in
        docs/theory/privacy/sampling.md.
    """

    kind: ClassVar[str] = "capped_poisson"
    base: PrivacyLoss
    rate: Fraction
    cap: int
    population: int
    relation: Relation
    failure = Fraction(0)

    def __init__(
        self,
        base: PrivacyLoss,
        rate: Real,
        cap: object,
        population: object,
        relation: Relation | str = AddRemove,
    ) -> None:
        most, whole = positive_integer("cap", cap), positive_integer("population", population)
        object.__setattr__(self, "base", checked_base(base, AddRemove, "Poisson sampling", "capped_poisson_sampled"))
        object.__setattr__(self, "rate", checked_rate(rate, below_one=True))
        object.__setattr__(self, "cap", most)
        object.__setattr__(self, "population", whole)
        object.__setattr__(self, "relation", Relation(relation))

    def __repr__(self) -> str:
        size = f"rate={str(self.rate)!r}, cap={self.cap}, population={self.population}"
        relation = ", relation=Replace" if self.relation is Replace else ""
        return f"{self.base!r}.capped_poisson_sampled({size}{relation})"

    @property
    def full(self) -> Interval:
        """The probability that the other units fill the sample."""
        return Interval(0.0, 0.0) if self.cap >= self.population else self._full(self.population)

    @cached_property
    def cuts(self) -> list[tuple[Fraction, Fraction]]:
        """Bounds on f and on r for all sizes of the data that may be cut, range by range."""
        found, top, width = [], self.population, max(self.population // _RANGES, 1)
        while top > self.cap:
            full = Fraction(self._full(top).upper)
            least = max(top - width + 1, self.cap + 1) if full > _SELDOM else self.cap + 1
            found.append((full, Fraction(self._kept(least).upper)))
            top, width = least - 1, max(min(2 * width, top // _SHORTEST), 1)
        return found

    def _full(self, size: int) -> Interval:
        """f for `size` units in all; it grows with their number."""
        return certified(lambda: ball(self.rate).beta_lower(self.cap, size - self.cap, 1))

    def _kept(self, size: int) -> Interval:
        """r for `size` units in all; it falls with their number. cap/size P(Bin(size, rate) > cap) is f r."""

        def formula() -> Arb:
            share = ball(self.rate)
            more = share.beta_lower(self.cap + 1, size - self.cap, 1)
            return more * self.cap / size / share.beta_lower(self.cap, size - self.cap, 1)

        found = certified(formula)
        return Interval(min(found.lower, self._most_kept), min(found.upper, self._most_kept))

    @property
    def _most_kept(self) -> float:
        """rate cap / (cap + 1), rounded up: there are `cap` others at least."""
        return Interval.around(self.rate * Fraction(self.cap, self.cap + 1)).upper

    def laws(self) -> Pairs:
        return _pairs(self)

    def _closed_delta(self, epsilon: Fraction) -> Interval | None:
        """From curves where the noise is Gaussian."""
        moved = self.base.normal_mu_squared
        if moved is None:
            return None
        twice = partial(gaussian_delta, 4 * moved)
        if self.relation is Replace:
            alone = exchanged_normal_delta(moved, self.rate, epsilon)
            instead = partial(removed_delta, twice)
        else:
            alone = sampled_delta(partial(gaussian_delta, moved), self.rate, epsilon)
            instead = partial(sampled_delta, twice)
        least = Fraction(alone.upper)
        found = [(1 - f) * least + f * Fraction(instead(r, epsilon).upper) for f, r in self.cuts]
        upper = round_up(max([least, *found]))
        return Interval(min(alone.lower, upper), upper)

    @property
    def failing_epsilon(self) -> Fraction | None:
        limit = self.base.pure_epsilon
        return None if limit is None else amplified_limit(2 * limit, self.rate)


@lru_cache(maxsize=64)
def _pairs(loss: CappedPoissonLoss) -> Pairs:
    base, full = known_laws(loss.base), _weight(loss)
    exchanged = SampledLaw(exchanged_laws(base.upper[0], Fraction(1))[0], loss.rate)
    if loss.relation is Replace:
        free = PoissonReplacedLoss(loss.base, loss.rate).laws()
        upper = MixedLaw([(1 - full, free.upper[0]), (full, MirroredLaw(exchanged))]) if full else free.upper[0]
        return Pairs((upper, upper), free.lower)
    free = mixed_pairs(base, loss.rate)
    if not full:
        return free
    upper = MixedLaw([(1 - full, free.upper[0]), (full, exchanged)])
    back = MixedLaw([(1 - full, free.upper[1]), (full, ReversedLaw(exchanged))])
    return Pairs((upper, back), free.lower)


def _weight(loss: CappedPoissonLoss) -> Fraction:
    """A bound on f r / rate."""
    return max((f * min(r / loss.rate, Fraction(1)) for f, r in loss.cuts), default=Fraction(0))

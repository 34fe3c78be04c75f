"""Poisson samples cut to a fixed batch size (truncated Poisson sampling): proofs in docs/theory/sampling.md."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import ClassVar

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy.currencies.gaussian_dp import gaussian_delta
from deniable.privacy.exact import exact_rational, positive_integer
from deniable.privacy.interval import Interval, round_up
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.pld.law import Pairs, ReversedLaw
from deniable.privacy.pld.laws import NormalLaw
from deniable.privacy.profile import ball, certified
from deniable.privacy.public_mixture import MixedLaw
from deniable.privacy.relation import AddRemove, Relation, Replace
from deniable.privacy.sampling.poisson import (
    SampledLaw,
    SampledLoss,
    amplified_limit,
    known_laws,
    mixed_pairs,
    removed_delta,
    sampled_delta,
)
from deniable.privacy.sampling.poisson_replace import PoissonReplacedLoss, exchanged_laws, exchanged_normal_delta
from deniable.privacy.sampling.subsets import MirroredLaw


@dataclass(frozen=True, init=False)
class CappedPoissonLoss(SampledLoss):
    """`base` on a Poisson sample of at most `population` units; if it has more than `cap`, a random `cap` are kept.

    Guarantee: with f the probability that `cap` or more of population - 1 units are in the sample, and D the pair of
        one unit in place of another, the public mixture, of weights 1 - f and f, of Poisson sampling of `base` and,
        under add/remove, of ((1 - rate) D_2 + rate D_1, D_2) or its reverse; under replace of the one pair above both.
        At least Poisson sampling of `base` under the same relation, attained by data of at most `cap` units.
    Source: Ganesh et al. (2025), arXiv:2508.15089, treat the same samples; the bound is proved in
        docs/theory/sampling.md.
    """

    kind: ClassVar[str] = "capped_poisson"
    base: PrivacyLoss
    rate: Fraction
    cap: int
    population: int
    relation: Relation

    def __init__(
        self,
        base: PrivacyLoss,
        rate: object,
        cap: object,
        population: object,
        relation: Relation | str = AddRemove,
    ) -> None:
        share = exact_rational("rate", rate)
        most, whole = positive_integer("cap", cap), positive_integer("population", population)
        if not 0 < share < 1:
            raise InvalidParameterError(f"rate must be in (0, 1), got {rate!r}")
        known_laws(base)
        if AddRemove not in base.relations:
            raise UnprovedError(
                f"Poisson sampling is proved for losses under add/remove; {base!r} is stated for replace. State the "
                "loss for AddRemove; capped_poisson_sampled(..., relation=Replace) then gives the guarantee under "
                "replace. Or use sampled_without_replacement()."
            )
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "rate", share)
        object.__setattr__(self, "cap", most)
        object.__setattr__(self, "population", whole)
        object.__setattr__(self, "relation", Relation(relation))

    def __repr__(self) -> str:
        size = f"rate={str(self.rate)!r}, cap={self.cap}, population={self.population}"
        relation = ", relation=Replace" if self.relation is Replace else ""
        return f"{self.base!r}.capped_poisson_sampled({size}{relation})"

    def to_data(self) -> dict[str, object]:
        size: dict[str, object] = {"rate": str(self.rate), "cap": self.cap, "population": self.population}
        stated = {"relation": str(self.relation)} if self.relation is Replace else {}
        return {"loss": self.kind, "base": self.base.to_data(), **size, **stated}

    @property
    def share(self) -> Fraction:
        return self.rate

    @property
    def full(self) -> Interval:
        """The probability that the other units fill the sample."""
        units = self.population - 1
        if self.cap > units:
            return Interval(0.0, 0.0)
        return certified(lambda: ball(self.rate).beta_lower(self.cap, units - self.cap + 1, 1))

    def laws(self) -> Pairs:
        return _pairs(self)

    def _closed_delta(self, epsilon: Fraction) -> Interval | None:
        """From curves where the noise is Gaussian."""
        moved = self.base.mu_squared
        if moved is None or not isinstance(known_laws(self.base).upper[0], NormalLaw):
            return None
        twice = partial(gaussian_delta, 4 * moved)
        if self.relation is Replace:
            alone = exchanged_normal_delta(moved, self.rate, epsilon)
            instead = removed_delta(twice, self.rate, epsilon)
        else:
            alone = sampled_delta(partial(gaussian_delta, moved), self.rate, epsilon)
            instead = sampled_delta(twice, self.rate, epsilon)
        full = Fraction(self.full.upper)
        upper = round_up((1 - full) * Fraction(alone.upper) + full * Fraction(instead.upper))
        return Interval(min(alone.lower, upper), upper)

    @property
    def failure(self) -> Fraction:
        return Fraction(0)

    @property
    def pure_epsilon(self) -> Fraction | None:
        limit = self.base.pure_epsilon
        return None if limit is None or self.base.failure else amplified_limit(2 * limit, self.rate)

    @property
    def relations(self) -> frozenset[Relation]:
        return frozenset({self.relation})


@lru_cache(maxsize=64)
def _pairs(loss: CappedPoissonLoss) -> Pairs:
    base, full = known_laws(loss.base), Fraction(loss.full.upper)
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


def capped_poisson_sampled(
    loss: PrivacyLoss, rate: object, cap: object, population: object, relation: Relation
) -> PrivacyLoss:
    """`loss` on a Poisson sample that is cut to `cap` units."""
    return CappedPoissonLoss(loss, rate, cap, population, relation)

"""Random allocation (balls in bins): a unit takes part in one of many runs, chosen at random; proofs in
docs/theory/privacy/allocation.md.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import positive_integer
from deniable.privacy.around.compose import compose
from deniable.privacy.around.sampling.allocated_law import allocated_law, nothing
from deniable.privacy.around.sampling.poisson import SampledLoss, known_laws
from deniable.privacy.around.sampling.poisson_replace import poisson_replaced
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.pld.law import Pairs, ReversedLaw
from deniable.privacy.relation import AddRemove, Relation

_MOST_RUNS = 10**6


@dataclass(frozen=True, init=False)
class RandomlyAllocatedLoss(SampledLoss):
    """`base` run `runs` times, where each unit takes part in exactly one run, chosen uniformly at random.

    Guarantee: under add/remove, if (P, Q) dominates the pair (with, without) of each run, all together are dominated by
        the mean over i of Q x ... x P x ... x Q, P in place i, against Q x ... x Q. Attained where (P, Q) is.
    Error: the laws are computed on a grid of some thousand points, as fine as the spread of the loss asks for; the
        width grows with `runs` and is seen in the answer. Losses beyond 300 are not told apart: the base bounds them.
    Source: Feldman, Shenfeld (2025), arXiv:2502.08202; (2026), arXiv:2602.17284; Chua et al. (2024), arXiv:2412.16802;
        proof in docs/theory/privacy/allocation.md.
    """

    kind: ClassVar[str] = "randomly_allocated"
    base: PrivacyLoss
    runs: int

    def __init__(self, base: PrivacyLoss, runs: object) -> None:
        count = positive_integer("runs", runs)
        if not 2 <= count <= _MOST_RUNS:
            raise InvalidParameterError(f"runs must be from 2 to {_MOST_RUNS}, got {count}")
        known_laws(base)
        if AddRemove not in base.relations:
            raise UnprovedError(
                f"random allocation is proved for losses under add/remove; {base!r} is stated for replace. State the "
                "loss for AddRemove; randomly_allocated(..., relation=Replace) then gives the guarantee under replace."
            )
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "runs", count)

    def __repr__(self) -> str:
        return f"{self.base!r}.randomly_allocated(of={self.runs})"

    @property
    def share(self) -> Fraction:
        return Fraction(1)

    def laws(self) -> Pairs:
        return _pairs(self)

    def _delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        """At most that of the base, where the grid does not tell more."""
        found = super()._delta_within(epsilon, tolerance)
        if found.width <= tolerance * found.upper:
            return found
        upper = min(found.upper, self.base._delta_within(epsilon, tolerance).upper)
        return replace(found, lower=min(found.lower, upper), upper=upper)

    def _epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        found = super()._epsilon_within(delta, tolerance)
        if math.isfinite(found.upper) and found.width <= tolerance * found.upper:
            return found
        upper = min(found.upper, self.base._epsilon_within(delta, tolerance).upper)
        return replace(found, lower=min(found.lower, upper), upper=upper)

    @property
    def failing_epsilon(self) -> Fraction | None:
        return self.base.failing_epsilon

    @property
    def failing_rho(self) -> Fraction | None:
        return self.base.failing_rho

    @property
    def mu_squared(self) -> Fraction | None:
        return self.base.mu_squared

    @property
    def relations(self) -> frozenset[Relation]:
        return frozenset({AddRemove})


@lru_cache(maxsize=32)
def _pairs(loss: RandomlyAllocatedLoss) -> Pairs:
    base = known_laws(loss.base)
    if loss.pure_epsilon == 0:
        return Pairs.symmetric(nothing())
    upper = allocated_law(base.upper[0], loss.runs, upper=True)
    lower = allocated_law(base.lower[0], loss.runs, upper=False)
    return Pairs((upper, ReversedLaw(upper)), (lower, ReversedLaw(lower)))


def randomly_allocated(loss: PrivacyLoss, of: object, uses: object, relation: Relation) -> PrivacyLoss:
    """`of` runs of `loss` in `uses` blocks of equal length; each unit takes part once in each block, at random.

    Under replace it has either of two values there.
    """
    from deniable.privacy.around.sampling.allocation_replace import AllocatedReplacedLoss

    runs, blocks = positive_integer("of", of), positive_integer("uses", uses)
    if blocks > runs:
        raise InvalidParameterError(
            f"uses must be at most of={runs}, got {blocks}: a unit takes part at most once in each run. Where it takes "
            f"part in every run, compose: loss * {runs}."
        )
    if runs % blocks:
        raise InvalidParameterError(
            f"of={runs} must be a multiple of uses={blocks}: the runs are cut into that many blocks. A bound for any "
            f"{blocks} runs of {runs} is that for of={runs - runs % blocks}."
        )
    if runs == blocks:
        return compose(loss if relation is AddRemove else poisson_replaced(loss, 1), blocks)
    block = RandomlyAllocatedLoss if relation is AddRemove else AllocatedReplacedLoss
    return compose(block(loss, runs // blocks), blocks)

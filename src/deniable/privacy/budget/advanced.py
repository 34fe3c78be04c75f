"""The (epsilon, delta) filter that adds squares: advanced composition for parameters that depend on answers."""

from fractions import Fraction
from typing import ClassVar

from deniable.errors import InvalidParameterError
from deniable.numbers.interval import Interval, round_down
from deniable.numbers.rationals import positive_rational, probability
from deniable.privacy.budget.additive import concentrated_cost
from deniable.privacy.budget.filter import Amounts, Filter
from deniable.privacy.currencies.concentrated import concentrated_delta, largest_rho
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.losses.approximate import mixed_with_failure
from deniable.privacy.losses.pure import pure_delta
from deniable.privacy.relation import Relation


class AdvancedFilter(Filter):
    """For many small losses of any kind: pure, (epsilon, delta), rho, and mixtures of these.

    Failures add up to at most `failure`; and the epsilons to at most `epsilon`, or the rhos, which are at most
    epsilon_i^2 / 2, to at most the limit. The limit is the largest rho for which rho-zCDP implies (epsilon, rest)-DP,
    where 1 - delta = (1 - failure)(1 - rest).

    Args:
        failure: the part of delta that is kept for deltas of the mechanisms; by default half of it.

    Guarantee: (epsilon, delta)-DP. With S the sum of epsilon_i^2 and failures aside, everything is admitted that the
        rule of Whitehouse et al. admits: S/2 + sqrt(2 S ln(1/rest)) <= epsilon.
    Source: Whitehouse, Ramdas, Rogers, Wu (2023), arXiv:2203.05481; proof in docs/theory/privacy/budget.md, theorem 4.
    """

    kind: ClassVar[str] = "advanced"
    remedy: ClassVar[str] = "State one pair that it satisfies: Stated(loss, epsilon, delta)."

    def __init__(self, *, epsilon: object, delta: object, failure: object = None, relation: Relation) -> None:
        self._epsilon, self._whole = positive_rational("epsilon", epsilon), probability("delta", delta)
        self._failure = self._whole / 2 if failure is None else probability("failure", failure)
        if not self._failure < self._whole:
            raise InvalidParameterError(
                f"failure must be below delta={delta}, got {failure}: the rest of delta is what adding squares costs"
            )
        rest = (self._whole - self._failure) / (1 - self._failure)
        self._rest = probability("delta", Fraction(round_down(rest)))
        rho = largest_rho(self._epsilon, self._rest)
        super().__init__(relation, {"epsilon": self._epsilon, "rho": rho, "failure": self._failure})

    def _cost(self, loss: PrivacyLoss) -> Amounts | None:
        cost = concentrated_cost(loss)
        if cost is None:
            return None
        booked = loss.charge().epsilon if loss.failing_rho is None else loss.failing_epsilon
        return {"epsilon": booked, **cost}

    def _fits(self, total: Amounts) -> bool:
        return self._within("failure", total) and (self._within("epsilon", total) or self._within("rho", total))

    def _delta(self, epsilon: Fraction) -> Interval:
        by_squares = Fraction(concentrated_delta(self._limits["rho"], epsilon))
        both = min(by_squares + Fraction(pure_delta(self._epsilon, epsilon).upper), Fraction(1))
        return Interval(0.0, mixed_with_failure(Interval.around(both), self._failure).upper)

    def _settings(self) -> dict[str, object]:
        return {"epsilon": str(self._epsilon), "delta": str(self._whole), "failure": str(self._failure)}

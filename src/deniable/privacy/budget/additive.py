"""Filters that add: epsilon, (epsilon, delta), rho with failures, squared mu."""

from fractions import Fraction
from typing import ClassVar

from deniable.numbers.interval import Interval
from deniable.numbers.rationals import positive_rational, probability
from deniable.privacy.budget.filter import Amounts, Filter
from deniable.privacy.currencies.concentrated import concentrated_delta
from deniable.privacy.currencies.gaussian_dp import gaussian_delta
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.losses.approximate import mixed_with_failure
from deniable.privacy.losses.pure import pure_delta
from deniable.privacy.relation import Relation


class PureFilter(Filter):
    """The sum of epsilons stays at most `epsilon`.

    Guarantee: epsilon-DP, exactly: one mechanism may use all of it.
    Source: Rogers, Roth, Ullman, Vadhan (2016), arXiv:1605.08294; proof in docs/theory/privacy/budget.md, theorem 1.
    """

    kind: ClassVar[str] = "pure"
    remedy: ClassVar[str] = "Use a mechanism with a finite epsilon and no delta, or ApproximateFilter."

    def __init__(self, *, epsilon: object, relation: Relation) -> None:
        self._epsilon = positive_rational("epsilon", epsilon)
        super().__init__(relation, {"epsilon": self._epsilon})

    def _cost(self, loss: PrivacyLoss) -> Amounts | None:
        charge = loss.charge()
        return None if charge.epsilon is None or charge.delta else {"epsilon": charge.epsilon}

    def _delta(self, epsilon: Fraction) -> Interval:
        return pure_delta(self._epsilon, epsilon)

    def _pure_limit(self) -> Fraction:
        return self._epsilon

    def _settings(self) -> dict[str, object]:
        return {"epsilon": str(self._epsilon)}


class ApproximateFilter(Filter):
    """The sum of epsilons stays at most `epsilon`, and that of deltas at most `delta`.

    A loss without a finite epsilon of its own is charged at the pair that was stated for it: `Stated(loss, epsilon,
    delta)`. A composition of fixed losses may be stated as one.

    Guarantee: (epsilon, delta)-DP. For many small losses AdvancedFilter allows more.
    Source: Rogers, Roth, Ullman, Vadhan (2016), arXiv:1605.08294; proof in docs/theory/privacy/budget.md, theorem 1.
    """

    kind: ClassVar[str] = "approximate"
    remedy: ClassVar[str] = "State one pair that it satisfies: Stated(loss, epsilon, delta)."

    def __init__(self, *, epsilon: object, delta: object, relation: Relation) -> None:
        self._epsilon, self._failure = positive_rational("epsilon", epsilon), probability("delta", delta)
        super().__init__(relation, {"epsilon": self._epsilon, "delta": self._failure})

    def _cost(self, loss: PrivacyLoss) -> Amounts | None:
        charge = loss.charge()
        return None if charge.epsilon is None else {"epsilon": charge.epsilon, "delta": charge.delta}

    def _delta(self, epsilon: Fraction) -> Interval:
        return mixed_with_failure(pure_delta(self._epsilon, epsilon), self._failure)

    def _pure_limit(self) -> Fraction:
        return self._epsilon

    def _settings(self) -> dict[str, object]:
        return {"epsilon": str(self._epsilon), "delta": str(self._failure)}


class ConcentratedFilter(Filter):
    """The sum of rho stays at most `rho`, and that of failures at most `failure`.

    Guarantee: failure-approximate rho-zCDP: delta at most 1 - (1 - failure)(1 - delta of rho-zCDP).
    Source: Whitehouse, Ramdas, Rogers, Wu (2023), arXiv:2203.05481; proof in docs/theory/privacy/budget.md, theorems 1
        and 3.
    """

    kind: ClassVar[str] = "concentrated"
    remedy: ClassVar[str] = (
        "Use a mechanism with a proved rho, or RenyiFilter, or ApproximateFilter with a stated pair."
    )

    def __init__(self, *, rho: object, failure: object = 0, relation: Relation) -> None:
        self._rho, self._failure = positive_rational("rho", rho), probability("failure", failure)
        super().__init__(relation, {"rho": self._rho, "failure": self._failure})

    def _cost(self, loss: PrivacyLoss) -> Amounts | None:
        return concentrated_cost(loss)

    def _delta(self, epsilon: Fraction) -> Interval:
        attained = gaussian_delta(2 * self._rho, epsilon).lower
        return mixed_with_failure(Interval(attained, concentrated_delta(self._rho, epsilon)), self._failure)

    def _settings(self) -> dict[str, object]:
        return {"rho": str(self._rho), "failure": str(self._failure)}


class GaussianFilter(Filter):
    """The sum of squared mu stays at most mu^2.

    Guarantee: mu-GDP. Nothing is lost for Gaussian noise: the curve is that of the same noise with fixed parameters.
    Source: Smith, Thakurta (2022), arXiv:2210.17520; proof in docs/theory/privacy/budget.md, theorem 1.
    """

    kind: ClassVar[str] = "gaussian"
    remedy: ClassVar[str] = "Use a mechanism with a proved mu, or RenyiFilter, or ApproximateFilter with a stated pair."

    def __init__(self, *, mu: object, relation: Relation) -> None:
        self._mu = positive_rational("mu", mu)
        super().__init__(relation, {"mu_squared": self._mu**2})

    def _cost(self, loss: PrivacyLoss) -> Amounts | None:
        spent = loss.mu_squared
        return None if spent is None or loss.failure else {"mu_squared": spent}

    def _delta(self, epsilon: Fraction) -> Interval:
        return gaussian_delta(self._mu**2, epsilon)

    def _settings(self) -> dict[str, object]:
        return {"mu": str(self._mu)}


def concentrated_cost(loss: PrivacyLoss) -> Amounts | None:
    """rho and failure of a loss: its own, or epsilon^2 / 2 and delta of the pair that is booked for it.

    Guarantee: (epsilon, delta)-DP implies delta-approximate epsilon^2/2-zCDP; docs/theory/privacy/budget.md, lemma 2.
    """
    if loss.failing_rho is not None:
        return {"rho": loss.failing_rho, "failure": loss.failure}
    charge = loss.charge()
    return None if charge.epsilon is None else {"rho": charge.epsilon**2 / 2, "failure": charge.delta}

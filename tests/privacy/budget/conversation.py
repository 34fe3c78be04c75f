"""Small mechanisms and the worst analyst: every adaptive conversation is played out exactly."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeVar

import numpy as np

from deniable.errors import BudgetExceededError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    Budget,
    DiscreteGaussianLoss,
    PrivacyLoss,
    PureLoss,
    of_count,
)
from deniable.privacy.budget import Filter, Rule
from deniable.privacy.charge import Charge

State = TypeVar("State")

ONE = of_count(rows=1, groups=1, relation=AddRemove)


class Mechanism(NamedTuple):
    """What it is charged, and (P, Q) of every outcome."""

    loss: PrivacyLoss
    outcomes: list[tuple[float, float]]


def response(epsilon: str) -> Mechanism:
    """Randomised response."""
    e = math.exp(float(Fraction(epsilon)))
    return Mechanism(PureLoss(epsilon), [(e / (1 + e), 1 / (1 + e)), (1 / (1 + e), e / (1 + e))])


def failing(epsilon: str, delta: str) -> Mechanism:
    """The worst (epsilon, delta)-DP mechanism: one outcome never happens under Q, one never under P."""
    d = float(Fraction(delta))
    pairs = response(epsilon).outcomes
    outcomes = [((1 - d) * p, (1 - d) * q) for p, q in pairs] + [(d, 0.0), (0.0, d)]
    return Mechanism(ApproximateLoss(epsilon, delta), outcomes)


def gaussian(sigma_squared: int, cuts: tuple[int, ...]) -> Mechanism:
    """Discrete Gaussian noise on 1 against 0, of which only the bin between the cuts is seen."""
    k = np.arange(-400, 401)
    law = np.exp(-(k**2) / (2 * sigma_squared))
    law /= law.sum()
    bins = [float(part.sum()) for part in np.split(law, [400 + cut for cut in cuts])]
    moved = [float(part.sum()) for part in np.split(law, [399 + cut for cut in cuts])]
    return Mechanism(DiscreteGaussianLoss(sigma_squared, ONE), list(zip(moved, bins, strict=True)))


def worst_delta(
    menu: Sequence[Mechanism], budget: Budget, epsilon: float, rounds: int, *, rule: Rule | None = None
) -> float:
    """delta at epsilon of the best analyst against a budget, by backward recursion over all conversations.

    Args:
        rule: how charges add up, whichever comes first; by default as the budget chooses.
    """
    charges = [budget.price(mechanism.loss) for mechanism in menu]

    def after(state: tuple[Rule | None, Charge], index: int) -> tuple[Rule | None, Charge] | None:
        account = Filter.resumed(budget, relation=AddRemove, rule=state[0], total=state[1])
        try:
            account.charge_amount(charges[index])
        except (BudgetExceededError, UnprovedError):
            return None
        return account.rule, account.spent

    return worst_value(menu, (rule, Charge.nothing()), after, epsilon, rounds)


def worst_value(
    menu: Sequence[Mechanism],
    start: State,
    after: Callable[[State, int], State | None],
    epsilon: float,
    rounds: int,
) -> float:
    """The same for any rule: `after` says which state follows a mechanism, or None where it is refused."""

    def best(p: float, q: float, state: State, left: int) -> float:
        value = max(p - math.exp(epsilon) * q, 0.0)
        for index, mechanism in enumerate(menu if left else []):
            then = after(state, index)
            if then is not None:
                value = max(value, sum(best(p * a, q * b, then, left - 1) for a, b in mechanism.outcomes))
        return value

    return best(1.0, 1.0, start, rounds)

"""Small mechanisms and the worst analyst: every adaptive conversation is played out exactly."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeVar

import numpy as np

from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    DiscreteGaussianLoss,
    PrivacyLoss,
    PureLoss,
    of_count,
)
from deniable.privacy.budget.filter import Amounts, Filter

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


def worst_delta(menu: Sequence[Mechanism], rule: Filter, epsilon: float, rounds: int) -> float:
    """delta at epsilon of the best analyst against the filter, by backward recursion over all conversations."""
    costs = [rule._checked_cost(mechanism.loss) for mechanism in menu]
    start: Amounts = {name: Fraction(0) for name in rule.limits}

    def sums_after(total: Amounts, index: int) -> Amounts | None:
        after = {name: None if v is None or (c := costs[index][name]) is None else v + c for name, v in total.items()}
        return after if rule._fits(after) else None

    return worst_value(menu, start, sums_after, epsilon, rounds)


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

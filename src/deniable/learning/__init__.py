"""Private learning: losses, feasible sets, descents, and how near to the best parameters they end."""

from deniable.learning.descent import Descent, NoisyDescent, descend, descend_by_samples
from deniable.learning.losses import Hinge, HuberisedHinge, Logistic, Loss, Squared
from deniable.learning.rates import (
    descent_bound,
    exponential_excess_risk,
    noisy_descent_excess_risk,
    noisy_descent_steps,
    optimal_rate,
)
from deniable.learning.sets import Box, FeasibleSet, L1Ball, L2Ball, Simplex

__all__ = [
    "Box",
    "Descent",
    "FeasibleSet",
    "Hinge",
    "HuberisedHinge",
    "L1Ball",
    "L2Ball",
    "Logistic",
    "Loss",
    "NoisyDescent",
    "Simplex",
    "Squared",
    "descend",
    "descend_by_samples",
    "descent_bound",
    "exponential_excess_risk",
    "noisy_descent_excess_risk",
    "noisy_descent_steps",
    "optimal_rate",
]


def __dir__() -> list[str]:
    return sorted(__all__)

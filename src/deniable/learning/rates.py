"""Error rates of descents and private learners.

R is the largest distance from the start to a feasible point, G the Lipschitz constant of every row's loss, n the
public number of rows. All losses are convex means over the n rows unless a function says otherwise.
"""

import math
from typing import Any

from deniable.arguments import in_words
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import Real, positive_integer, positive_rational, probability
from deniable.privacy import AddRemove, Relation
from deniable.privacy.notions.concentrated import largest_rho

__all__ = [
    "descent_bound",
    "exponential_excess_risk",
    "noisy_descent_excess_risk",
    "noisy_descent_steps",
    "optimal_rate",
]


def _number(name: str, value: Any) -> float:
    return float(positive_rational(name, value))


@in_words
def descent_bound(*, radius: Real, lipschitz: Real, steps: int) -> float:
    """Bound the excess loss of the AVERAGE of the iterates of projected descent.

    It is R G / sqrt(T) for T iterates with step R / (G sqrt(T)), in expectation for unbiased gradients with E[norm^2]
    <= G^2. It does not hold for the last iterate.

    Args:
        radius: R, for which the diameter of the set always suffices.
        lipschitz: G.
        steps: T.

    Source: Zinkevich (2003); Nemirovski, Juditsky, Lan, Shapiro (2009), for noisy gradients. Proof: in `descend`.

    >>> descent_bound(radius=2, lipschitz=3, steps=36)
    1.0
    """
    return _number("radius", radius) * _number("lipschitz", lipschitz) / math.sqrt(positive_integer("steps", steps))


@in_words
def noisy_descent_steps(*, columns: int, size: int, epsilon: Real, delta: Real) -> int:
    """Return the number of steps that balances noise and optimisation errors.

    T = n^2 rho / (2 d), rounded up. Valid for descents that use all rows in every step; not for one row a step.

    Args:
        columns: d, the number of parameters.
        size: n, the number of rows.
        epsilon, delta: the price, both greater than 0.

    >>> noisy_descent_steps(columns=10, size=1000, epsilon=1, delta="1e-6")
    1218
    """
    rho = _rho(epsilon, delta)
    return max(1, math.ceil(positive_integer("size", size) ** 2 * rho / (2 * positive_integer("columns", columns))))


@in_words
def noisy_descent_excess_risk(
    *, radius: Real, lipschitz: Real, columns: int, size: int, epsilon: Real, delta: Real, steps: int | None = None
) -> float:
    """Bound the excess empirical risk of full-batch noisy descent under replace.

    It is that of the averaged iterate. With noise of variance s^2 = T (2 G / n)^2 / (2 rho) in every coordinate of T
    mean gradients, which is rho-zCDP, and the step R / sqrt(T (G^2 + d s^2)), it is R sqrt((G^2 + d s^2) / T) = R G
    sqrt(1 / T + 2 d / (rho n^2)).

    Args:
        radius: R.
        lipschitz: G, at which gradients are clipped.
        columns, size: d and n.
        epsilon, delta: the price.
        steps: T; by default that of `noisy_descent_steps`, for O(R G sqrt(d ln(1/delta)) / (n epsilon)).

    Source: Bassily, Smith, Thakurta (2014), arXiv:1405.7085, for the rate; derived as above, with constants.

    >>> round(noisy_descent_excess_risk(radius=1, lipschitz=1, columns=10, size=10**4, epsilon=1, delta="1e-6"), 5)
    0.00405
    """
    rho = _rho(epsilon, delta)
    if steps is None:
        steps = noisy_descent_steps(columns=columns, size=size, epsilon=epsilon, delta=delta)
    noise = 2 * positive_integer("columns", columns) / (rho * positive_integer("size", size) ** 2)
    spread = math.sqrt(1 / positive_integer("steps", steps) + noise)
    return _number("radius", radius) * _number("lipschitz", lipschitz) * spread


@in_words
def exponential_excess_risk(
    *, radius: Real, lipschitz: Real, columns: int, size: int, epsilon: Real, relation: Relation = AddRemove
) -> float:
    """Bound the excess empirical risk of the exponential mechanism over a ball.

    Parameters have density ~ exp(-k L) with k = epsilon n / (2 D), where D = R G under add/remove and 2 R G under
    replace is half of the largest oscillation of what one row changes. The bound is r G + (d ln(2 R / r) + 1) / k with
    r = d / (k G), or 2 R G if that is less. Proof: docs/theory/learning/erm.md.

    Args:
        radius: R of the Euclidean ball.
        lipschitz: G.
        columns, size: d and n.
        epsilon: the price.
        relation: AddRemove or Replace.

    Source: Bassily, Smith, Thakurta (2014), arXiv:1405.7085, for the rate; derived as above.

    >>> round(exponential_excess_risk(radius=1, lipschitz=1, columns=5, size=1000, epsilon=1), 5)
    0.06498
    """
    ball_radius = _number("radius", radius)
    slope = _number("lipschitz", lipschitz)
    moved = ball_radius * slope * (1 if relation is AddRemove else 2)
    inverse = 2 * moved / (_number("epsilon", epsilon) * positive_integer("size", size))
    small = positive_integer("columns", columns) * inverse / slope
    if small >= 2 * ball_radius:
        return 2 * ball_radius * slope
    return min(2 * ball_radius * slope, small * slope + inverse * (columns * math.log(2 * ball_radius / small) + 1))


@in_words
def optimal_rate(
    *, radius: Real, lipschitz: Real, columns: int, size: int, epsilon: Real, delta: Real = 0,
    strong_convexity: Real | None = None,
) -> float:  # fmt: skip
    """Return the optimal order of the excess empirical risk, without its constant.

    | losses              | delta = 0                     | delta > 0                              |
    |---------------------|-------------------------------|----------------------------------------|
    | convex              | R G d / (n epsilon)           | R G sqrt(d ln(1/delta)) / (n epsilon)  |
    | l-strongly convex   | G^2 d^2 / (l n^2 epsilon^2)   | G^2 d ln(1/delta) / (l n^2 epsilon^2)  |

    Upper bounds have further logarithms of n and d, and need epsilon of at most about 1. The start alone attains R G.

    Args:
        radius, lipschitz, columns, size: R, G, d and n.
        epsilon, delta: the price; delta may be 0.
        strong_convexity: l; None for losses that are merely convex.

    Source: Bassily, Smith, Thakurta (2014), arXiv:1405.7085.

    >>> optimal_rate(radius=1, lipschitz=1, columns=100, size=10_000, epsilon=1)
    0.01
    """
    excess = _number("epsilon", epsilon)
    below = float(probability("delta", delta))
    dimensions = positive_integer("columns", columns)
    ball_radius = _number("radius", radius)
    slope = _number("lipschitz", lipschitz)
    cost = math.sqrt(dimensions * math.log(1 / below)) if below else dimensions
    share = cost / (positive_integer("size", size) * excess)
    if strong_convexity is None:
        return ball_radius * slope * min(1.0, share)
    return min(ball_radius * slope, slope**2 * share**2 / _number("strong_convexity", strong_convexity))


def _rho(epsilon: object, delta: object) -> float:
    """Return the largest rho of zCDP that gives (epsilon, delta), for planning.

    A run certifies its own loss.
    """
    excess, below = positive_rational("epsilon", epsilon), probability("delta", delta)
    if not below:
        raise InvalidParameterError("delta must be > 0 for Gaussian noise, got 0")
    return float(largest_rho(excess, below))

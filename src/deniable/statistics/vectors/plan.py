"""The steps of a private mean: how much each may cost, and where it clips. All of it from public numbers."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

_STEPS = (1, 2, 3, 4, 6, 8)
_LAST = tuple(Fraction(percent, 100) for percent in (50, 60, 70, 80, 85, 90, 95))
SMALLEST_SHARE = (1 - max(_LAST)) / (max(_STEPS) - 1)

_CLIPPED = 0.05  # so many normal rows lie outside the ball of a step
_MISSED = 0.01  # so often the mean lies outside the ball that the steps before left


@dataclass(frozen=True)
class Plan:
    """Steps of a private mean, in standard deviations of one column.

    Args:
        shares: of the price, one a step.
        radii: of the balls to which rows are clipped.
        weights: of the answers of the steps in the final answer.
        deviation: of the noise in one column of the final answer.
    """

    shares: tuple[Fraction, ...]
    radii: tuple[float, ...]
    weights: tuple[float, ...]
    deviation: float


def best_plan(size: float, *, columns: int, reach: float, noise: Callable[[Fraction], float]) -> Plan:
    """The plan with the least noise in the final answer.

    Args:
        size: the number of rows, as far as it is public.
        reach: norm of the largest distance of the mean from the first centre.
        noise: standard deviation of the noise of a sum of rows clipped to the unit ball, for a share of the price.
    """
    from scipy.stats import chi2

    outer, inner = (math.sqrt(chi2.isf(miss, columns)) for miss in (_CLIPPED, _MISSED))
    start = (max(size, 1.0), reach)
    shares = [_shares(steps, last) for steps in _STEPS for last in (_LAST if steps > 1 else (Fraction(1),))]
    plans = (_plan(each, start, (outer, inner), noise) for each in shares)
    return min(plans, key=lambda plan: plan.deviation)


def _shares(steps: int, last: Fraction) -> tuple[Fraction, ...]:
    """The last step gets `last`, the others the same each."""
    return (*[(1 - last) / (steps - 1)] * (steps - 1), last) if steps > 1 else (last,)


def _plan(
    shares: tuple[Fraction, ...],
    start: tuple[float, float],
    quantiles: tuple[float, float],
    noise: Callable[[Fraction], float],
) -> Plan:
    """Follow the radii: after each step the mean is known up to the noise so far and its own 1 / sqrt(size)."""
    (size, reach), (outer, inner) = start, quantiles
    radii: list[float] = []
    precisions: list[float] = []
    for share in shares:
        # a row's squared distance from the centre is reach^2 + 2 reach z + |row|^2, with z below 3 for most rows
        radii.append(min(math.sqrt(reach**2 + 6 * reach + outer**2), reach + outer))
        precisions.append((size / (radii[-1] * noise(share))) ** 2)
        reach = min(reach, inner * math.sqrt(1 / size + 1 / sum(precisions)))
    total = sum(precisions)
    return Plan(shares, tuple(radii), tuple(precision / total for precision in precisions), 1 / math.sqrt(total))

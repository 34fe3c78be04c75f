"""The least noise, the most steps or the largest rate that keeps a promise, found on the private side."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Literal, Unpack, overload

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import (
    Real,
    decimal_above,
    decimal_text,
    exact_rational,
    positive_integer,
    positive_rational,
    probability,
    shown,
)
from deniable.privacy.calibration.search import ROUGH, SMALLEST, Domain, best_setting, closer_setting
from deniable.privacy.calibration.target import Goal, Target, goal_of
from deniable.privacy.deadline import checkpoint
from deniable.privacy.loss import PrivacyLoss, compose
from deniable.privacy.losses.discrete_gaussian import (
    DiscreteGaussianStatement,
    mu_squared_of_step,
)
from deniable.privacy.losses.discrete_laplace import checked_sensitivity
from deniable.privacy.notions.concentrated import largest_rho
from deniable.privacy.pld.accountant import DEFAULT_TOLERANCE, checked_tolerance
from deniable.privacy.sensitivity import Sensitivity

_DIGITS = 9  # significant decimal digits of a searched sigma_squared
_EXTREME = 10**100  # an epsilon beyond it, or a mu^2 below its inverse, needs noise that no lattice has
_MOST_MISSED = 4  # trials out of the reach of the engine, each of which may take seconds


def laplace_scale(sensitivity: Sensitivity, epsilon: Real) -> Fraction:
    """The scale of discrete Laplace noise on integers that is epsilon-DP: l1 / epsilon, exact and least."""
    reach = _moving(sensitivity)
    return reach.l1 / positive_rational("epsilon", epsilon)


def gaussian_sigma_squared(
    sensitivity: Sensitivity,
    *,
    rho: Real | None = None,
    mu_squared: Real | None = None,
    epsilon: Real | None = None,
    delta: Real | None = None,
) -> Fraction:
    """sigma^2 of discrete Gaussian noise on integers for a target rho, mu^2, or (epsilon, delta).

    Guarantee: with rho: l2^2 / (2 rho), exact and least. With the others: `DiscreteGaussianLoss` proves the target, and
        the value was rounded up to 9 digits. The curve of one coordinate is exact; several coordinates are bounded by
        the better of rho and mu. To split a pair over several questions, split `largest_mu_squared` or `largest_rho`.
    Raises: InvalidParameterError unless exactly one target is given.
    """
    reach = _moving(sensitivity)
    if sum(target is not None for target in (rho, mu_squared, epsilon)) != 1 or (delta is None) != (epsilon is None):
        raise InvalidParameterError("give one of rho, mu_squared, or epsilon with delta, to calibrate Gaussian noise")
    if rho is not None:
        return reach.l2_squared / (2 * positive_rational("rho", rho))
    if mu_squared is not None:
        goal = positive_rational("mu_squared", mu_squared)
        if goal * _EXTREME < reach.l2_squared:
            raise InvalidParameterError(
                f"mu_squared must be at least 1e-100 l2^2 for Gaussian noise, got {shown(goal)}"
            )
        return _least_for_mu(reach, goal)
    target = probability("delta", delta)
    if target == 0:
        raise InvalidParameterError("delta must be > 0 for Gaussian noise, got 0. Use Laplace noise for delta = 0.")
    excess = positive_rational("epsilon", epsilon)
    if excess > _EXTREME:
        raise InvalidParameterError(f"epsilon must be at most 1e100 for Gaussian noise, got {shown(excess)}")
    return _least_for_pair(reach, excess, target)


@lru_cache(maxsize=256)
def _least_for_pair(reach: Sensitivity, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The zCDP value is private; from there downwards by bisection."""

    def private(sigma_squared: Fraction) -> bool:
        return Fraction(DiscreteGaussianStatement(sigma_squared, reach).bound(epsilon)) <= delta

    return _least(private, decimal_above(reach.l2_squared / (2 * largest_rho(epsilon, delta)), _DIGITS))


@lru_cache(maxsize=256)
def _least_for_mu(reach: Sensitivity, target: Fraction) -> Fraction:
    """A little more than real Gaussian noise would need."""

    def private(sigma_squared: Fraction) -> bool:
        step = mu_squared_of_step(sigma_squared)
        return step is not None and step * reach.l2_squared <= target

    above = decimal_above(reach.l2_squared / target, _DIGITS)
    while not private(above):
        above = decimal_above(2 * above, _DIGITS)
    return _least(private, above)


def _least(private: Callable[[Fraction], bool], above: Fraction) -> Fraction:
    below = above / 2
    while private(below):
        checkpoint()
        above, below = below, below / 2
    while above > below * (1 + Fraction(1, 10 ** (_DIGITS - 1))):
        middle = decimal_above((above + below) / 2, _DIGITS)
        if not below < middle < above:
            break
        checkpoint()
        if private(middle):
            above = middle
        else:
            below = middle
    return above


def _moving(sensitivity: Sensitivity) -> Sensitivity:
    reach = checked_sensitivity(sensitivity).integral()
    if reach.l1 == 0:
        raise InvalidParameterError("the sensitivity is 0: no unit can change this aggregate, and it needs no noise")
    return reach


@overload
def calibrate(
    make: Callable[[Fraction], PrivacyLoss],
    *,
    over: tuple[object, object] | None = ...,
    integer: Literal[False] = ...,
    tolerance: float = ...,
    **target: Unpack[Target],
) -> Fraction: ...


@overload
def calibrate(
    make: Callable[[int], PrivacyLoss],
    *,
    over: tuple[object, object] | None = ...,
    integer: Literal[True],
    resolved: bool = ...,
    tolerance: float = ...,
    **target: Unpack[Target],
) -> int: ...


def calibrate(
    make: Callable[[Fraction], PrivacyLoss] | Callable[[int], PrivacyLoss],
    *,
    over: tuple[object, object] | None = None,
    integer: bool = False,
    resolved: bool = False,
    tolerance: float = DEFAULT_TOLERANCE,
    **target: Unpack[Target],
) -> Fraction | int:
    """The setting that uses the whole target: least noise, most steps, largest rate, or any other number.

    Guarantee: make(setting) proves the target; this was checked, whatever `make` is. That no better setting exists
        needs that the loss grows with the setting throughout, or shrinks.

    Args:
        make: the loss for one number: a Fraction with few decimal digits, or an int. Which way is private is found out.
        over: the least and the largest setting that `make` takes; nothing outside is tried. A least setting of 0 is not
            tried itself. By default from 0 to 10^12, or the integers from 1.
        tolerance: what is certified at the setting lies within this share below the target, or the next decimal is not
            proved to be private. The next integer is never proved to be private at this tolerance.
        resolved: with `integer`, narrow the tolerance until the next integer is proved not to be private.
        target: see `Target`.

    Raises: InvalidParameterError if no setting is proved to be private, or the next integer is not resolved.

    >>> from deniable.privacy import GaussianLoss
    >>> noise = calibrate(lambda s: GaussianLoss(s) * 10, epsilon=1, delta="1e-6")
    >>> (GaussianLoss(noise) * 10).epsilon("1e-6").upper <= 1
    True
    """
    goal = goal_of(target)
    if resolved and goal.sharper is not None:
        raise InvalidParameterError("resolved=True works with epsilon or advantage, not with true_positive_rate.")
    build = _checked(make)
    missed: list[Fraction] = []

    def excess(setting: Fraction, width: float) -> float:
        found = goal.excess(build(int(setting) if integer else setting), width)
        if math.isnan(found):
            missed.append(setting)
            if len(missed) > _MOST_MISSED:
                raise InvalidParameterError(
                    f"losses cannot be computed to the width needed at settings such as {decimal_text(setting)}. Give "
                    "settings nearer to the answer with over=, or a larger tolerance."
                )
        return found

    width = checked_tolerance(tolerance)
    domain = _domain(over, integer, width)
    rough = None
    if goal.sharper is not None and goal.quick is not None:
        first, sharper, goal = goal, goal.sharper, goal.quick
        try:
            rough = best_setting(excess, domain, max(width, ROUGH))
        except InvalidParameterError:  # no setting keeps the other goal, but one may keep this one
            goal = first
            missed.clear()
            rough = best_setting(excess, domain, max(width, ROUGH))
        goal = sharper(build(int(rough) if integer else rough))
        rough = best_setting(excess, domain, max(width, ROUGH), near=rough)
        goal = sharper(build(int(rough) if integer else rough))
    best = best_setting(excess, domain, width, near=rough, infinite=goal.infinite)
    if not integer:
        return best
    while resolved and not _is_last(int(best), domain, goal, build, width):
        width /= 10
        best = closer_setting(excess, domain, width, best)
    return int(best)


def _checked(make: object) -> Callable[[Fraction | int], PrivacyLoss]:
    """`make`, which is to return losses."""
    if not callable(make):
        raise InvalidParameterError(f"make must be a function from a setting to a loss, got {shown(make)}")

    def build(setting: Fraction | int) -> PrivacyLoss:
        loss = make(setting)
        if not isinstance(loss, PrivacyLoss):
            raise InvalidParameterError(
                f"make must return a PrivacyLoss, got {shown(loss)} for {decimal_text(Fraction(setting))}"
            )
        return loss

    return build


def _is_last(
    found: int, domain: Domain, goal: Goal, build: Callable[[Fraction | int], PrivacyLoss], width: float
) -> bool:
    """Whether a neighbour of the private integer `found` is certainly not private, or all integers are."""
    beside = [count for count in (found - 1, found + 1) if domain.lower <= count <= domain.upper]
    private = True
    for count in reversed(beside):  # one more is more often too many
        cost = goal.cost(build(count), width)
        if cost.lower > goal.limit:
            return True
        private &= cost.upper <= goal.limit
    return private and len(beside) < 2


def split(
    makes: Sequence[Callable[[Fraction], PrivacyLoss]],
    *,
    weights: Sequence[object] | None = None,
    over: tuple[object, object] | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
    **target: Unpack[Target],
) -> tuple[Fraction, ...]:
    """The noise of each mechanism of a workload so that all of them together use the whole target.

    Guarantee: the composition of make(noise) over the workload proves the target.

    Args:
        makes: the loss of each mechanism for a noise; more noise must be more private.
        weights: how exact each answer shall be: the noise of a mechanism is noise / weight with one noise for all. By
            default all are 1.
        over: the least and the largest common noise.
    """
    if not isinstance(makes, Sequence) or not makes:
        raise InvalidParameterError(f"makes must be a list of functions, one for each mechanism, got {shown(makes)}")
    builds = [_checked(make) for make in makes]
    shares = [positive_rational("weights", weight) for weight in (weights if weights is not None else [1] * len(makes))]
    if len(shares) != len(makes):
        raise InvalidParameterError(f"weights must be one for each mechanism: got {len(shares)} for {len(makes)}")
    workload = list(zip(builds, shares, strict=True))

    def together(noise: Fraction) -> PrivacyLoss:
        return compose([make(noise / share) for make, share in workload])

    noise = calibrate(together, over=over, tolerance=tolerance, **target)
    return tuple(noise / share for share in shares)


def _domain(over: tuple[object, object] | None, integer: bool, tolerance: float) -> Domain:
    digits = None if integer else 3 + max(0, math.ceil(-math.log10(tolerance)))
    ends = over if over is not None else ((1, 10**12) if integer else (0, 10**12))
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise InvalidParameterError(f"over must be a pair (least, largest), got {over!r}")
    if integer:
        low, high = (Fraction(positive_integer("over", end)) for end in ends)
    else:
        low, high = max(exact_rational("over", ends[0]), SMALLEST), exact_rational("over", ends[1])
    if not 0 < low <= high:
        raise InvalidParameterError(f"over must be a pair 0 <= least <= largest with largest > 0, got {over!r}")
    return Domain(lower=low, upper=high, digits=digits)

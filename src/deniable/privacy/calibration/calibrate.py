"""Search for the least noise, most steps or largest rate that meets a target.

The setting returned is always on the private side.
"""

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
    readable,
    shown,
)
from deniable.privacy.calibration.search import ROUGH_TOLERANCE, SMALLEST_SETTING, Domain, best_setting, closer_setting
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

_SIGMA_DIGITS = 9  # significant decimal digits of a searched sigma_squared
_EXTREME_TARGET = 10**100  # an epsilon beyond it, or a mu^2 below its inverse, needs noise that no lattice has
_MAX_MISSED_TRIALS = 4  # trials that the engine cannot compute; each may take seconds


def laplace_scale(sensitivity: Sensitivity, epsilon: Real) -> Fraction:
    """Return the least scale of discrete Laplace noise on integers that is epsilon-DP.

    Args:
        sensitivity: of the aggregate, in lattice steps.
        epsilon: the target, above 0.

    Guarantee: l1 / epsilon, exact and least.

    >>> from deniable.privacy import AddRemove, of_count
    >>> print(laplace_scale(of_count(rows=2, groups=3, relation=AddRemove), "0.5"))
    12
    """
    norms = _moving(sensitivity)
    return readable(norms.l1 / positive_rational("epsilon", epsilon))


def gaussian_sigma_squared(
    sensitivity: Sensitivity,
    *,
    rho: Real | None = None,
    mu_squared: Real | None = None,
    epsilon: Real | None = None,
    delta: Real | None = None,
) -> Fraction:
    """Return sigma^2 of discrete Gaussian noise on integers that meets a target.

    Give exactly one target: rho, mu_squared, or epsilon with delta.

    Args:
        sensitivity: of the aggregate, in lattice steps.
        rho: target of rho-zCDP.
        mu_squared: target of mu-GDP, as mu^2.
        epsilon: target of (epsilon, delta)-DP, at most 1e100.
        delta: see epsilon; above 0.

    Guarantee: with rho: l2^2 / (2 rho), exact and least. With the others: `DiscreteGaussianLoss` proves the target, and
        the value was rounded up to 9 digits. The curve of one coordinate is exact; several coordinates are bounded by
        the better of rho and mu. To split a pair over several questions, split `largest_mu_squared` or `largest_rho`.
    Raises: InvalidParameterError unless exactly one target is given.

    >>> from deniable.privacy import AddRemove, of_count
    >>> print(gaussian_sigma_squared(of_count(rows=1, groups=1, relation=AddRemove), rho="0.125"))
    4
    """
    norms = _moving(sensitivity)
    if sum(target is not None for target in (rho, mu_squared, epsilon)) != 1 or (delta is None) != (epsilon is None):
        raise InvalidParameterError("give one of rho, mu_squared, or epsilon with delta, to calibrate Gaussian noise")
    if rho is not None:
        return readable(norms.l2_squared / (2 * positive_rational("rho", rho)))
    if mu_squared is not None:
        goal = positive_rational("mu_squared", mu_squared)
        if goal * _EXTREME_TARGET < norms.l2_squared:
            raise InvalidParameterError(
                f"mu_squared must be at least 1e-100 l2^2 for Gaussian noise, got {shown(goal)}"
            )
        return _least_for_mu(norms, goal)
    target = probability("delta", delta)
    if target == 0:
        raise InvalidParameterError("delta must be > 0 for Gaussian noise, got 0. Use Laplace noise for delta = 0.")
    excess = positive_rational("epsilon", epsilon)
    if excess > _EXTREME_TARGET:
        raise InvalidParameterError(f"epsilon must be at most 1e100 for Gaussian noise, got {shown(excess)}")
    return _least_for_pair(norms, excess, target)


@lru_cache(maxsize=256)
def _least_for_pair(norms: Sensitivity, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the least sigma^2 for a pair, by bisection down from the zCDP value."""

    def private(sigma_squared: Fraction) -> bool:
        return Fraction(DiscreteGaussianStatement(sigma_squared, norms).bound(epsilon)) <= delta

    return _bisected(private, decimal_above(norms.l2_squared / (2 * largest_rho(epsilon, delta)), _SIGMA_DIGITS))


@lru_cache(maxsize=256)
def _least_for_mu(norms: Sensitivity, target: Fraction) -> Fraction:
    """Return the least sigma^2 for mu^2, a little above that of real Gaussian noise."""

    def private(sigma_squared: Fraction) -> bool:
        step = mu_squared_of_step(sigma_squared)
        return step is not None and step * norms.l2_squared <= target

    above = decimal_above(norms.l2_squared / target, _SIGMA_DIGITS)
    while not private(above):
        above = decimal_above(2 * above, _SIGMA_DIGITS)
    return _bisected(private, above)


def _bisected(private: Callable[[Fraction], bool], above: Fraction) -> Fraction:
    """Return the least private sigma^2, to 9 digits, given a private one `above`."""
    below = above / 2
    while private(below):
        checkpoint()
        above = below
        below = below / 2
    while above > below * (1 + Fraction(1, 10 ** (_SIGMA_DIGITS - 1))):
        middle = decimal_above((above + below) / 2, _SIGMA_DIGITS)
        if not below < middle < above:
            break
        checkpoint()
        if private(middle):
            above = middle
        else:
            below = middle
    return above


def _moving(sensitivity: Sensitivity) -> Sensitivity:
    """Return the sensitivity of integers, after checking that it is not 0."""
    norms = checked_sensitivity(sensitivity).integral()
    if norms.l1 == 0:
        raise InvalidParameterError("the sensitivity is 0: no unit can change this aggregate, and it needs no noise")
    return norms


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
    """Return the setting that just meets a privacy target.

    The setting is the least noise, the most steps, the largest rate, or any other number on which the loss depends
    monotonically.

    Args:
        make: the loss for one setting: a Fraction with few decimal digits, or an int. Whether larger settings are more
            or less private is detected.
        over: the least and the largest setting that `make` takes; nothing outside is tried. A least setting of 0 is not
            tried itself. By default 0 to 10^12, or the integers from 1.
        integer: whether the setting is an int.
        resolved: with `integer`, narrow the tolerance until the next integer is proved not to be private.
        tolerance: relative width. The certified value at the setting lies within this share below the target, or the
            next decimal is not proved to be private. The next integer is never proved to be private at this tolerance.
        target: epsilon (with or without delta), advantage, or true_positive_rate with false_positive_rate; see
            `Target`.

    Guarantee: make(setting) proves the target; this was checked, whatever `make` is. That no better setting exists
        requires the loss to grow with the setting throughout, or to shrink.
    Raises: InvalidParameterError if no setting is proved to be private, or the next integer is not resolved.

    >>> from deniable.privacy import GaussianLoss
    >>> noise = calibrate(lambda s: GaussianLoss(s) * 10, epsilon=1, delta="1e-6")
    >>> print(f"{float(noise):.2f}")
    13.37
    >>> (GaussianLoss(noise) * 10).epsilon("1e-6").upper <= 1
    True
    """
    goal = goal_of(target)
    if resolved and goal.sharper is not None:
        raise InvalidParameterError("resolved=True works with epsilon or advantage, not with true_positive_rate.")
    build = _checked(make)
    missed: list[Fraction] = []

    def excess(setting: Fraction, width: float) -> float:
        value = goal.excess(build(int(setting) if integer else setting), width)
        if math.isnan(value):
            missed.append(setting)
            if len(missed) > _MAX_MISSED_TRIALS:
                raise InvalidParameterError(
                    f"losses cannot be computed to the width needed at settings such as {decimal_text(setting)}. Give "
                    "settings nearer to the answer with over=, or a larger tolerance."
                )
        return value

    width = checked_tolerance(tolerance)
    domain = _domain(over, integer, width)
    rough = None
    if goal.sharper is not None and goal.quick is not None:
        first = goal
        sharper = goal.sharper
        goal = goal.quick
        try:
            rough = best_setting(excess, domain, max(width, ROUGH_TOLERANCE))
        except InvalidParameterError:  # no setting keeps the other goal, but one may keep this one
            goal = first
            missed.clear()
            rough = best_setting(excess, domain, max(width, ROUGH_TOLERANCE))
        goal = sharper(build(int(rough) if integer else rough))
        rough = best_setting(excess, domain, max(width, ROUGH_TOLERANCE), start=rough)
        goal = sharper(build(int(rough) if integer else rough))
    best = best_setting(excess, domain, width, start=rough, infinite=goal.infinite)
    if not integer:
        return readable(best)
    while resolved and not _is_last(int(best), domain, goal, build, width):
        width /= 10
        best = closer_setting(excess, domain, width, best)
    return int(best)


def _checked(make: object) -> Callable[[Fraction | int], PrivacyLoss]:
    """Return `make` with a check that it returns losses."""
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
    best: int, domain: Domain, goal: Goal, build: Callable[[Fraction | int], PrivacyLoss], width: float
) -> bool:
    """Return whether a neighbour of the private integer is certainly not private.

    True as well if all integers of the domain are private.
    """
    beside = [count for count in (best - 1, best + 1) if domain.lower <= count <= domain.upper]
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
    """Return the noise of each mechanism so that all together just meet a target.

    Args:
        makes: for each mechanism, a function from its noise to its loss; more noise must be more private.
        weights: how accurate each answer is to be: the noise of a mechanism is noise / weight with one noise for all.
            By default all are 1.
        over: the least and the largest common noise.
        tolerance: relative width, as in `calibrate`.
        target: as in `calibrate`.

    Guarantee: the composition of make(noise) over all mechanisms proves the target.

    >>> from deniable.privacy import LaplaceLoss
    >>> print(*split([LaplaceLoss, LaplaceLoss], weights=[1, 3], epsilon=1, over=(1, 100)))
    4 4/3
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
    return tuple(readable(noise / share) for share in shares)


def _domain(over: tuple[object, object] | None, integer: bool, tolerance: float) -> Domain:
    """Return the settings that may be tried, with the digits that the tolerance needs."""
    digits = None if integer else 3 + max(0, math.ceil(-math.log10(tolerance)))
    ends = over if over is not None else ((1, 10**12) if integer else (0, 10**12))
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise InvalidParameterError(f"over must be a pair (least, largest), got {over!r}")
    if integer:
        low, high = (Fraction(positive_integer("over", end)) for end in ends)
    else:
        low = max(exact_rational("over", ends[0]), SMALLEST_SETTING)
        high = exact_rational("over", ends[1])
    if not 0 < low <= high:
        raise InvalidParameterError(f"over must be a pair 0 <= least <= largest with largest > 0, got {over!r}")
    return Domain(lower=low, upper=high, digits=digits)

"""The least noise that keeps a promise, found on the private side."""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from deniable.errors import InvalidParameterError
from deniable.privacy.concentrated import largest_rho
from deniable.privacy.exact import decimal_above, positive_rational, probability
from deniable.privacy.losses.discrete_gaussian import DiscreteGaussianLoss, mu_squared_of_step
from deniable.privacy.losses.discrete_laplace import checked_sensitivity
from deniable.privacy.sensitivity import Sensitivity

_DIGITS = 9  # significant decimal digits of a searched sigma_squared


def laplace_scale(sensitivity: Sensitivity, epsilon: object) -> Fraction:
    """The scale of discrete Laplace noise on integers that is epsilon-DP: l1 / epsilon, exact and least."""
    reach = _moving(sensitivity)
    return reach.l1 / positive_rational("epsilon", epsilon)


def gaussian_sigma_squared(
    sensitivity: Sensitivity,
    *,
    rho: object = None,
    mu_squared: object = None,
    epsilon: object = None,
    delta: object = None,
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
        return _least_for_mu(reach, positive_rational("mu_squared", mu_squared))
    target = probability("delta", delta)
    if target == 0:
        raise InvalidParameterError("delta must be > 0 for Gaussian noise, got 0. Use Laplace noise for delta = 0.")
    return _least_for_pair(reach, positive_rational("epsilon", epsilon), target)


@lru_cache(maxsize=256)
def _least_for_pair(reach: Sensitivity, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The zCDP value is private; from there downwards by bisection."""

    def private(sigma_squared: Fraction) -> bool:
        return Fraction(DiscreteGaussianLoss(sigma_squared, reach).delta(epsilon).upper) <= delta

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
        above, below = below, below / 2
    while above > below * (1 + Fraction(1, 10 ** (_DIGITS - 1))):
        middle = decimal_above((above + below) / 2, _DIGITS)
        if not below < middle < above:
            break
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

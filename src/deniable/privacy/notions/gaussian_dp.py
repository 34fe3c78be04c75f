"""Gaussian differential privacy: the curve of mu-GDP, and mu of bounded losses."""

from fractions import Fraction
from functools import lru_cache

from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import decimal_above
from deniable.numbers.roots import largest

DIGITS = 12  # significant decimal digits of a mu^2 that is rounded up


def gaussian_delta(mu_squared: Fraction, epsilon: Fraction) -> Interval:
    """Return delta at `epsilon` of real Gaussian noise with this mu^2.

    Its trade-off curve is that of N(0, 1) against N(mu, 1).

    Guarantee: Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).
    Source: Balle, Wang (2018), arXiv:1805.06530.
    """
    if mu_squared == 0:
        return Interval(0.0, 0.0)

    def formula() -> Arb:
        mu = ball(mu_squared).sqrt()
        x = ball(epsilon)
        return _upper_normal(x / mu - mu / 2) - x.exp() * _upper_normal(x / mu + mu / 2)

    return certified(formula)


@lru_cache(maxsize=256)
def largest_mu_squared(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest mu^2 for which mu-GDP implies (epsilon, delta)-DP.

    Rounded down to 12 digits; delta in (0, 1).

    Guarantee: gaussian_delta(mu_squared, epsilon).upper <= delta for the value returned.
    """
    return largest(lambda mu_squared: Fraction(gaussian_delta(mu_squared, epsilon).upper) <= delta)


@lru_cache(maxsize=1024)
def mu_squared_of_pure(epsilon: Fraction) -> Fraction:
    """Return a rational just above the least mu^2 of all epsilon-DP mechanisms.

    Guarantee: mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)) = 2 sqrt(2) erfinv(tanh(epsilon / 2)), since a convex
        trade-off curve that lies below the polygon of randomised response at its corners lies below it everywhere.
        Above epsilon = 200 the simpler bound 8 epsilon is given. Proofs: docs/theory/privacy/profile.md.
    """
    if epsilon == 0:
        return Fraction(0)
    if epsilon > 200:
        return 8 * epsilon

    def formula() -> Arb:
        return 8 * (ball(epsilon) / 2).tanh().erfinv() ** 2

    return decimal_above(Fraction(certified(formula, within=Interval(0.0, 1600.0)).upper), DIGITS)


def _upper_normal(x: Arb) -> Arb:
    """Return P(N(0, 1) > x)."""
    from flint import arb

    return (x / arb(2).sqrt()).erfc() / 2

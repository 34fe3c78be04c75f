"""Zero-concentrated differential privacy: from rho to (epsilon, delta) and back."""

import math
from fractions import Fraction
from functools import lru_cache

from deniable.errors import InvalidParameterError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.rationals import decimal_text
from deniable.numbers.roots import largest


def concentrated_delta(rho: Fraction, epsilon: Fraction) -> float:
    """Return an upper bound on delta at `epsilon` of every rho-zCDP mechanism.

    Guarantee: min over order > 1 of exp((order - 1)(order rho - epsilon)) (1 - 1/order)^order / (order - 1). Each order
        gives a bound, so the minimiser is searched in floats and the value is certified.
    Source: Canonne, Kamath, Steinke (2020), arXiv:2004.00010.
    """
    if rho == 0:
        return 0.0
    excess = Fraction(_best_excess(_in_range(rho), _in_range(epsilon)))  # order - 1

    def formula() -> Arb:
        x = ball(excess)
        exponent = ball(excess * ((1 + excess) * rho - epsilon)) + (1 + x) * (x / (1 + x)).log()
        return exponent.exp() / x

    return certified(formula).upper


@lru_cache(maxsize=256)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho for which rho-zCDP implies (epsilon, delta)-DP.

    Rounded down to 12 digits; delta in (0, 1).

    Guarantee: concentrated_delta(rho, epsilon) <= delta for the value returned.
    """
    return largest(lambda rho: Fraction(concentrated_delta(rho, epsilon)) <= delta)


def epsilon_within(rho: Fraction, *, per: int = 2) -> Fraction:
    """Return an epsilon with epsilon^2 / per <= rho.

    It is below the largest by at most one part in 10^9.

    Guarantee: epsilon-DP implies epsilon^2/2-zCDP; a mechanism of bounded range epsilon (the exponential mechanism) is
        epsilon^2/8-zCDP.
    Source: Bun, Steinke (2016), arXiv:1605.02065; Cesar, Rogers (2021), arXiv:2004.07223.
    Raises: InvalidParameterError if rho is below 10^-80.
    """
    denominator = 10**9
    while True:
        epsilon = Fraction(math.isqrt(int(per * rho * denominator * denominator)), denominator)
        if epsilon > Fraction(1, 10**6) or denominator > 10**40:
            break
        denominator *= 10**6
    if epsilon <= 0:
        raise InvalidParameterError(
            f"rho must be about 1e-80 or more, got {decimal_text(rho)}: no answer costs so little"
        )
    return epsilon


def _best_excess(rho: float, epsilon: float) -> float:
    """Return order - 1 at the minimum over orders.

    It is the root of (2 order - 1) rho - epsilon + ln(1 - 1/order), which increases with the order.
    """
    below, above = 1e-300, 1e300
    for _ in range(80):
        middle = math.sqrt(below) * math.sqrt(above)
        if (1 + 2 * middle) * rho - epsilon - math.log1p(1 / middle) > 0:
            above = middle
        else:
            below = middle
    return below


def _in_range(number: Fraction) -> float:
    """Return a number as a float between 1e-290 and 1e290."""
    return max(float(number), 1e-290) if number < 10**290 else 1e290

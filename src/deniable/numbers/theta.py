"""Certified sums of exp(-k^2 / (2 sigma^2)) over integers.

The discrete Gaussian without its sampler.

The total is a theta function. Upper tails are summed term by term when few terms matter, and by the Euler-Maclaurin
formula with an explicit remainder otherwise, so the cost does not grow with sigma. Proofs:
docs/theory/privacy/profile.md.
"""

import math
from fractions import Fraction

from deniable.numbers.balls import Arb, ball

_MOST_TERMS = 600  # beyond it Euler-Maclaurin is both faster and fast to converge
_MOST_CORRECTIONS = 60


def total(sigma_squared: Fraction) -> Arb:
    """Sum over all integers k of exp(-k^2 / (2 sigma^2)).

    Poisson's formula sum_k exp(-k^2/(2 s)) = sqrt(2 pi s) sum_k exp(-2 pi^2 s k^2) serves s >= 1/6, the definition the
    rest; either way the k-th term is at most exp(-3 k^2).
    """
    from flint import arb

    s = ball(sigma_squared)
    if 6 * sigma_squared >= 1:
        return (2 * arb.pi() * s).sqrt() * _symmetric_sum(2 * arb.pi() ** 2 * s)
    return _symmetric_sum(1 / (2 * s))


def upper_tail(sigma_squared: Fraction, start: int) -> Arb:
    """Sum over k >= start of exp(-k^2 / (2 sigma^2)), for an integer start >= 1."""
    from flint import ctx

    radius = 2 * (ctx.prec + 16) * math.log(2)
    spread = _bounded_float(sigma_squared)
    x = _bounded_float(Fraction(start))
    terms = radius * spread / (math.sqrt(x * x + radius * spread) + x) if x < 1e150 else 1.0
    if terms <= _MOST_TERMS:
        return _tail_by_terms(sigma_squared, start, math.ceil(terms) + 2)
    return _tail_by_euler_maclaurin(sigma_squared, start)


def _symmetric_sum(rate: Arb) -> Arb:
    """Return 1 + 2 sum_{k>=1} exp(-rate k^2) for a rate of at least 3.

    The tail is bounded by a geometric series.
    """
    from flint import arb, ctx

    last = math.isqrt(ctx.prec // 4) + 1  # exp(-3 last^2) < 2^-prec
    result = arb(1)
    for k in range(1, last + 1):
        result += 2 * (-rate * k * k).exp()
    ratio = (-rate * (2 * last + 3)).exp()  # of the terms after last + 1, at most
    rest = 2 * (-rate * (last + 1) ** 2).exp() / (1 - ratio)
    return result + rest.union(arb(0))


def _tail_by_terms(sigma_squared: Fraction, start: int, terms: int) -> Arb:
    """Sum the first terms by recurrence, and bound the rest by a geometric series."""
    from flint import arb, fmpz

    rate = 1 / (2 * ball(sigma_squared))
    first = arb(fmpz(start))
    term = (-rate * first * first).exp()
    ratio = (-rate * (2 * first + 1)).exp()  # of the next term to this one
    shrink = (-2 * rate).exp()  # of the next ratio to this one
    result = arb(0)
    for _ in range(terms):
        result += term
        term *= ratio
        ratio *= shrink
    return result + (term / (1 - ratio)).union(arb(0))


def _tail_by_euler_maclaurin(sigma_squared: Fraction, start: int) -> Arb:
    """Return the tail by the Euler-Maclaurin formula, its remainder bounded.

    Integral + f/2 - sum of B_2j/(2j)! f^(2j-1); the remainder is at most a multiple of the integral of |f^(2p)|.

    Writing f^(n) = h_n f, h obeys h_(n+1) = -(x h_n + n h_(n-1)) / s. The same recurrence with all signs positive
    bounds |h_n| by a_n, and its integrals A_n = int a_n f obey A_(n+1) = a_n(start) f(start) + (2 n / s) A_(n-1).
    """
    from flint import arb, ctx, fmpz

    s = ball(sigma_squared)
    x = arb(fmpz(start))
    value = (-x * x / (2 * s)).exp()
    integral = (arb.pi() * s / 2).sqrt() * (x / (2 * s).sqrt()).erfc()
    result = integral + value / 2
    signed = [arb(1), -x / s]  # h_(n-1), h_n
    positive = [arb(1), x / s]  # a_(n-1), a_n
    integrals = [integral, value]  # A_(n-1), A_n
    goal = value * arb(2) ** (-ctx.prec)
    n = 1
    for j in range(1, _MOST_CORRECTIONS):
        coefficient = arb.bernoulli(2 * j) / arb.fac_ui(2 * j)
        result -= coefficient * signed[1] * value
        for _ in range(2):
            following = positive[1] * value + 2 * n / s * integrals[0]
            signed = [signed[1], -(x * signed[1] + n * signed[0]) / s]
            positive = [positive[1], (x * positive[1] + n * positive[0]) / s]
            integrals = [integrals[1], following]
            n += 1
        # here n = 2 j + 1: the integral of |f^(2j)| is integrals[0]
        rest = 2 * arb(2 * j).zeta() / (2 * arb.pi()) ** (2 * j) * integrals[0]
        if rest < goal:
            break
    return result + rest.union(-rest)


def _bounded_float(number: Fraction) -> float:
    """Return a float near a positive number, kept in range.

    It decides only how many terms are taken.
    """
    if number > 10**300:
        return 1e300
    return max(float(number), 1e-300)

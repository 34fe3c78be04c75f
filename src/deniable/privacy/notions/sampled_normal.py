"""Rényi divergence of Gaussian noise on samples: a binomial sum, or quadrature."""

import math
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, Interval, round_up

if TYPE_CHECKING:
    from flint import acb

Mixture = tuple[tuple[Fraction, Fraction], ...]  # (weight, centre)

_MAX_TERMS = 100_000  # of the binomial sum of an integer order
_MAX_FRACTIONAL_ORDER = 2000  # above it divergences are interpolated between integer orders
_LARGE_MU_SQUARED = 100  # mu^2 from which simple bounds are tried
_HUGE_MU_SQUARED = 400  # mu^2 from which only simple bounds are computed
_SHARP_WIDTH = 1e-9  # relative width at which simple bounds suffice
_INTEGRAL_TOLERANCE = 2.0**-64  # relative, so that the integral is known to a rounding of floats
_MAX_LOG_MOMENT = 1500  # twice the logarithm of the greatest moment that is integrated


@lru_cache(maxsize=4096)
def sampled_normal_divergence(mu_squared: Fraction, rate: Fraction, order: Fraction) -> Interval:
    """Return the divergence of (1 - rate) N(0, 1) + rate N(mu, 1) against N(0, 1).

    It is never smaller than the reverse.

    Guarantee: with r = exp(mu x - mu^2/2) and y = rate (r - 1), E (1 + y)^order under N(0, 1): a binomial sum for
        integer orders, otherwise certified quadrature of its excess (1 + y)^order - 1 - order y. With little noise
        it lies between (1 - rate)^order + rate^order E r^order and the sum of both norms, to that power.
    Source: Mironov, Talwar, Zhang (2019), arXiv:1908.10530; docs/theory/privacy/notions.md.
    """
    if mu_squared == 0:
        return Interval(0.0, 0.0)
    if order.denominator == 1 and 1 < order <= _MAX_TERMS:
        return certified(lambda: _binomial_sum(mu_squared, rate, int(order)), within=NONNEGATIVE)
    if mu_squared >= _LARGE_MU_SQUARED:
        bounds = certified(lambda: _between(mu_squared, rate, order), within=NONNEGATIVE)
        if mu_squared >= _HUGE_MU_SQUARED or bounds.width <= _SHARP_WIDTH * bounds.upper:
            return bounds
    if order >= _MAX_TERMS:
        return certified(lambda: _between(mu_squared, rate, order), within=NONNEGATIVE)
    if order >= _MAX_FRACTIONAL_ORDER:
        return _between_integers(mu_squared, rate, order)
    return certified(lambda: _quadrature(mu_squared, rate, order), within=NONNEGATIVE)


def _between_integers(mu_squared: Fraction, rate: Fraction, order: Fraction) -> Interval:
    """Return bounds from integer orders: D_a increases, and (a - 1) D_a is convex."""
    low, high = Fraction(math.floor(order)), Fraction(math.ceil(order))
    below, above = (sampled_normal_divergence(mu_squared, rate, a) for a in (low, high))
    if math.isinf(above.upper):
        return Interval(below.lower, math.inf)
    share = order - low
    grown = (1 - share) * (low - 1) * Fraction(below.upper) + share * (high - 1) * Fraction(above.upper)
    return Interval(below.lower, max(round_up(grown / (order - 1)), below.lower))


def _between(mu_squared: Fraction, rate: Fraction, order: Fraction) -> Arb:
    """Return simple bounds for large mu.

    From below x^a + y^a <= (x + y)^a, from above Minkowski's inequality. At order 1: ln((1 - q) u + q v) is at least
    both ln((1 - q) u) and ln(q v), and convexity.

    At order 1: ln((1 - q) u + q v) is at least both ln((1 - q) u) and ln(q v), and convexity.
    """
    q = ball(rate)
    rest = 1 - ball(rate)
    a = ball(order)
    half = ball(mu_squared) / 2
    if order == 1:
        return (rest * rest.log() + q * (half + q.log())).union(q * half)
    hit = q * ((a - 1) * half).exp()  # the norm of rate r
    return ((rest**a + hit**a).log() / (a - 1)).union(a * (rest + hit).log() / (a - 1))


def _binomial_sum(mu_squared: Fraction, rate: Fraction, order: int) -> Arb:
    """Return the divergence of an integer order, by ratios of neighbouring terms.

    It is ln sum_k C(a, k) (1 - q)^(a-k) q^k exp(k (k - 1) mu^2/2) / (a - 1).
    """
    q = ball(rate)
    grown = ball(mu_squared).exp()
    term = (1 - q) ** order
    total = term
    ratio = q / (1 - q)
    power = ball(Fraction(1))
    for k in range(order):
        term = term * ratio * power * (order - k) / (k + 1)
        total += term
        power *= grown
    return total.log() / (order - 1)


def _quadrature(mu_squared: Fraction, rate: Fraction, order: Fraction) -> Arb:
    """Return the divergence by integration; what lies outside is added as a ball."""
    from flint import acb, arb

    mu = ball(mu_squared).sqrt()
    q = ball(rate)
    a = ball(order)
    start, end = (ball(Fraction(x)) for x in _range_of(mu_squared, rate, order))
    norm = (2 * arb.pi()).sqrt()

    def density(x: "acb", analytic: bool) -> "acb":
        y = q * ((mu * x - mu * mu / 2).exp() - 1)
        if order == 1:
            excess = (1 + y) * (1 + y).log(analytic=analytic) - y
        else:
            excess = (1 + y).pow(acb(a), analytic=analytic) - 1 - a * y
        return excess * (-x * x / 2).exp() / norm

    inner = acb.integral(density, acb(start), acb(end), rel_tol=_INTEGRAL_TOLERANCE).real
    above = (
        ((q + (mu * mu / 2 - mu * end).exp()) ** a) * (a * (a - 1) * mu * mu / 2).exp() * _upper_normal(end - a * mu)
    )
    if order == 1:  # (1 + y) ln(1 + y) <= (1 + y) L, and E_P L beyond a point is known
        beyond = end - mu
        above = mu * (-beyond * beyond / 2).exp() / norm + mu * mu / 2 * _upper_normal(beyond)
    rest = above + a * q * _upper_normal(-start)  # (1 + y)^a - 1 - a y <= a q for -q <= y <= 0
    excess = inner + rest.union(arb(0))
    return excess if order == 1 else (1 + excess).log() / (a - 1)


@lru_cache(maxsize=4096)
def mixture_divergence(p: Mixture, q: Mixture, order: Fraction) -> Interval:
    """Return the divergence of two normal mixtures with an increasing ratio.

    They are sum_i w_i N(c_i, 1) against sum_j v_j N(d_j, 1).

    Guarantee: certified quadrature of E_Q of r^order - 1 - order (r - 1), or r ln r - r + 1; what lies to the right is
        bounded by Minkowski's inequality, with one part of the second mixture in place of all of it.
    """
    widest = max(abs(c - d) for _, c in p for _, d in q)
    if (order - 1) * widest**2 > _MAX_LOG_MOMENT:
        lower = mixture_divergence(p, q, 1 + _MAX_LOG_MOMENT / widest**2).lower  # of a smaller order
        upper = min(certified(partial(_by_norms, p, base, order), within=NONNEGATIVE).upper for base in q)
        return Interval(min(lower, upper), upper)
    return certified(lambda: _mixture_quadrature(p, q, order), within=NONNEGATIVE)


def _by_norms(p: Mixture, base: tuple[Fraction, Fraction], order: Fraction) -> Arb:
    """Return an upper bound by Minkowski's inequality.

    One part of the second mixture stands for all of it.
    """
    a = ball(order)
    (weight, centre) = base
    norm = sum((ball(w) * (ball(order - 1) * ball(c - centre) ** 2 / 2).exp() for w, c in p), ball(Fraction(0)))
    return a * norm.log() / (a - 1) - ball(weight).log()


def _mixture_quadrature(p: Mixture, q: Mixture, order: Fraction) -> Arb:
    """Return the divergence of two normal mixtures by certified quadrature."""
    from flint import acb, arb, ctx

    a = ball(order)
    norm = (2 * arb.pi()).sqrt()
    ours, theirs = ([(ball(w), ball(c)) for w, c in side if w] for side in (p, q))
    bits = 0.7 * ctx.prec + 10 + 4 * max(-math.log(w) for side in (p, q) for w, _ in side if w)
    radius = math.sqrt(2 * bits)
    weight, base = next((w, d) for w, d in reversed(q) if w)
    steps = [float(c - base) for _, c in p]
    grown = float(order - 1) * max(abs(step) for step in steps) ** 2 / 2
    start = float(min(c for side in (p, q) for _, c in side)) - radius
    end = float(base) + max(float(order) * max(*steps, 0.0), 0.0) + math.sqrt(2 * (bits + grown))
    first, last = ball(Fraction(start)), ball(Fraction(end))

    def density(x: "acb", analytic: bool) -> "acb":
        top, bottom = (sum(((x * c - c * c / 2).exp() * w for w, c in side), acb(0)) for side in (ours, theirs))
        ratio = top / bottom
        if order == 1:
            excess = ratio * ratio.log(analytic=analytic) - ratio + 1
        else:
            excess = ratio.pow(acb(a), analytic=analytic) - 1 - a * (ratio - 1)
        return excess * bottom * (-x * x / 2).exp() / norm

    def ratio_at(x: Arb) -> Arb:
        top, bottom = (sum(((x * c - c * c / 2).exp() * w for w, c in side), arb(0)) for side in (ours, theirs))
        return top / bottom

    inner = acb.integral(density, acb(first), acb(last)).real
    power = ball(max(order, Fraction(2))) if order == 1 else a  # r ln r <= r^2
    total = arb(0)
    for w, c in ours:
        moved = c - ball(base)
        beyond = _upper_normal(last - ball(base) - power * moved)
        total += w * ((power - 1) * moved**2 / 2).exp() * beyond.max(arb(0)) ** (1 / power)
    above = ball(weight) ** (1 - power) * total**power
    outside = sum((w * (_upper_normal(last - d) + _upper_normal(d - first)) for w, d in theirs), arb(0))
    largest = ratio_at(first).max(arb(1)) ** power  # to the left the ratio is at most this
    rest = above + power * largest * outside
    excess = inner + rest.union(arb(0))
    return excess if order == 1 else (1 + excess).log() / (a - 1)


def _range_of(mu_squared: Fraction, rate: Fraction, order: Fraction) -> tuple[float, float]:
    """Return a range that holds all but a negligible part of the integral.

    By rule of thumb.
    """
    from flint import ctx

    mu = math.sqrt(mu_squared)
    q = float(rate)
    a = float(order)
    bits = 0.7 * ctx.prec + 4 * math.log(1 / q) + 2 * abs(math.log(mu)) + 10
    radius = math.sqrt(2 * bits)
    above = a * math.log1p(math.exp(min(mu * mu / 2 - mu * (a * mu + radius), 500.0)) / q)
    return -radius, a * mu + math.sqrt(2 * (bits + above))


def _upper_normal(x: Arb) -> Arb:
    """Return P(N(0, 1) > x)."""
    from flint import arb

    return (x / arb(2).sqrt()).erfc() / 2

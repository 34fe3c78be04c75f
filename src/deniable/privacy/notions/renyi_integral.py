"""Rényi divergences of any pair, from its two curves, by one certified integral.

For order a > 0, with delta the curve of (P, Q) and delta' that of (Q, P),

    E_Q[(P/Q)^a] = 1 + a (a - 1) I,    I = integral over e > 0 of exp((a - 1) e) delta(e) + exp(-a e) delta'(e),

and the Kullback-Leibler divergence is I at a = 1. Both curves are convex in exp(e): chords bound the integral from
above and the values at the mean of each weight from below. Proofs: docs/theory/privacy/notions.md.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.numbers.balls import Arb, ball
from deniable.numbers.interval import INFINITE, NONNEGATIVE, Interval
from deniable.privacy.pld.law import UNIT, LossLaw, Tails

_FIRST_POINTS = 2**11  # of the first grid
_MAX_POINTS = 2**18  # of the last grid
_RELATIVE_WIDTH = 1e-6  # at which refinement stops
_NEGLIGIBLE_LOGARITHM = -90.0  # of a moment that does not matter
_MAX_LOSS = 600.0  # which floats can exponentiate
_MIN_PROBABILITY = 1e-280  # of a tail; smaller ones underflow


Tail = Callable[[float], float]


class _Sum(NamedTuple):
    """Number exp(log) times something between lower and upper."""

    log: float
    lower: float
    upper: float


def law_divergence(law: LossLaw, order: Fraction, tail: Tail | None = None) -> Interval:
    """Return bounds on the divergence of order >= 1 of a pair.

    Their relative width is about 1e-6 where floats allow it.

    Args:
        law: the law of the loss of the pair.
        order: the Rényi order, at least 1.
        tail: the logarithm of a bound on E_Q[(P/Q)^a; L > loss] with a = order, or 2 for order 1; where that of the law
            (`LossLaw.moment_above`) is smaller it is taken. With it the upper end holds for every pair with this tail
            whose curve is at most that of the law, which may then have an infinite loss.
    """
    if law.infinite > 0 and tail is None:
        return INFINITE
    if tail is None:
        tail = partial(law.moment_above, 2.0 if order == 1 else float(order))
    elif law.infinite == 0:
        tail = partial(_smaller, tail, partial(law.moment_above, 2.0 if order == 1 else float(order)))
    divergence, points = NONNEGATIVE, _FIRST_POINTS
    end = _far_end(law, tail)
    while points <= _MAX_POINTS:
        fresh = _on_grid(law, order, end, points, tail)
        before = divergence.width
        divergence = divergence.narrowed(fresh)
        if not _RELATIVE_WIDTH * divergence.upper < divergence.width < before / 2:
            break
        points *= 4
    return divergence


def law_divergence_below_one(law: LossLaw, order: Fraction) -> Interval:
    """Return bounds on the divergence of order a in (0, 1); finite for most pairs.

    It is -ln(1 - a (1 - a) I)/(1 - a). Both weights fall by themselves, so that beyond a loss l no more than delta(l)
    exp((a - 1) l)/(1 - a) is left; the share of I of infinite losses is P(L = inf)/(1 - a) + Q(L = -inf)/a.

    Both weights fall by themselves, so that beyond a loss l no more than delta(l) exp((a - 1) l)/(1 - a) is left; the
    share of I of infinite losses is P(L = inf)/(1 - a) + Q(L = -inf)/a.
    """
    divergence, points = NONNEGATIVE, _FIRST_POINTS
    front = _weighted_end(law, 1 - order, back=False)
    back = _weighted_end(law, order, back=True)
    slack = law.slack(max(front, back))
    forward = _forward(law, slack)
    backward = _backward(law, slack, law.vanishing)
    far = law.highest < _MAX_LOSS, law.lowest > -_MAX_LOSS
    rest = [
        0.0 if done else float(curve(np.array([end]), 1)[0]) * math.exp(-float(rate) * end) * (1 + 1e-9)
        for done, curve, end, rate in zip(far, (forward, backward), (front, back), (1 - order, order), strict=True)
    ]
    infinite = float(order) * law.infinite + float(1 - order) * law.vanishing
    beyond = infinite + float(order) * rest[0] + float(1 - order) * rest[1]
    while points <= _MAX_POINTS:
        parts = [_integral(forward, order - 1, front, points), _integral(backward, -order, back, points)]
        before = divergence.width
        lower = _below_one(order, [(part.log, part.lower) for part in parts], infinite * (1 - 1e-12)).lower
        upper = _below_one(order, [(part.log, part.upper) for part in parts], beyond * (1 + 1e-9)).upper
        divergence = divergence.narrowed(Interval(lower, max(lower, upper)))
        if not _RELATIVE_WIDTH * divergence.upper < divergence.width < before / 2:
            break
        points *= 4
    return divergence


def _weighted_end(law: LossLaw, rate: Fraction, *, back: bool) -> float:
    """Return a loss beyond which weight times curve is next to nothing.

    The weight is exp(-rate l).
    """
    furthest = -law.lowest if back else law.highest
    if furthest < _MAX_LOSS:
        return max(furthest * (1 + 1e-9), 1e-12)
    end = 1e-3
    while end < _MAX_LOSS / 1.2:
        at = np.array([-end if back else end])
        left = float(law.below(at).q[0] if back else law.above(at).p[0])
        if left * math.exp(-float(rate) * end) < 1e-35:
            break
        end *= 1.2
    return end


def _below_one(order: Fraction, parts: list[tuple[float, float]], rest: float) -> Interval:
    """Return -ln(1 - a (1 - a) I - rest)/(1 - a) from summands of I."""
    from flint import arb, ctx

    with ctx.workprec(160):
        integral = sum((arb(value) * arb(log).exp() for log, value in parts), arb(0))
        held = 1 - ball(order * (1 - order)) * integral - arb(rest)
        if not held > 0:
            return NONNEGATIVE
        return Interval.of_ball(-held.log() / ball(1 - order), within=NONNEGATIVE)


def _smaller(first: Tail, second: Tail, loss: float) -> float:
    """Return the smaller of two bounds on a tail."""
    return min(first(loss), second(loss))


def bounded_tail(greatest: float) -> Tail:
    """Return the tail of a loss that is never above `greatest`."""
    return lambda loss: -math.inf if loss >= greatest else math.inf


def chernoff_tail(order: float, rate: Fraction, divergence: Callable[[Fraction], float]) -> Tail:
    """Return a bound on the moment of a sampled pair above a loss l > 0.

    It follows from divergences of its base at higher orders: there exp(l) <= (rate + exp(-l)) exp(base loss), the
    base's loss is at least l, and E_Q[t^a; t > x] <= x^(a-b) E_Q[t^b] for b > a.

    There exp(l) <= (rate + exp(-l)) exp(base loss), the base's loss is at least l, and E_Q[t^a; t > x] <=
    x^(a-b) E_Q[t^b] for b > a.
    """
    higher = [Fraction(order) + Fraction(2) ** power for power in range(-2, 8)]
    moments = [(float(b - Fraction(order)), float(b - 1) * divergence(b)) for b in higher]

    def bound(loss: float) -> float:
        share = min(float(rate) + math.exp(-loss), 1.0)
        value = order * math.log(share) + min(moment - more * loss for more, moment in moments)
        return value + 1e-9 * (1 + abs(value))

    return bound


def _far_end(law: LossLaw, tail: Tail) -> float:
    """Return a loss beyond which little of the moment lies.

    It is not so far that probabilities underflow.
    """
    if law.highest < _MAX_LOSS and law.infinite == 0:
        return max(law.highest * (1 + 1e-9), 1e-12)
    end = 1e-3
    while tail(end) > _NEGLIGIBLE_LOGARITHM:
        further = end * 1.2
        if further > _MAX_LOSS or (law.infinite == 0 and law.above(np.array([further])).p[0] < _MIN_PROBABILITY):
            break
        end = further
    below = end / 1.2
    for _ in range(30 if law.infinite > 0 and tail(end) == -math.inf else 0):  # an infinite loss counts up to the end
        middle = (below + end) / 2
        below, end = (below, middle) if tail(middle) == -math.inf else (middle, end)
    return end


def _back_end(law: LossLaw, order: float) -> float:
    """Return the end for losses below 0, whose weight falls by itself."""
    if law.lowest > -90.0 / order:
        return max(-law.lowest * (1 + 1e-9), 1e-12)
    end = 1e-3
    while end < 90.0 / order and law.below(np.array([-end])).q[0] + law.vanishing > 1e-35:
        end *= 1.2
    return end


def _on_grid(law: LossLaw, order: Fraction, end: float, points: int, tail: Tail) -> Interval:
    """Return the divergence from two integrals on grids and bounds on the rest.

    The first integral is over [0, end].
    """
    slack = law.slack(max(end, 90.0))
    forward = _integral(_forward(law, slack, law.infinite), order - 1, end, points)
    back = _back_end(law, float(order))
    backward = _integral(_backward(law, slack), -order, back, points)
    last = float(_backward(law, slack)(np.array([back]), 1)[0])
    lower = _divergence(order, [(forward.log, forward.lower), (backward.log, backward.lower)], [])
    beyond = tail(end) - (end if order == 1 else 0.0)
    if beyond == math.inf:
        return Interval(lower.lower, math.inf)
    rest = [(beyond, 1.0), (-float(order) * back, max(float(order - 1), 1.0) * last * (1 + 1e-9))]
    upper = _divergence(order, [(forward.log, forward.upper), (backward.log, backward.upper)], rest)
    return Interval(max(lower.lower, 0.0), max(upper.upper, lower.lower, 0.0))


def _divergence(order: Fraction, inner: list[tuple[float, float]], rest: list[tuple[float, float]]) -> Interval:
    """Return ln(1 + a (a - 1) I + R)/(a - 1) from summands of I and R.

    Summands are given as exp(log) times a number; at a = 1 it is I + R.
    """
    from flint import arb, ctx

    with ctx.workprec(160):
        integral = sum((arb(value) * arb(log).exp() for log, value in inner), arb(0))
        more = sum((arb(value) * arb(log).exp() for log, value in rest if math.isfinite(log)), arb(0))
        if order == 1:
            return Interval.of_ball(integral + more)
        a = ball(order)
        return Interval.of_ball((1 + a * (a - 1) * integral + more).log() / (a - 1), within=NONNEGATIVE)


Curve = Callable[[Floats, int], Floats]  # numbers below the curve (side -1) or above it (+1)


def _forward(law: LossLaw, slack: float, infinite: float = 0.0) -> Curve:
    """Return bounds on the curve P(L > e) - exp(e) Q(L > e).

    Any event bounds it from below, an earlier threshold from above.
    """

    def curve(losses: Floats, side: int) -> Floats:
        early = slack if side > 0 else 0.0
        tails = law.above(losses - early)
        if side > 0:
            tails = tails._replace(p=tails.p + infinite)
        return _end(tails, losses, side, 1 + 3 * early)

    return curve


def _backward(law: LossLaw, slack: float, without: float = 0.0) -> Curve:
    """Return bounds on the reversed curve Q(L < -e) - exp(e) P(L < -e).

    The mass `without` at L = -inf is subtracted.
    """

    def curve(losses: Floats, side: int) -> Floats:
        early = slack if side > 0 else 0.0
        tails = law.below(early - losses)
        return _end(Tails(tails.q + (law.vanishing - without), tails.p, tails.error), losses, side, 1 + 3 * early)

    return curve


def _end(tails: Tails, losses: Floats, side: int, wider: float) -> Floats:
    """Return p - exp(loss) q, moved to a side by all errors.

    They are the errors of both and the rounding of exp and of the difference.
    """
    value = tails.p * (1 + side * tails.error) * wider - np.exp(losses) * tails.q * (1 - side * tails.error)
    held: Floats = np.clip(value + side * 16 * UNIT * tails.p, 0.0, 1.0)
    return held


def _integral(curve: Curve, power: Fraction, end: float, points: int) -> _Sum:
    """Return the integral of exp(power e) curve(e) over [0, end].

    Or a little more, where a multiple of a short step ends. The curve is convex and decreasing in exp(e).

    The curve is convex and decreasing in exp(e).
    """
    step = _short(end / points)
    grid: Floats = np.arange(points + 1, dtype=np.float64) * step
    whole, share, mean = _weights(power, Fraction(step))
    above = curve(grid, 1)
    below = curve(grid[:-1] + mean + 8 * UNIT * end, -1)
    exponents = float(power) * grid
    with np.errstate(divide="ignore"):
        log = float(np.max(exponents + np.log(above), initial=-700.0))
    weights = np.exp(np.minimum(exponents - log, 709.0))
    room = 8 * UNIT * (abs(float(power)) * float(grid[-1]) + abs(log) + 16)
    if np.max(exponents - log) > 709:
        return _Sum(0.0, 0.0, math.inf)
    chords = (whole - share) * above[:-1] + share * above[1:]
    upper = float(np.sum(weights[:-1] * chords)) * (1 + room) + points * 1e-300
    lower = float(np.sum(weights[:-1] * below)) * whole * (1 - room)
    return _Sum(log, max(lower, 0.0), upper)


def _short(step: float) -> float:
    """Return the step with 20 significant bits, so that its multiples are exact.

    It is rounded up.
    """
    mantissa, exponent = math.frexp(step)
    return math.ldexp(math.ceil(mantissa * 2**20), exponent - 20)


def _weights(power: Fraction, step: Fraction) -> tuple[float, float, float]:
    """Return the weights of a cell: integral, share of the right end, mean.

    They are the integral of exp(s t) on [0, h], its share for the right end of a chord in exp(t), and ln of the mean of
    exp(t). Errors: a rounding each, which the caller covers.

    Errors: a rounding each, which the caller covers.
    """
    from flint import ctx

    def integral_of(exponent: Fraction) -> Arb:
        return ball(step) if exponent == 0 else ball(exponent * step).expm1() / ball(exponent)

    with ctx.workprec(256):
        whole, next_one = integral_of(power), integral_of(power + 1)
        share = (next_one - whole) / ball(step).expm1()
        return float(whole.mid()), float(share.mid()), float((next_one / whole).log().mid())

"""Conversions from one notion to another, each rounded to the safe side.

A result is a float that is at least the bound named in its docstring (at most, for a false negative rate). The
certified curve of a loss is never above any of them; they serve where a loss is known by a divergence alone, and to
compare. Proofs: docs/theory/privacy/notions.md.

A result is a float that is at least the bound named in its docstring (at most, for a share of misses). The certified
curve of a loss is never above any of them; they serve where a loss is known by a divergence alone, and to compare.
Proofs: docs/theory/privacy/notions.md.
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from deniable.errors import InvalidParameterError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, REAL, round_up
from deniable.numbers.rationals import Real, decimal_above, exact_rational, nonnegative_rational, probability
from deniable.privacy.deadline import checkpoint
from deniable.privacy.notions.concentrated import concentrated_delta
from deniable.privacy.notions.gaussian_dp import DIGITS
from deniable.privacy.notions.renyi import renyi

if TYPE_CHECKING:
    from deniable.privacy.statement import Stated

_GOLDEN = (math.sqrt(5) - 1) / 2  # golden section
_MAX_OPTIMISED = 2  # orders whose optimal conversion is computed
_MAX_WORSE_ORDERS = 12  # orders in a row without an improvement before a search stops

ORDERS = (
    *(Fraction(tenths, 20) for tenths in (21, 22, 24, 27, 30, 35, 40, 45, 50, 55)),
    *(Fraction(quarters, 4) for quarters in range(12, 40)),
    *(Fraction(whole) for whole in range(10, 33)),
    *sorted({Fraction(round(32 * 1.15**power)) for power in range(1, 42)}),
)


# --- Rényi divergences to (epsilon, delta) -------------------------------------------------------------------------


def renyi_epsilon_classic(order: Real, divergence: Real, delta: Real) -> float:
    """Return divergence + ln(1/delta)/(order - 1), for comparison.

    It is never better than `renyi_epsilon`.

    Source: Mironov (2017), arXiv:1702.07476, Proposition 3.
    """
    a, d, share = _checked(order, divergence, delta)
    return _rounded(lambda: ball(d) - ball(share).log() / ball(a - 1))


def renyi_epsilon(order: Real, divergence: Real, delta: Real) -> float:
    """Return epsilon by a Rényi divergence: the best simple conversion, at least 0.

    It is divergence + ln(1 - 1/order) - ln(order delta)/(order - 1).

    Source: Canonne, Kamath, Steinke (2020), arXiv:2004.00010; Balle et al. (2020), arXiv:1905.09982.
    """
    a, d, share = _checked(order, divergence, delta)
    return _rounded(lambda: ball(d) + ball(1 - 1 / a).log() - ball(a * share).log() / ball(a - 1))


def renyi_delta(order: Real, divergence: Real, epsilon: Real) -> float:
    """Return delta by a Rényi divergence, at most 1.

    It is exp((order - 1) (divergence - epsilon)) (1 - 1/order)^order / (order - 1).
    """
    a = checked_order(order)
    d = nonnegative_rational("divergence", divergence)
    x = nonnegative_rational("epsilon", epsilon)

    return certified(lambda: (ball((a - 1) * (d - x)) + ball(a) * ball(1 - 1 / a).log()).exp() / ball(a - 1)).upper


@lru_cache(maxsize=1024)
def renyi_delta_optimal(order: Real, divergence: Real, epsilon: Real) -> float:
    """Return the best delta that the divergence of one order can prove.

    Guarantee: where divergence >= epsilon + ln(order/(order - 1)), 1 - e^(epsilon - divergence). Elsewhere, for any
        0 <= s < t with (order - 1) (t^order - s^order) <= order e^epsilon (t^(order-1) - s^(order-1)),
        (e^((order-1) divergence) + (order - 1) s^order - order s^(order-1)) / (order (t^(order-1) - s^(order-1)));
        s = 0 gives `renyi_delta`, the best s the optimum.
    Source: Asoodeh, Liao, Calmon, Kosut, Sankar (2020), arXiv:2001.05990; the form here is proved in
        docs/theory/privacy/notions.md.
    """
    a = checked_order(order)
    d = nonnegative_rational("divergence", divergence)
    x = nonnegative_rational("epsilon", epsilon)
    plain = renyi_delta(a, d, x)
    if certified(lambda: ball(d - x) + ball(1 - 1 / a).log(), within=REAL).lower >= 0:
        return min(plain, certified(lambda: -ball(x - d).expm1()).upper)
    pair = _touching_points(float(a), float(d), float(x))
    if pair is None:
        return plain
    s, t = pair

    def excess() -> Arb:
        low, high = ball(s) ** ball(a - 1), ball(t) ** ball(a - 1)
        return ball(a - 1) * (ball(t) * high - ball(s) * low) - ball(a) * ball(x).exp() * (high - low)

    def formula() -> Arb:
        low, high = ball(s) ** ball(a - 1), ball(t) ** ball(a - 1)
        moment = ball((a - 1) * d).exp() + ball(a - 1) * ball(s) * low - ball(a) * low
        return moment / (ball(a) * (high - low))

    if not certified(excess, within=REAL).upper <= 0:
        return plain
    return min(plain, certified(formula).upper)


def renyi_epsilon_optimal(order: Real, divergence: Real, delta: Real) -> float:
    """Return the least epsilon with `renyi_delta_optimal` at most delta.

    It has about 12 digits, rounded up.
    """
    a, d, share = _checked(order, divergence, delta)
    below = 0.0
    above = renyi_epsilon(a, d, share)
    if above == 0 or Fraction(renyi_delta_optimal(a, d, Fraction(0))) <= share:
        return 0.0
    for _ in range(45):
        middle = (below + above) / 2
        if Fraction(renyi_delta_optimal(a, d, Fraction(middle))) <= share:
            above = middle
        else:
            below = middle
    return above


def epsilon_by_renyi(loss: "Stated", delta: Real, *, orders: Iterable[Real] = ORDERS) -> float:
    """Return the best `renyi_epsilon` over orders: the answer of a Rényi accountant."""
    share = _checked_delta(delta)
    return _least_value(
        orders, lambda order: _or_infinite(renyi_epsilon, order, renyi(loss.statement, order).upper, share)
    )


def delta_by_renyi(loss: "Stated", epsilon: Real, *, orders: Iterable[Real] = ORDERS) -> float:
    """Return the best `renyi_delta_optimal` over orders; at most 1."""
    x = nonnegative_rational("epsilon", epsilon)
    known = list[tuple[Fraction, Fraction]]()

    def plain(order: Fraction) -> float:
        divergence = renyi(loss.statement, order).upper
        if math.isinf(divergence):
            return math.inf
        known.append((order, Fraction(divergence)))
        return _log_delta(order, known[-1][1], x)

    _least_value(orders, plain)
    return delta_of_divergences(known, x)


def delta_of_divergences(known: Iterable[tuple[Fraction, Fraction]], epsilon: Fraction) -> float:
    """Return the best `renyi_delta_optimal` of several (order, divergence).

    It is chosen in floats; 1 without any.
    """
    best = sorted(known, key=lambda point: _log_delta(point[0], point[1], epsilon))[:_MAX_OPTIMISED]
    return min((renyi_delta_optimal(order, value, epsilon) for order, value in best), default=1.0)


# --- Rényi divergences to events -----------------------------------------------------------------------------------


def renyi_probability(order: Real, divergence: Real, chance: object) -> float:
    """Return the largest probability under a neighbour of an event of this chance.

    It is (e^divergence chance)^(1 - 1/order).

    Source: Mironov (2017), arXiv:1702.07476, Proposition 10.
    """
    a = checked_order(order)
    d = nonnegative_rational("divergence", divergence)
    share = probability("chance", chance)
    if share == 0:
        return 0.0
    return certified(lambda: ((ball(d) + ball(share).log()) * ball(1 - 1 / a)).exp()).upper


# --- concentrated differential privacy -----------------------------------------------------------------------------


def concentrated_epsilon_classic(rho: Real, delta: Real) -> float:
    """Return rho + 2 sqrt(rho ln(1/delta)), for comparison.

    `ConcentratedLoss(rho).epsilon(delta)` is never worse.

    Source: Bun, Steinke (2016), arXiv:1605.02065.
    """
    r = nonnegative_rational("rho", rho)
    share = _checked_delta(delta)
    return _rounded(lambda: ball(r) + 2 * (-ball(r) * ball(share).log()).sqrt())


def shifted_concentrated_delta(xi: object, rho: Real, epsilon: Real) -> float:
    """Return delta of a mechanism with D_a <= xi + rho a for every order a > 1.

    It is that of rho-zCDP at epsilon - xi.
    """
    start, r = nonnegative_rational("xi", xi), nonnegative_rational("rho", rho)
    x = nonnegative_rational("epsilon", epsilon)
    return 1.0 if x < start else min(concentrated_delta(r, x - start), 1.0)


def rho_of_pure(epsilon: Real) -> Fraction:
    """Return the least rho of all epsilon-DP mechanisms: epsilon tanh(epsilon/2).

    It has 12 digits, rounded up, and is below epsilon^2/2, the bound of Bun and Steinke (2016). Proof:
    docs/theory/privacy/notions.md.

    It is below epsilon^2/2, the bound of Bun and Steinke (2016). Proof: docs/theory/privacy/notions.md.
    """
    limit = nonnegative_rational("epsilon", epsilon)
    if limit == 0:
        return Fraction(0)
    rho = certified(lambda: ball(limit) * (ball(limit) / 2).tanh(), within=NONNEGATIVE)
    return min(decimal_above(Fraction(rho.upper), DIGITS), limit**2 / 2)


def concentrated_of_mean_concentrated(mean: Real, spread: Real) -> tuple[Fraction, Fraction]:
    """Return (xi, rho) with D_a <= xi + rho a, for a (mean, spread)-CDP mechanism.

    It is (mean - spread^2/2, spread^2/2). The way back, `mean_concentrated_of_concentrated`, does not return where it
    came from.

    The way back, `mean_concentrated_of_concentrated`, does not return where it came from.
    Source: Dwork, Rothblum (2016), arXiv:1603.01887; Bun, Steinke (2016), arXiv:1605.02065.
    """
    centre = nonnegative_rational("mean", mean)
    width = nonnegative_rational("spread", spread)
    return centre - width**2 / 2, width**2 / 2


def mean_concentrated_of_concentrated(rho: Real) -> tuple[float, float]:
    """Return (mean, spread) for which every rho-zCDP mechanism is (mean, spread)-CDP.

    That is: E[L] <= mean, and L - E[L] is sub-Gaussian.

    Guarantee: mean = rho, and spread^2/2 = max(rho (1 + 1/t), (exp(rho t (1 + t)) - 1)/t^2) for any t in (0, 1]; the
        best of several is taken. For small rho the spread is 2 sqrt(rho), sqrt(2) times that of Gaussian noise.
    Source: after Bun, Steinke (2016), arXiv:1605.02065, whose constants are not explicit; proof of these in
        docs/theory/privacy/notions.md.

    >>> mean, spread = mean_concentrated_of_concentrated("0.005")
    >>> round(mean, 4), round(spread, 4)
    (0.005, 0.1418)
    """
    cost = nonnegative_rational("rho", rho)
    if cost == 0:
        return 0.0, 0.0

    def half_square(part: Fraction) -> Fraction:
        exact = certified(lambda: ball(cost * part * (1 + part)).expm1() / ball(part**2), within=NONNEGATIVE)
        return max(Fraction(exact.upper), cost * (1 + 1 / part))

    parts = (Fraction(k, 64) for k in range(1, 65))
    candidates = [half_square(part) for part in parts if cost * part * (1 + part) < 700]
    spread = certified(lambda: (2 * ball(min(candidates))).sqrt(), within=NONNEGATIVE).upper if candidates else math.inf
    return round_up(cost), spread


# --- distances and tails -------------------------------------------------------------------------------------------


def advantage_of_divergence(divergence: Real) -> float:
    """Return the largest advantage of a test at this Kullback-Leibler divergence.

    The advantage is the true positive rate less the false positive rate.

    Guarantee: the smaller of sqrt(divergence/2) (Pinsker) and sqrt(1 - exp(-divergence)) (Bretagnolle, Huber 1979).
    """
    d = nonnegative_rational("divergence", divergence)
    pinsker = certified(lambda: (ball(d) / 2).sqrt(), within=NONNEGATIVE)
    far = certified(lambda: (-(-ball(d)).expm1()).sqrt(), within=NONNEGATIVE)
    return min(pinsker.upper, far.upper, 1.0)


def advantage_of_approximate(epsilon: Real, delta: Real) -> float:
    """Return the total variation of any (epsilon, delta)-DP mechanism.

    It is (e^epsilon - 1 + 2 delta)/(e^epsilon + 1).
    """
    x = nonnegative_rational("epsilon", epsilon)
    share = probability("delta", delta)
    return certified(lambda: (ball(x).expm1() + 2 * ball(share)) / (ball(x).exp() + 1)).upper


def loss_above(epsilon: Real, delta: Real, *, loss: object) -> float:
    """Return the largest probability that the privacy loss exceeds `loss` > epsilon.

    It holds for every (epsilon, delta)-DP mechanism.

    Guarantee: delta / (1 - exp(epsilon - loss)), at most 1. It is not delta: (epsilon, delta)-DP says nothing about
        losses just above epsilon.
    """
    x = nonnegative_rational("epsilon", epsilon)
    share = probability("delta", delta)
    limit = nonnegative_rational("loss", loss)
    if limit <= x:
        raise InvalidParameterError(f"loss must be > epsilon, got loss={loss!r}, epsilon={epsilon!r}")
    return certified(lambda: ball(share) / -ball(x - limit).expm1()).upper


# --- below ---------------------------------------------------------------------------------------------------------


def _touching_points(a: float, d: float, x: float) -> tuple[Fraction, Fraction] | None:
    """Return a good (s, t) for `renyi_delta_optimal`; None when s = 0 is as good.

    It is searched in floats on logarithms.
    """
    if x > 600 or a * max(x, d, 1.0) > 1e5:
        return None

    def upper_point(s: float) -> float:
        start = math.log(s)
        low = max(x, start)
        high = x + math.log(a / (a - 1))
        for _ in range(48):
            middle = (low + high) / 2
            w = math.exp(start - middle)
            value = (a - 1) * math.exp(middle - x) * (1 - w**a) - a * (1 - w ** (a - 1))
            low, high = (low, middle) if value > 0 else (middle, high)
        return low - 1e-13 * (1 + abs(low))

    def height(s: float) -> float:
        top = upper_point(s)
        more = (a - 1) * s**a - a * s ** (a - 1)
        grown = (a - 1) * d
        value = grown + math.log1p(more * math.exp(-grown)) if more * math.exp(-grown) > -1 else -math.inf
        return value - (a - 1) * top - math.log1p(-math.exp((a - 1) * (math.log(s) - top)))

    low = 1e-12
    high = 1 - 1e-9
    points = [low + share * (high - low) for share in (_GOLDEN**2, _GOLDEN)]
    heights = [height(point) for point in points]
    for _ in range(22):
        if heights[0] <= heights[1]:
            high = points[1]
            points = [low + _GOLDEN**2 * (high - low), points[0]]
            heights = [height(points[0]), heights[0]]
        else:
            low = points[0]
            points = [points[1], low + _GOLDEN * (high - low)]
            heights = [heights[1], height(points[1])]
    s = (low + high) / 2
    return Fraction(s), Fraction(math.exp(upper_point(s)))


def _least_value(orders: Iterable[Real], value: Callable[[Fraction], float]) -> float:
    """Return the least value over orders.

    The search stops when values have only risen for a while, or become infinite: a divergence that is infinite at an
    order is so at all larger ones.

    A divergence that is infinite at an order is so at all larger ones.
    """
    best = math.inf
    worse = 0
    for order in sorted(map(checked_order, orders)):
        checkpoint()
        current = value(order)
        if math.isinf(current):
            break
        if current < best:
            best = current
            worse = 0
        else:
            worse += 1
            if worse > _MAX_WORSE_ORDERS:
                break
    return best


def _log_delta(order: Fraction, divergence: Fraction, epsilon: Fraction) -> float:
    """Return about the logarithm of `renyi_delta`, to find the best of many orders."""
    try:
        grown = float((order - 1) * (divergence - epsilon))
        a = float(order)
        less = float(order - 1)
        return grown + a * math.log(less / a) - math.log(less)
    except (OverflowError, ValueError):
        return math.inf


def _or_infinite(
    convert: Callable[[Real, Real, Real], float], order: Fraction, divergence: float, at: Fraction
) -> float:
    """Return the conversion of a finite divergence; infinity for an infinite one."""
    return convert(order, Fraction(divergence), at) if math.isfinite(divergence) else math.inf


def _checked(order: Real, divergence: Real, delta: Real) -> tuple[Fraction, Fraction, Fraction]:
    return checked_order(order), nonnegative_rational("divergence", divergence), _checked_delta(delta)


def checked_order(order: Real) -> Fraction:
    """Return a Rényi order above 1, exact."""
    number = exact_rational("order", order)
    if number <= 1:
        raise InvalidParameterError(f"order must be > 1, got {order!r}")
    return number


def _checked_delta(delta: Real) -> Fraction:
    share = probability("delta", delta)
    if share == 0:
        raise InvalidParameterError("delta must be > 0: a divergence of finite order never proves epsilon-DP")
    return share


def _rounded(formula: Callable[[], Arb]) -> float:
    """Return the upper end of a number that is at least 0 by nature."""
    return max(certified(formula, within=REAL).upper, 0.0)

"""Epsilon of one loss by the accountants of the last twenty years, side by side."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.balls import Arb
from deniable.numbers.interval import Interval, round_down
from deniable.numbers.rationals import exact_root
from deniable.numbers.roots import inverse
from deniable.privacy.composition.classic import classic_drift, drifted, tanh_drift
from deniable.privacy.composition.compose import composed
from deniable.privacy.notions.central_limit import approximate_epsilon, sampled_gaussian_mu
from deniable.privacy.notions.concentrated import concentrated_delta
from deniable.privacy.notions.conversion import ORDERS, epsilon_by_renyi
from deniable.privacy.notions.gaussian_dp import gaussian_delta
from deniable.privacy.statement import Statement

Parts = list[tuple[Statement, int]]

_FIBONACCI = (55, 89)  # of the search for the best order: their sum exceeds the number of orders


@dataclass(frozen=True)
class Account:
    """Epsilon that one accountant states for a loss; None if it has no answer.

    Args:
        name: the accountant, in words.
        epsilon: rounded up where it is a bound; None where the accountant says nothing about this loss.
        source: the paper.
        bound: whether the epsilon is proved; otherwise it may lie on either side of the truth.
    """

    name: str
    epsilon: float | None
    source: str
    bound: bool = True


def accounts(loss: Statement, delta: Fraction) -> tuple[Account, ...]:
    """Return the epsilon at `delta` > 0 by each accountant but the certified one.

    Bounds are rounded up. Basic and advanced composition take each part at its own best epsilon for a share of delta:
    all of it, divided by the number of parts, for basic composition; half of it for advanced composition, whose slack
    is the other half.

    Basic and advanced composition are given each part at its own best epsilon for a share of delta: all of it, divided
    by the number of parts, for basic, half of it for advanced composition, whose slack is the other half.
    """
    parts = list(loss.composition)
    bounds = [
        ("basic composition", _basic(parts, delta), "Dwork, McSherry, Nissim, Smith (2006)"),
        ("advanced composition", _advanced(parts, delta, classic_drift), "Dwork, Rothblum, Vadhan (2010)"),
        ("advanced, tanh form", _advanced(parts, delta, tanh_drift), "Kairouz, Oh, Viswanath (2015), Theorem 3.5"),
        ("concentrated (zCDP)", _concentrated(loss, delta), "Bun, Steinke (2016); Canonne, Kamath, Steinke (2020)"),
        ("Rényi (RDP)", _renyi(loss, parts, delta), "Mironov (2017); Canonne, Kamath, Steinke (2020)"),
        ("Gaussian (GDP)", _gaussian(loss, delta), "Dong, Roth, Su (2019)"),
    ]
    proved = [Account(name, _finite(value), source) for name, value, source in bounds]
    limit = Account("central limit of GDP", _central_limit(parts, delta), "Bu, Dong, Long, Su (2020)", bound=False)
    return (*proved, limit)


def _basic(parts: Parts, delta: Fraction) -> float:
    """Return the sum of the parts' epsilons, at delta = 0 or at equal shares of delta."""
    runs = sum(count for _, count in parts)
    pure = sum(_epsilon(loss, Fraction(0)) * count for loss, count in parts)
    if runs == 0:
        return 0.0
    shared = sum(_epsilon(loss, Fraction(round_down(delta / runs))) * count for loss, count in parts)
    return min(pure, shared) * (1 + 1e-14)


def _advanced(parts: Parts, delta: Fraction, drift: Callable[[Arb], Arb]) -> float:
    """Return the sum of drifts plus sqrt(2 ln(1/slack) times the sum of squares)."""
    runs = sum(count for _, count in parts)
    if runs == 0:
        return 0.0
    slack = Fraction(round_down(delta / 2))
    shares = [Fraction(0), Fraction(round_down((delta - slack) / runs))]
    each = [(min(_epsilon(loss, share) for share in shares), count) for loss, count in parts]
    if max(epsilon for epsilon, _ in each) > 300:
        return math.inf

    return drifted([(Fraction(epsilon), count) for epsilon, count in each], slack, drift)


def _concentrated(loss: Statement, delta: Fraction) -> float | None:
    """Return the epsilon of the sum of rho; None if it is unknown."""
    rho = loss.rho
    if rho is None:
        return None
    return inverse(lambda epsilon: Interval(0.0, concentrated_delta(rho, epsilon)), delta, limit=None).upper


def _gaussian(loss: Statement, delta: Fraction) -> float | None:
    """Return the epsilon of the sum of mu^2; None if it is unknown."""
    mu_squared = loss.mu_squared
    if mu_squared is None:
        return None
    return inverse(lambda epsilon: gaussian_delta(mu_squared, epsilon), delta, limit=None).upper


def _renyi(loss: Statement, parts: Parts, delta: Fraction) -> float | None:
    """Return the epsilon at the best of the usual Rényi orders, trying some ten.

    Epsilons first fall, then rise with the order. None where a part is dominated by laws with an infinite loss: its
    divergences, if they are finite at all, are then known only as sums of the other notions.

    With D(a) convex in a when multiplied by a - 1, so is epsilon(a) = D(a) + ln(1 - 1/a) - ln(a delta)/(a - 1). Any
    order gives a bound.

    Nothing where a part is dominated by laws with an infinite loss: what is then known of its divergences, if they are
    finite at all, are its sums of the other currencies.

    With D(a) convex in a when multiplied by a - 1, so is epsilon(a) = D(a) + ln(1 - 1/a) - ln(a delta)/(a - 1). Any
    order gives a bound.
    """

    @cache
    def epsilon_at(index: int) -> float:
        try:
            return epsilon_by_renyi(loss, delta, orders=ORDERS[index : index + 1])
        except (InvalidParameterError, UnprovedError):
            return math.inf

    pairs = [part.laws() for part, _ in parts]
    if any(law.infinite for both in pairs if both for law in both.upper) or math.isinf(epsilon_at(0)):
        return None
    before, short, long = -1, *_FIBONACCI  # the best is before + 1 to before + short + long - 1
    while short < long:
        if epsilon_at(before + short) > epsilon_at(before + long):
            before += short
        short, long = long - short, short
    return epsilon_at(before + 1)


def _central_limit(parts: Parts, delta: Fraction) -> float | None:
    """Return the central-limit approximation of many steps of sampled Gaussian noise."""
    loss, count = parts[0] if len(parts) == 1 else (composed([]), 0)
    base, rate = loss.as_sample
    root = exact_root(base.normal_mu_squared or Fraction(0))
    if not root or rate == 1:
        return None
    try:
        mu = sampled_gaussian_mu(1 / root, rate=rate, count=count)
        return approximate_epsilon(mu, delta).approximately
    except InvalidParameterError:
        return None


@lru_cache(maxsize=64)
def _epsilon(loss: Statement, delta: Fraction) -> float:
    """Return the least epsilon of one part; infinite if it cannot be computed."""
    try:
        return loss.epsilon_at(delta).upper
    except InvalidParameterError:
        return math.inf


def _finite(value: float | None) -> float | None:
    """Return a finite value, or None."""
    return value if value is not None and math.isfinite(value) else None

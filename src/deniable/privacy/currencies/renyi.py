"""Rényi divergences of a loss: every order from 1 (Kullback-Leibler) to infinity, in the worse direction.

Closed forms where there are some, in ball arithmetic; otherwise an integral over the curve of the loss's laws, with
bounds on both sides. Proofs: docs/theory/privacy/currencies.md.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial, singledispatch
from typing import TYPE_CHECKING

from deniable.errors import InvalidParameterError
from deniable.numbers.balls import ball, certified
from deniable.numbers.interval import Interval, round_down, round_up
from deniable.numbers.rationals import exact_rational
from deniable.privacy.around.compose import Composed
from deniable.privacy.around.group import GroupLoss
from deniable.privacy.around.mixture import PublicMixture
from deniable.privacy.around.parallel import ParallelLoss
from deniable.privacy.around.restricted import Restricted
from deniable.privacy.around.sampling.poisson import PoissonSampledLoss
from deniable.privacy.around.stated import Stated
from deniable.privacy.currencies.renyi_combined import group_divergence, mixture_divergence
from deniable.privacy.currencies.renyi_integral import Tail, chernoff_tail, law_divergence
from deniable.privacy.currencies.sampled_normal import sampled_normal_divergence
from deniable.privacy.currencies.tradeoff_curve import exact_mu_squared
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.losses.approximate import ApproximateLoss
from deniable.privacy.losses.concentrated import ConcentratedLoss
from deniable.privacy.losses.discrete_gaussian import DiscreteGaussianLoss
from deniable.privacy.losses.discrete_laplace import DiscreteLaplaceLoss
from deniable.privacy.losses.finite import FiniteLoss
from deniable.privacy.losses.gaussian import GaussianLoss
from deniable.privacy.losses.integer_noise import IntegerNoiseLoss, extreme_changes
from deniable.privacy.losses.laplace import LaplaceLoss
from deniable.privacy.losses.pure import PureLoss
from deniable.privacy.losses.renyi import RenyiLoss
from deniable.privacy.pld.law import LossLaw, Pairs
from deniable.privacy.relation import Replace

if TYPE_CHECKING:
    from flint import arb

Directions = tuple[Interval, Interval]  # (with the unit, without it) and (without, with)

_NONNEGATIVE = Interval(0.0, math.inf)
_INFINITE = Interval(math.inf, math.inf)
_MOST_MOMENTS = 128  # of the binomial sum of an integer order
_CLOSED = (DiscreteGaussianLoss, DiscreteLaplaceLoss, LaplaceLoss, PureLoss)  # divergences by a formula


def renyi(loss: PrivacyLoss, order: object) -> Interval:
    """The Rényi divergence of this order, the larger of both directions.

    Guarantee: D = ln E_Q[(P/Q)^order] / (order - 1); the Kullback-Leibler divergence E_P[ln P/Q] at order 1, the
        greatest loss at infinity. It adds up over compositions.

    Args:
        order: a number >= 1, or math.inf.
    Source: Mironov (2017), arXiv:1702.07476.
    """
    if isinstance(order, float) and order == math.inf:
        return loss.epsilon(0)
    number = exact_rational("order", order)
    if number < 1:
        raise InvalidParameterError(f"order must be >= 1, got {order!r}. For orders below 1 exchange the two laws.")
    with_unit, without = directed(loss, number)
    return Interval(max(with_unit.lower, without.lower), max(with_unit.upper, without.upper))


@lru_cache(maxsize=4096)
def directed(loss: PrivacyLoss, order: Fraction) -> Directions:
    """The divergences of both directions."""
    return _directed(loss, order)


@singledispatch
def _directed(loss: PrivacyLoss, order: Fraction) -> Directions:
    """For a loss of no special form from its laws, or from what else is proved."""
    pairs = loss.laws()
    if pairs is None:
        return _known(loss, order)
    known = _known(loss, order)[0].upper
    tail = _tail_of(lambda higher: _known(loss, higher)[0].upper, order) if math.isfinite(known) else None
    return _of_laws(pairs, order, tail, known)


def _of_laws(pairs: Pairs, order: Fraction, tail: Tail | None, known: float) -> Directions:
    """From the laws of both directions, and what is known to bound either."""

    def both(laws: tuple[LossLaw, LossLaw]) -> Directions:
        first = law_divergence(laws[0], order, tail)
        return first, first if laws[1] is laws[0] else law_divergence(laws[1], order, tail)

    ends = both(pairs.upper)
    starts = ends if pairs.lower is pairs.upper else both(pairs.lower)
    found = [
        Interval(min(start.lower, end.upper, known), min(end.upper, known))
        for start, end in zip(starts, ends, strict=True)
    ]
    return found[0], found[1]


@_directed.register
def _of_composition(loss: Composed, order: Fraction) -> Directions:
    found = [(directed(part, order), count) for part, count in loss.parts]
    first, second = (_total([(both[way], count) for both, count in found]) for way in (0, 1))
    return first, second


@_directed.register
def _of_wrapped(loss: Stated | Restricted, order: Fraction) -> Directions:
    return directed(loss.loss, order)


@_directed.register
def _of_group(loss: GroupLoss, order: Fraction) -> Directions:
    """By the chain of single units; from the laws where the loss is bounded. A single unit is a group too."""
    found = _directed.dispatch(object)(loss, order) if loss.failing_epsilon is not None else _known(loss, order)
    chain = group_divergence(partial(_upper, loss.base), loss.size, order)
    least = min(one.lower for one in directed(loss.base, order))
    upper = min(chain, *(one.upper for one in found))
    return _both(Interval(min(max(least, *(one.lower for one in found)), upper), upper))


@_directed.register
def _of_disjoint(loss: ParallelLoss, order: Fraction) -> Directions:
    """The unit is in one of the parts, and nobody knows which."""
    return _both(_largest([one for part in loss.alternatives for one in directed(part, order)]))


@_directed.register
def _of_mixture(loss: PublicMixture, order: Fraction) -> Directions:
    """Parts without laws may attain their divergences for different neighbours; then the others diverge by 0."""
    found = [(weight, directed(part, order)) for weight, part in loss.parts]
    attained = loss.laws() is not None

    def way(side: int) -> Interval:
        lowers = [(weight, both[side].lower) for weight, both in found]
        tried = [lowers] if attained else [[(w, d), (1 - w, 0.0)] for w, d in lowers]
        upper = mixture_divergence([(weight, both[side].upper) for weight, both in found], order).upper
        return Interval(min(max(mixture_divergence(case, order).lower for case in tried), upper), upper)

    return way(0), way(1)


@_directed.register
def _of_gaussian(loss: GaussianLoss, order: Fraction) -> Directions:
    return _both(Interval.around(order * loss.mu_squared / 2))


@_directed.register
def _of_concentrated(loss: ConcentratedLoss, order: Fraction) -> Directions:
    """Attained without a shift by Gaussian noise, which is one of the mechanisms with this rho."""
    if loss.failed:
        return _both(_INFINITE)
    upper = round_up(loss.shift + order * loss.limit)
    if not loss.limit:
        upper = bounded_divergence(loss.shift, order).upper
    return _both(Interval(min(round_down(order * loss.limit), upper), upper))


@_directed.register
def _of_renyi(loss: RenyiLoss, order: Fraction) -> Directions:
    return _both(loss.divergence(order))


@_directed.register
def _of_pure(loss: PureLoss, order: Fraction) -> Directions:
    return _both(bounded_divergence(loss.limit, order))


@_directed.register
def _of_approximate(loss: ApproximateLoss, order: Fraction) -> Directions:
    return _both(_INFINITE if loss.failed else bounded_divergence(loss.limit, order))


@_directed.register
def _of_laplace(loss: LaplaceLoss, order: Fraction) -> Directions:
    """ln(a/(2a - 1) e^((a-1) e) + (a - 1)/(2a - 1) e^(-a e))/(a - 1); at order 1 e + e^-e - 1 (Mironov 2017)."""
    limit = loss.failing_epsilon

    def formula() -> "arb":
        a, e = ball(order), ball(limit)
        if order == 1:
            return e + (-e).expm1()
        return (a / (2 * a - 1) * ((a - 1) * e).exp() + (a - 1) / (2 * a - 1) * (-a * e).exp()).log() / (a - 1)

    return _both(certified(formula, within=_NONNEGATIVE))


@_directed.register
def _of_discrete_laplace(loss: DiscreteLaplaceLoss, order: Fraction) -> Directions:
    return _both(_of_coordinates(loss, lambda shift: _shifted_laplace(loss.scale, shift, order)))


@_directed.register
def _of_discrete_gaussian(loss: DiscreteGaussianLoss, order: Fraction) -> Directions:
    """At most order l2^2 / (2 sigma^2), for vectors too (Canonne, Kamath, Steinke 2020)."""
    found = _of_coordinates(loss, lambda shift: _shifted_gaussian(loss.sigma_squared, shift, order))
    upper = min(found.upper, round_up(order * loss.failing_rho))
    return _both(Interval(min(found.lower, upper), upper))


def _of_coordinates(loss: IntegerNoiseLoss, divergence: Callable[[int], Interval]) -> Interval:
    """Of the worst change and of the attained one: divergences of coordinates add up."""
    worst, attained = (
        _total([(divergence(shift), count) for shift, count in change]) for change in extreme_changes(loss.sensitivity)
    )
    return Interval(min(attained.lower, worst.upper), worst.upper)


@_directed.register
def _of_sampled(loss: PoissonSampledLoss, order: Fraction) -> Directions:
    """Where the base is symmetric the direction (with, without) is the larger one."""
    mu_squared = exact_mu_squared(loss.base)
    if mu_squared is not None:
        removed = sampled_normal_divergence(mu_squared, loss.rate, order)
        return removed, Interval(0.0, removed.upper)
    base, pairs = loss.base.laws(), loss.laws()
    tail = _tail_of(partial(_upper, loss.base), order, loss.rate) if math.isinf(pairs.upper[0].highest) else None
    known = _upper(loss.base, order)
    if base is None or base.upper[0] is not base.upper[1]:
        return _of_laws(pairs, order, tail, known)
    if isinstance(loss.base, _CLOSED) and order.denominator == 1 and 1 < order <= _MOST_MOMENTS:
        removed = _by_moments(loss.base, loss.rate, int(order))
        return removed, Interval(0.0, removed.upper)
    larger = Pairs.symmetric(pairs.upper[0], None if pairs.lower is pairs.upper else pairs.lower[0])
    found = _of_laws(larger, order, tail, known)[0]
    return found, Interval(0.0, found.upper)


def _by_moments(base: PrivacyLoss, rate: Fraction, order: int) -> Interval:
    """E_Q (1 - q + q T)^a = 1 + sum over k >= 2 of C(a, k) q^k (1 - q)^(a-k) (exp((k - 1) D_k) - 1)."""
    divergences = [directed(base, Fraction(k))[0] for k in range(2, order + 1)]

    def formula(ends: list[float]) -> "arb":
        q, total = ball(rate), ball(Fraction(0))
        for k, end in enumerate(ends, start=2):
            total += math.comb(order, k) * q**k * (1 - q) ** (order - k) * ball((k - 1) * Fraction(end)).expm1()
        return (1 + total).log() / (order - 1)

    lower = certified(lambda: formula([found.lower for found in divergences]), within=_NONNEGATIVE)
    upper = certified(lambda: formula([found.upper for found in divergences]), within=_NONNEGATIVE)
    return Interval(lower.lower, upper.upper)


@_directed.register
def _of_finite(loss: FiniteLoss, order: Fraction) -> Directions:
    """The greatest of all pairs, in each direction; under replace either direction may occur."""
    with_unit = [_of_masses(p, q, order) for p, q in loss.pairs]
    without = [_of_masses(q, p, order) for p, q in loss.pairs]
    both = (_largest(with_unit), _largest(without))
    return _both(_largest(list(both))) if loss.relation is Replace else both


def _of_masses(p: tuple[Fraction, ...], q: tuple[Fraction, ...], order: Fraction) -> Interval:
    if any(x and not y for x, y in zip(p, q, strict=True)):
        return _INFINITE
    pairs = [(x, y) for x, y in zip(p, q, strict=True) if x]

    def formula() -> "arb":
        if order == 1:
            return sum((ball(x) * ball(x / y).log() for x, y in pairs), ball(Fraction(0)))
        return sum((ball(y) * ball(x / y) ** ball(order) for x, y in pairs), ball(Fraction(0))).log() / ball(order - 1)

    return Interval(0.0, 0.0) if p == q else certified(formula, within=_NONNEGATIVE)


def _largest(found: list[Interval]) -> Interval:
    return Interval(max(one.lower for one in found), max(one.upper for one in found))


def bounded_divergence(limit: Fraction, order: Fraction) -> Interval:
    """The greatest divergence of an order among all `limit`-DP mechanisms: that of randomised response.

    Guarantee: ln(cosh((order - 1/2) limit) / cosh(limit/2)) / (order - 1); at order 1 limit tanh(limit/2).
    Source: Mironov (2017), arXiv:1702.07476; docs/theory/privacy/currencies.md.
    """
    if limit == 0:
        return Interval(0.0, 0.0)

    def formula() -> "arb":
        e = ball(limit)
        if order == 1:
            return e * (e / 2).tanh()
        away = order - Fraction(1, 2)
        return ((ball(away * limit)).cosh() / (e / 2).cosh()).log() / ball(order - 1)

    return certified(formula, within=Interval(0.0, Interval.around(limit).upper))


def _shifted_laplace(scale: Fraction, shift: int, order: Fraction) -> Interval:
    """One noisy integer against the same moved by `shift`: a geometric sum over its shift + 1 losses."""
    if shift == 0:
        return Interval(0.0, 0.0)

    def formula() -> "arb":
        q = ball(-1 / scale).exp()
        inner, far = (1 - q) / (1 + q), ball(shift / scale)
        if order == 1:
            n, r = shift - 1, 1 / q
            weighted = r * (1 - (n + 1) * r**n + n * r ** (n + 1)) / (1 - r) ** 2
            plain = (r ** (n + 1) - r) / (r - 1)
            middle = inner * (-far).exp() * (2 * weighted - shift * plain) / ball(scale)
            return far * -(-far).expm1() / (1 + q) + middle
        a = ball(order)
        r = ball((2 * order - 1) / scale).exp()
        ends = (((a - 1) * far).exp() + (-a * far).exp()) / (1 + q)
        middle = inner * (-a * far).exp() * (r**shift - r) / (r - 1)
        return (ends + middle).log() / (a - 1)

    return certified(formula, within=Interval(0.0, round_up(shift / scale)))


def _shifted_gaussian(sigma_squared: Fraction, shift: int, order: Fraction) -> Interval:
    """The value of real noise, order shift^2/(2 sigma^2), less ln(theta(0)/theta(order shift))/(order - 1)."""
    plain = order * shift**2 / (2 * sigma_squared)
    place = order * shift % 1
    if place == 0:
        return Interval.around(plain)

    def formula() -> "arb":
        from flint import acb, arb

        tau = acb(0, 2 * arb.pi() * ball(sigma_squared))
        thetas = [acb(ball(at)).modular_theta(tau) for at in (place, Fraction(0))]  # type: ignore[call-arg]
        moved, whole = (four[2].real for four in thetas)
        return ball(plain) + (moved / whole).log() / ball(order - 1)

    return certified(formula, within=Interval(0.0, round_up(plain)))


def _known(loss: PrivacyLoss, order: Fraction) -> Directions:
    """From sums of rho, mu or epsilon, for a loss that is known by these alone."""
    bounds = [math.inf]
    if loss.rho is not None:
        bounds.append(round_up(order * loss.rho))
    if loss.mu_squared is not None:
        bounds.append(round_up(order * loss.mu_squared / 2))
    if loss.pure_epsilon is not None:
        bounds.append(bounded_divergence(loss.pure_epsilon, order).upper)
    return _both(Interval(0.0, min(bounds)))


def _total(parts: list[tuple[Interval, int]]) -> Interval:
    """The sum of divergences, each so many times."""
    if any(math.isinf(found.lower) for found, _ in parts):
        return _INFINITE
    lower = sum((Fraction(found.lower) * count for found, count in parts), Fraction(0))
    if any(math.isinf(found.upper) for found, _ in parts):
        return Interval(round_down(lower), math.inf)
    return Interval(
        round_down(lower), round_up(sum((Fraction(found.upper) * count for found, count in parts), Fraction(0)))
    )


def _both(found: Interval) -> Directions:
    return found, found


def _tail_of(divergence: Callable[[Fraction], float], order: Fraction, rate: Fraction = Fraction(1)) -> Tail:
    return chernoff_tail(2.0 if order == 1 else float(order), rate, divergence)


def _upper(loss: PrivacyLoss, order: Fraction) -> float:
    return max(found.upper for found in directed(loss, order))

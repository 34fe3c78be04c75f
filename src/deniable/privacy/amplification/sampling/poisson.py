"""Amplification by Poisson sampling: a unit takes part only with some probability."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import ClassVar

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import INFINITE, NONNEGATIVE, Interval, round_down, round_up
from deniable.numbers.rationals import Real, decimal_above, exact_rational, shown
from deniable.numbers.roots import Curve, inverse
from deniable.privacy.amplification.sampling.sampled_group import sampled_gaussian_group
from deniable.privacy.amplification.sampling.sampled_law import mixed_pairs
from deniable.privacy.charge import Charge
from deniable.privacy.notions.gaussian_dp import DIGITS
from deniable.privacy.notions.renyi import Directions, directed, integrated, tail_of, upper_divergence
from deniable.privacy.notions.sampled_normal import sampled_normal_divergence
from deniable.privacy.pld.accountant import DEFAULT_TOLERANCE
from deniable.privacy.pld.curve_law import pairs_above
from deniable.privacy.pld.law import Pairs
from deniable.privacy.pld.single import single_delta, single_epsilon
from deniable.privacy.relation import AddRemove, Relation, Replace
from deniable.privacy.statement import Stated, Statement, statement_of

_MAX_LOSS = Fraction(600)  # epsilon beyond which a curve no longer falls
_CURVE_POINTS = 512  # of a curve that stands for its loss
_MAX_MOMENTS = 128  # largest integer order of the binomial sum


class SampledStatement(Statement):
    """Loss of a mechanism `base` that sees a unit by chance only.

    Base class; the curve is computed from the pairs of laws.
    """

    base: Statement
    rate: Fraction

    @property
    def share(self) -> Fraction:
        """Bound on the probability that a unit takes part."""
        return self.rate

    @abstractmethod
    def laws(self) -> Pairs: ...

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta at `epsilon`, by a formula or from the laws."""
        return self._found_delta(epsilon, DEFAULT_TOLERANCE, promised=False)

    def _closed_delta(self, epsilon: Fraction) -> Interval | None:
        """Return the curve where a formula gives it.

        None, for every epsilon, where it has to be computed from the laws.
        """
        return None

    def delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        """Return delta at `epsilon`, to this relative width."""
        return self._found_delta(epsilon, tolerance, promised=True)

    def _found_delta(self, epsilon: Fraction, tolerance: float, *, promised: bool) -> Interval:
        """Return delta by a formula, by the greatest loss, or from the laws."""
        closed = self._closed_delta(epsilon)
        if closed is not None:
            return closed
        limit = self.pure_epsilon
        if limit is not None and epsilon >= limit:
            return Interval(0.0, 0.0)
        return single_delta(self.laws(), epsilon, tolerance, promised=promised)

    def epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        """Return the least epsilon at `delta`, to this width."""
        if delta < self.infinite_mass:
            return INFINITE
        limit = self.failing_epsilon if delta >= self.share * self.failure else None
        if self._closed_delta(Fraction(0)) is None:
            return single_epsilon(self.laws(), delta, tolerance, limit)
        unreachable = limit is None and self.failure > 0 and Fraction(self.curve(_MAX_LOSS).upper) > delta
        return inverse(self.curve, delta, limit=limit, unreachable=unreachable)

    def charge(self) -> Charge:
        """Return the charge; a failure counts only when the unit takes part.

        Delta is that of the base times the share.
        """
        booked = super().charge()
        return replace(booked, delta=self.share * booked.delta)

    @property
    def failure(self) -> Fraction:
        """Failure of the base, before sampling."""
        return self.base.failure

    @property
    def infinite_mass(self) -> Fraction:
        """Infinite mass of the base times the share, where both directions have one law.

        Sampling makes an infinite loss of (without, with) finite, so only what fails in both directions counts.
        """
        base = self.base.laws()
        alike = base is not None and base.lower[0] is base.lower[1]
        return self.share * self.base.infinite_mass if alike else Fraction(0)

    @property
    def failing_epsilon(self) -> Fraction | None:
        """Epsilon ln(1 + share (e^epsilon - 1)), amplified by sampling."""
        limit = self.base.failing_epsilon
        return None if limit is None else amplified_limit(limit, self.share)


@dataclass(frozen=True, init=False)
class PoissonSampledStatement(SampledStatement):
    """Loss of a mechanism on a Poisson sample, under add/remove.

    Each unit is in the sample with probability `rate`, independently.

    Args:
        base: the loss of the mechanism on all units, under add/remove.
        rate: the sampling probability, in (0, 1).

    Guarantee: under add/remove, if (P, Q) dominates the pair (with, without) of the mechanism, the sampled one is
        dominated by ((1 - rate) Q + rate P, Q), and its reverse by the reversed pair; both directions are kept. An
        (epsilon, delta)-DP mechanism becomes (ln(1 + rate (e^epsilon - 1)), rate delta)-DP. A loss that is known by a
        bound on its curve is dominated by a pair with the greatest convex curve below this bound in both directions;
        nothing is then known from below.
    Source: Zhu, Dong, Wang (2022), arXiv:2106.08567; Balle, Barthe, Gaboardi (2018), arXiv:1807.01647; proof in
        docs/theory/privacy/sampling.md.
    """

    kind: ClassVar[str] = "poisson_sampled"
    base: Statement
    rate: Fraction
    relations = frozenset({AddRemove})

    def __init__(self, base: Stated, rate: Real) -> None:
        _laws_or_curve(statement_of("base", base))
        read_fields(
            self,
            rate=checked_rate(rate, below_one=True),
            base=checked_base(base, AddRemove, "Poisson sampling", "poisson_sampled"),
        )

    def __repr__(self) -> str:
        return f"{self.base.operand}.poisson_sampled(rate={self.rate!r})"

    def laws(self) -> Pairs:
        """Return the mixed pairs of the base, or of a pair above its curve."""
        return mixed_pairs(_laws_or_curve(self.base), self.rate)

    def _closed_delta(self, epsilon: Fraction) -> Interval | None:
        """Return delta from the curve of the base, where that suffices.

        It does where its two directions are one, or where the pairs are finite.
        """
        if self._exact is not None:
            return self._exact.curve(epsilon)
        if self.base.is_bound:
            return Interval(0.0, sampled_delta(self.base.curve, self.rate, epsilon).upper)
        return sampled_delta(self.base.curve, self.rate, epsilon) if _laws_or_curve(self.base).is_symmetric else None

    def epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        """Return the least epsilon at `delta`, in exact numbers if the base is finite."""
        if self._exact is not None:
            return self._exact.epsilon_within(delta, tolerance)
        return super().epsilon_within(delta, tolerance)

    def divergences(self, order: Fraction) -> Directions:
        """Return divergences; for a symmetric base (with, without) is the larger one."""
        mu_squared = self.base.normal_mu_squared
        if mu_squared is not None:
            removed = sampled_normal_divergence(mu_squared, self.rate, order)
            return removed, Interval(0.0, removed.upper)
        base = self.base.laws()
        pairs = self.laws()
        unbounded = math.isinf(pairs.upper[0].highest)
        tail = tail_of(partial(upper_divergence, self.base), order, self.rate) if unbounded else None
        known = upper_divergence(self.base, order)
        if base is None or base.upper[0] is not base.upper[1]:
            return integrated(pairs, order, tail, known)
        if self.base.divergences_are_closed and order.denominator == 1 and 1 < order <= _MAX_MOMENTS:
            removed = _by_moments(self.base, self.rate, int(order))
            return removed, Interval(0.0, removed.upper)
        larger = Pairs.symmetric(pairs.upper[0], None if pairs.lower is pairs.upper else pairs.lower[0])
        divergence = integrated(larger, order, tail, known)[0]
        return divergence, Interval(0.0, divergence.upper)

    def charge(self) -> Charge:
        return super().charge() if self._exact is None else self._exact.charge()

    @property
    def infinite_mass(self) -> Fraction:
        return super().infinite_mass if self._exact is None else self._exact.infinite_mass

    @property
    def failure(self) -> Fraction:
        return super().failure if self._exact is None else self._exact.failure

    @property
    def failing_epsilon(self) -> Fraction | None:
        return super().failing_epsilon if self._exact is None else self._exact.failing_epsilon

    @property
    def failing_rho(self) -> Fraction | None:
        return super().failing_rho if self._exact is None else self._exact.failing_rho

    @property
    def mu_squared(self) -> Fraction | None:
        return super().mu_squared if self._exact is None else self._exact.mu_squared

    @cached_property
    def _exact(self) -> Statement | None:
        """Loss in exact numbers, if the base is finite; None otherwise."""
        return self.base.sampled(self.rate)

    @property
    def as_sample(self) -> tuple[Statement, Fraction]:
        return self.base, self.rate

    def grouped(self, size: int) -> Statement | None:
        return self._of_group(size, AddRemove)

    def grouped_one_way(self, size: int) -> Statement | None:
        return self._of_group(size, AddRemove, one_direction=True)

    def replaced(self) -> Statement | None:
        return self._of_group(2, Replace)

    def _of_group(self, size: int, relation: Relation, *, one_direction: bool = False) -> Statement | None:
        """Return the loss of a group under Gaussian noise, where it has a form of its own."""
        return sampled_gaussian_group(self.base.normal_mu_squared, self.rate, size, relation, one_direction)


def _by_moments(base: Statement, rate: Fraction, order: int) -> Interval:
    """Return the divergence of an integer order from those of the base.

    E_Q (1 - q + q T)^a = 1 + sum over k >= 2 of C(a, k) q^k (1 - q)^(a-k) (exp((k - 1) D_k) - 1).
    """
    divergences = [directed(base, Fraction(k))[0] for k in range(2, order + 1)]

    def formula(ends: list[float]) -> Arb:
        q, total = ball(rate), ball(Fraction(0))
        for k, end in enumerate(ends, start=2):
            total += math.comb(order, k) * q**k * (1 - q) ** (order - k) * ball((k - 1) * Fraction(end)).expm1()
        return (1 + total).log() / (order - 1)

    lower = certified(lambda: formula([divergence.lower for divergence in divergences]), within=NONNEGATIVE)
    upper = certified(lambda: formula([divergence.upper for divergence in divergences]), within=NONNEGATIVE)
    return Interval(lower.lower, upper.upper)


def poisson_sampled(loss: Statement, rate: Real) -> Statement:
    """Return the loss on a Poisson sample.

    Sampling twice is sampling once with the product of the rates.
    """
    share = checked_rate(rate)
    if share == 1:
        return loss
    base, rate = loss.as_sample
    return PoissonSampledStatement(base, rate * share)


def checked_rate(rate: Real, *, below_one: bool = False) -> Fraction:
    """Return a sampling probability, exact; with `below_one` it must be below 1."""
    share = exact_rational("rate", rate)
    if not 0 < share <= 1 or (below_one and share == 1):
        ends, cure = ("(0, 1)", ". Without sampling use the loss itself.") if below_one else ("(0, 1]", "")
        raise InvalidParameterError(f"rate must be in {ends}, got {shown(rate)}{cure}")
    return share


def checked_base(given: Stated, relation: Relation, sampling: str, method: str) -> Statement:
    """Return the statement of `given`, if this sampling is proved for it.

    Sampling is proved for losses under `relation`.
    """
    base = statement_of("base", given)
    if not (base.is_bound and method == "poisson_sampled"):
        known_laws(base)
    if relation in base.relations:
        return base
    if relation is AddRemove:
        raise UnprovedError(
            f"{sampling} is proved for losses under add/remove; {base!r} is stated for replace, where the size of the "
            f"sample may reveal who is in it. State the loss for AddRemove; {method}(..., relation=Replace) then gives "
            "the guarantee under replace. Or use sampled_without_replacement()."
        )
    raise UnprovedError(
        f"{sampling} is proved for losses under replace; {base!r} is stated for add/remove, where the number of units "
        "is not public. State the loss for Replace, or use poisson_sampled()."
    )


def known_laws(given: Stated) -> Pairs:
    """Return the laws of a loss that is to be sampled, or raise when it has none."""
    base = statement_of("base", given)
    laws = base.joint_laws()
    if laws is not None:
        return laws
    raise UnprovedError(
        f"sampling needs a pair of distributions that dominates the mechanism, and {base!r} is known by a "
        "bound alone. Use the loss of the mechanism itself, such as GaussianLoss or LaplaceLoss; only Poisson sampling "
        "under add/remove takes any that does not reveal everything."
    )


def _laws_or_curve(base: Statement) -> Pairs:
    """Return the laws of a loss, or those of a pair above its curve.

    The latter where it is known by its curve alone; nothing is then known from below.
    """
    return _pairs_above(base) if base.is_bound else known_laws(base)


@lru_cache(maxsize=32)
def _pairs_above(loss: Statement) -> Pairs:
    """Return a pair of laws above the curve of a loss."""
    return pairs_above(loss.upper_delta, loss.failing_epsilon, _CURVE_POINTS, floor=loss.upper_delta(_MAX_LOSS))


def amplified_limit(limit: Fraction, rate: Fraction) -> Fraction:
    """Return ln(1 + rate (e^limit - 1)), rounded up."""

    def formula() -> Arb:
        return (1 + ball(rate) * ball(limit).expm1()).log()

    return min(decimal_above(Fraction(certified(formula, within=NONNEGATIVE).upper), DIGITS), limit)


def sampled_delta(curve: Curve, rate: Fraction, epsilon: Fraction) -> Interval:
    """Return the larger delta of both directions, for a base with one curve.

    With e = exp(epsilon): rate delta(ln(1 + (e - 1)/rate)), and with s = 1 - e (1 - rate), where it is positive, s
    delta(ln(e rate/s)).

    With e = exp(epsilon): rate delta(ln(1 + (e - 1)/rate)), and with s = 1 - e (1 - rate), where it is positive,
    s delta(ln(e rate/s)).
    """
    ends = [removed_delta(curve, rate, epsilon)]
    share = certified(lambda: 1 - ball(epsilon).exp() * ball(1 - rate))
    if share.upper > 0:
        added = _between(curve, lambda: -(1 - (1 - ball(-epsilon).exp()) / ball(rate)).log())
        low, high = (Fraction(s) * Fraction(d) for s, d in ((share.lower, added.lower), (share.upper, added.upper)))
        ends.append(Interval(round_down(low), round_up(high)))
    return Interval(max(end.lower for end in ends), min(max(end.upper for end in ends), 1.0))


def removed_delta(curve: Curve, rate: Fraction, epsilon: Fraction) -> Interval:
    """Return rate delta(ln(1 + (exp(epsilon) - 1)/rate))."""
    delta = _between(curve, lambda: (1 + ball(epsilon).expm1() / ball(rate)).log())
    return Interval(round_down(rate * Fraction(delta.lower)), min(round_up(rate * Fraction(delta.upper)), 1.0))


def _between(curve: Curve, formula: Callable[[], Arb]) -> Interval:
    """Return a decreasing curve at a certified argument >= 0."""
    at = certified(formula, within=NONNEGATIVE)
    lower = curve(Fraction(at.upper)).lower if math.isfinite(at.upper) else 0.0
    return Interval(lower, curve(Fraction(at.lower)).upper)

"""Random allocation (balls in bins): a unit takes part in one of many runs.

The run is chosen at random; proofs in docs/theory/privacy/allocation.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, Interval
from deniable.numbers.rationals import positive_integer
from deniable.privacy.amplification.sampling.allocated_law import allocated_law, nothing
from deniable.privacy.amplification.sampling.poisson import SampledStatement, checked_base, known_laws
from deniable.privacy.notions.renyi import Directions, directed
from deniable.privacy.notions.renyi_integral import law_divergence
from deniable.privacy.pld.law import Pairs, ReversedLaw
from deniable.privacy.relation import AddRemove
from deniable.privacy.statement import Stated, Statement

if TYPE_CHECKING:
    from flint import arb_poly

_MAX_RUNS = 10**6  # among which a unit is allocated; the error of the grid grows with them
_MAX_MOMENTS = 128  # largest order of the closed form


@dataclass(frozen=True, init=False)
class RandomlyAllocatedStatement(SampledStatement):
    """Loss of many runs where each unit takes part in exactly one, chosen at random.

    Args:
        base: the loss of one run, under add/remove.
        runs: the number of runs, from 2 to 10^6.

    Guarantee: under add/remove, if (P, Q) dominates the pair (with, without) of each run, all together are dominated by
        the mean over i of Q x ... x P x ... x Q, P in place i, against Q x ... x Q. Attained where (P, Q) is.
    Error: the laws are computed on a grid of some thousand points, as fine as the spread of the loss asks for; the
        width grows with `runs` and is seen in the answer. Losses beyond 300 are not told apart: the base bounds them.
    Source: Feldman, Shenfeld (2025), arXiv:2502.08202; (2026), arXiv:2602.17284; Chua et al. (2024), arXiv:2412.16802;
        proof in docs/theory/privacy/allocation.md.
    """

    kind: ClassVar[str] = "randomly_allocated"
    base: Statement
    runs: int
    share = Fraction(1)
    relations = frozenset({AddRemove})

    def __init__(self, base: Stated, runs: object) -> None:
        count = positive_integer("runs", runs)
        if not 2 <= count <= _MAX_RUNS:
            raise InvalidParameterError(f"runs must be from 2 to {_MAX_RUNS}, got {count}")
        read_fields(self, base=checked_base(base, AddRemove, "random allocation", "randomly_allocated"), runs=count)

    def __repr__(self) -> str:
        return f"{self.base.operand}.randomly_allocated(of={self.runs})"

    def laws(self) -> Pairs:
        """Return laws of the mean on a grid, above and below."""
        return _pairs(self)

    def delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        """Return delta, at most that of the base where the grid is too coarse."""
        delta = super().delta_within(epsilon, tolerance)
        if delta.width <= tolerance * delta.upper:
            return delta
        upper = min(delta.upper, self.base.delta_within(epsilon, tolerance).upper)
        return replace(delta, lower=min(delta.lower, upper), upper=upper)

    def epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        """Return epsilon, at most that of the base where the grid is too coarse."""
        epsilon = super().epsilon_within(delta, tolerance)
        if math.isfinite(epsilon.upper) and epsilon.width <= tolerance * epsilon.upper:
            return epsilon
        upper = min(epsilon.upper, self.base.epsilon_within(delta, tolerance).upper)
        return replace(epsilon, lower=min(epsilon.lower, upper), upper=upper)

    def divergences(self, order: Fraction) -> Directions:
        """Return divergences, by a closed form or from the laws.

        They are at most those of the base.
        """
        base = directed(self.base, order)
        pairs = self.laws()
        whole = Fraction(max(2, math.ceil(order)))
        top = self._moment_divergence(int(whole)) if whole <= _MAX_MOMENTS else math.inf  # D increases with the order
        there = law_divergence(pairs.upper[0], order, self._tail(order)).upper if order < whole else top
        back = law_divergence(pairs.upper[1], order, self._tail_back(order)).upper
        divergences = [
            Interval(min(lower, upper), upper)
            for lower, upper in (
                (law_divergence(pairs.lower[direction], order).lower, min(bound, base[direction].upper))
                for direction, bound in enumerate((min(there, top), back))
            )
        ]
        return divergences[0], divergences[1]

    def _moment_divergence(self, order: int) -> float:
        """Return the divergence of (with, without) of an integer order, rounded up.

        It is ln(a! [z^a] (sum_k E X^k z^k/k!)^runs / runs^a) / (a - 1), with E X^k = exp((k - 1) D_k).
        """
        divergences = [directed(self.base, Fraction(k))[0].upper for k in range(2, order + 1)]
        if math.isinf(divergences[-1]):
            return math.inf

        def formula() -> Arb:
            from flint import arb, arb_poly

            terms = [arb(1), arb(1)]
            factor = arb(1)
            for k, divergence in enumerate(divergences, start=2):
                factor /= k
                terms.append(factor * ball((k - 1) * Fraction(divergence)).exp())
            total = _power_series(arb_poly(terms), self.runs, order + 1)
            moment = total[order] / factor / arb(self.runs) ** order
            return moment.log() / (order - 1)

        return certified(formula, within=NONNEGATIVE).upper

    def _tail(self, order: Fraction) -> Callable[[float], float]:
        """Return a bound on E X^a beyond x: at most x^(a - b) E X^b."""
        a = max(order, Fraction(2)) if order == 1 else order
        known = [
            (float(b - a), (b - 1) * self._moment_divergence(b))
            for b in sorted({min(math.floor(a) + more, _MAX_MOMENTS) for more in (1, 2, 4, 8, 16)})
            if b > a
        ]
        return lambda loss: _raised(min((log - more * loss for more, log in known), default=math.inf))

    def _tail_back(self, order: Fraction) -> Callable[[float], float]:
        """Return a bound on the reversed moment beyond a loss.

        The mean of all X is at least their geometric mean, so E mean^-s <= exp(s D_(1 + s/runs)(without, with)).
        """
        a = max(order, Fraction(2)) if order == 1 else order
        known = []
        for power in range(-2, 14):
            s = a - 1 + Fraction(2) ** power
            divergence = directed(self.base, 1 + s / self.runs)[1].upper
            known.append((float(s - (a - 1)), float(s) * divergence))
        return lambda loss: _raised(min(log - more * loss for more, log in known))

    @property
    def failing_rho(self) -> Fraction | None:
        """Rho of the base, which random allocation never exceeds."""
        return self.base.failing_rho

    @property
    def mu_squared(self) -> Fraction | None:
        """Value of mu^2 of the base, which random allocation never exceeds."""
        return self.base.mu_squared


def _raised(log: float) -> float:
    """Return a logarithm, rounded up."""
    return log + 1e-9 * (1 + abs(log))


def _power_series(base: "arb_poly", count: int, length: int) -> "arb_poly":
    """Return the first terms of a power, by repeated squaring."""
    result = base**0
    while count:
        if count & 1:
            result = (result * base).truncate(length)
        count >>= 1
        if count:
            base = (base * base).truncate(length)
    return result


@lru_cache(maxsize=32)
def _pairs(loss: RandomlyAllocatedStatement) -> Pairs:
    """Return laws of the mean above and below, in both directions."""
    base = known_laws(loss.base)
    if loss.pure_epsilon == 0:
        return Pairs.symmetric(nothing())
    upper = allocated_law(base.upper[0], loss.runs, upper=True)
    lower = allocated_law(base.lower[0], loss.runs, upper=False)
    return Pairs((upper, ReversedLaw(upper)), (lower, ReversedLaw(lower)))

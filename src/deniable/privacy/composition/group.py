"""Group privacy: the loss of several units together.

Proofs: docs/theory/privacy/group.md.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Annotated, ClassVar

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.arrays import Floats
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import PROBABILITIES, Interval
from deniable.numbers.rationals import decimal_above, positive_integer
from deniable.privacy.composition.restricted import RestrictedStatement
from deniable.privacy.notions.gaussian_dp import DIGITS, gaussian_delta
from deniable.privacy.notions.renyi import Directions, both_ways, directed, known_divergences, upper_divergence
from deniable.privacy.notions.renyi_combined import group_divergence
from deniable.privacy.pld.curve_law import pairs_above
from deniable.privacy.pld.law import LossLaw, Pairs
from deniable.privacy.pld.laws import DiscreteLaplaceLaw
from deniable.privacy.relation import AddRemove, Relation, Replace
from deniable.privacy.statement import Stated, Statement, statement_of

MAX_MEMBERS = 10_000  # of a group; each is one step of a split
_GUIDE_POINTS = 2048  # of a curve that guides the search for a split
_CURVE_POINTS = 192  # of a curve that is composed
_SAMPLED_POINTS = 96  # of a guide, where each has to be computed at length
_MAX_LOSS = 300.0  # end of the curve that guides the search for a split
_BISECTIONS = 60  # of the start of a split, to the precision of floats


@dataclass(frozen=True, init=False)
class GroupStatement(Statement):
    """Loss of a mechanism for `size` units together.

    Guarantee: with D(y) the curve of the base at y, and D(-y) = 1 - e^-y + e^-y D(y), delta(x) is at most
        D(y_1) + e^y_1 D(y_2) + ... + e^(y_1 + ... + y_(size-1)) D(y_size) for every y with sum x; the least of these
        sums is the trade-off curve iterated `size` times. A good y is searched in floats, and the sum is certified.
        For pure and approximate losses the least sum is found exactly, and it is attained.
    Source: Dong, Roth, Su (2019), arXiv:1905.02383; Vadhan (2017), lemma 2.2; proofs in docs/theory/privacy/group.md.
    """

    kind: ClassVar[str] = "group"
    base: Annotated[Statement, statement_of]
    size: int
    relation: Relation | None

    def __init__(self, base: Stated, size: object, relation: Relation | str | None = None) -> None:
        read_fields(self, base=base, size=checked_size(size), relation=None if relation is None else Relation(relation))
        if self.relation is not None and (self.relation is not Replace or AddRemove not in self.base.relations):
            raise UnprovedError(
                "a group may be stated for another relation only as replace from add/remove: one unit is removed and "
                f"another one is added. {base!r} is stated for {', '.join(map(str, self.base.relations))}."
            )
        if self.relation is not None and self.size % 2:
            raise InvalidParameterError(
                f"size must be even under replace, where it counts removed and added units, got {size!r}"
            )

    def __repr__(self) -> str:
        if self.relation is not None:
            return f"{self.base.operand}.under_replace()"
        return f"{self.base.operand}.group({self.size})"

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta by the best splits of epsilon over the units."""
        if self.pure_epsilon is not None and epsilon >= self.pure_epsilon:
            return Interval(0.0, 0.0)
        if self.base.response is not None:
            return approximate_group_delta(*self.base.response, self.size, epsilon)
        lower = self.base.curve(epsilon).lower  # a single unit is a group too
        upper = min(self._split_delta(split) for split in self._splits(epsilon))
        if self.mu_squared is not None:
            upper = min(upper, gaussian_delta(self.mu_squared, epsilon).upper)
        return Interval(min(lower, upper), upper)

    def laws(self) -> Pairs | None:
        """Return laws from points of the curve.

        For a pure loss, those of the geometric mechanism moved by `size` steps.
        """
        return self._laws

    @cached_property
    def _laws(self) -> Pairs | None:
        limit, failed = self.base.response or (0, 0)
        if limit and not failed:
            return Pairs.symmetric(DiscreteLaplaceLaw(float(1 / limit), self.size))
        single = self.base.laws()
        attained = None if single is None else single.lower
        return pairs_above(self.upper_delta, self.failing_epsilon, _CURVE_POINTS, attained)

    def grouped(self, units: int) -> Statement:
        return GroupStatement(self.base, self.size * units, self.relation)

    def replaced(self) -> Statement:
        return GroupStatement(self.base, 2 * self.size, Replace)

    def divergences(self, order: Fraction) -> Directions:
        """Return divergences by the chain of single units.

        Or from the laws, where the loss is bounded.
        """
        known = super().divergences(order) if self.failing_epsilon is not None else known_divergences(self, order)
        chain = group_divergence(partial(upper_divergence, self.base), self.size, order)
        lower = min(one.lower for one in directed(self.base, order))
        upper = min(chain, *(one.upper for one in known))
        return both_ways(Interval(min(max(lower, *(one.lower for one in known)), upper), upper))

    def _split_delta(self, split: list[Fraction]) -> float:
        """Return the sum for one split, an upper bound on delta."""
        deltas = [_unit(self.base.curve(abs(part)).upper) for part in split]

        def formula() -> Arb:
            total = ball(Fraction(0))
            before = Fraction(0)
            for part, share in zip(split, deltas, strict=True):
                grown = ball(part).exp()
                here = ball(share) if part >= 0 else 1 - grown + grown * ball(share)
                total += ball(before).exp() * here
                before += part
            return total

        return certified(formula).upper

    def _splits(self, epsilon: Fraction) -> list[list[Fraction]]:
        """Return the equal split, and the one that is best for the curve in floats."""
        splits = [[epsilon / self.size] * self.size]
        best = self._guide.split(float(epsilon), self.size)
        if best is not None:
            parts = [Fraction(part) for part in best]
            index = int(np.argmax(np.abs(best)))
            parts[index] += epsilon - sum(parts)
            splits.append(parts)
        return splits

    @cached_property
    def _guide(self) -> "_Guide":
        """Curve of the base in floats, which guides the choice of splits."""
        return _Guide(self.base)

    @property
    def relations(self) -> frozenset[Relation]:
        return self.base.relations if self.relation is None else frozenset({self.relation})

    @property
    def failure(self) -> Fraction:
        """Failure of a group: an (e, d)-DP mechanism is (k e, d (e^ke - 1)/(e^e - 1))-DP.

        For groups of k.
        """
        if self.base.failure == 0 or self.base.failing_epsilon is None:
            return Fraction(0)
        return group_failure(self.base.failing_epsilon, self.base.failure, self.size)

    @property
    def infinite_mass(self) -> Fraction:
        return self.base.infinite_mass

    @property
    def failing_epsilon(self) -> Fraction | None:
        """Epsilon of the base times the size."""
        limit = self.base.failing_epsilon
        return None if limit is None else limit * self.size

    @property
    def failing_rho(self) -> Fraction | None:
        """Bound on rho: size^2 rho, and where the loss is bounded half its square."""
        known = [] if self.failing_epsilon is None else [self.failing_epsilon**2 / 2]
        if self.base.rho is not None:
            known.append(self.base.rho * self.size**2)
        return min(known, default=None)

    @property
    def mu_squared(self) -> Fraction | None:
        """Value of mu^2 of the base times the squared size."""
        if self.base.failure or self.base.mu_squared is None:
            return None
        return self.base.mu_squared * self.size**2


def group_failure(epsilon: Fraction, failed: Fraction, size: int) -> Fraction:
    """Return failed (e^(size epsilon) - 1)/(e^epsilon - 1), rounded up, at most 1."""

    def formula() -> Arb:
        if epsilon == 0:
            return size * ball(failed)
        return ball(failed) * ball(size * epsilon).expm1() / ball(epsilon).expm1()

    return min(decimal_above(_unit(certified(formula).upper), DIGITS), Fraction(1))


@lru_cache(maxsize=4096)
def approximate_group_delta(limit: Fraction, failed: Fraction, size: int, epsilon: Fraction) -> Interval:
    """Return the greatest delta of (limit, failed)-DP mechanisms, for groups.

    With g(a) = min(1, failed + E a, 1 - (1 - failed - a)/E) it is the maximum of g(...g(a)) - e^epsilon a over the
    corners of the polygon g(...g(.)): 0, and what g, applied fewer than `size` times, takes to a corner of g.
    """

    def formula() -> Arb:
        from flint import arb

        grown = ball(limit).exp()
        d = ball(failed)
        e = ball(epsilon).exp()

        def ahead(rate: Arb) -> Arb:
            return (d + grown * rate).min(1 - (1 - d - rate) / grown).min(arb(1))

        def back(rate: Arb) -> Arb:
            return ((rate - d) / grown).max(1 - d - grown * (1 - rate))

        best = arb(0)
        for corner in (arb(0), (1 - d) / (grown + 1), 1 - d):
            reached = [corner]
            for _ in range(size):
                reached.append(ahead(reached[-1]))
            start = corner
            for steps in range(size, 0, -1):
                best = best.max(reached[steps] - e * start.max(arb(0)))
                start = back(start)
                if start <= 0:  # a ball that holds 0 and more is kept
                    break
        return best

    return certified(formula)


class _Guide:
    """Curve of a loss in floats, which guides the choice of a split.

    It is kept as lines c + e^y a above the trade-off curve.
    """

    def __init__(self, base: Statement) -> None:
        pairs = base.laws()
        if pairs is None:
            heights, top = _sampled_heights(base)
        else:
            heights = _heights(pairs.upper)
            top = min(_MAX_LOSS, max(0.1, *(law.highest for law in pairs.upper)))
            while top > 1e-6 and float(heights(np.array([top / 2]))[0]) <= 1e-40:
                top /= 2
        self._heights = heights
        epsilons = np.linspace(0.0, top, _GUIDE_POINTS)
        values = heights(epsilons)
        mirrored = -np.expm1(-epsilons[:0:-1]) + np.exp(-epsilons[:0:-1]) * values[:0:-1]
        self.epsilons = np.concatenate((-epsilons[:0:-1], epsilons))
        self.starts = np.concatenate((mirrored, values))
        self.slopes = np.exp(self.epsilons)

    def split(self, epsilon: float, size: int) -> Floats | None:
        """Return a split near the best one: outermost step first."""
        low, high = -690.0, 0.0
        chain = self._chain(0.0, size)
        if chain.sum() < epsilon:
            return None
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            trial = self._chain(math.exp(middle), size)
            if trial.sum() >= epsilon:
                low, chain = middle, trial
            else:
                high = middle
        rest = epsilon - float(chain.sum())
        candidates = [chain + rest / size]
        for index in sorted({0, size - 1, *np.unique(chain, return_index=True)[1].tolist()})[:16]:
            moved = chain.copy()
            moved[index] += rest
            candidates.append(moved)
        return min(candidates, key=self._sum)

    def _chain(self, start: float, size: int) -> Floats:
        """Return the best line for each step, when the innermost begins at `start`."""
        parts = np.empty(size)
        value = start
        for step in range(size - 1, -1, -1):
            lines = self.starts + self.slopes * value
            index = int(np.argmin(lines))
            parts[step] = self.epsilons[index]
            value = min(float(lines[index]), 1.0)
        return parts

    def _sum(self, split: Floats) -> float:
        """Return the sum for one split, in floats."""
        sizes = np.abs(split)
        values = self._heights(sizes)
        values = np.where(split >= 0, values, -np.expm1(-sizes) + np.exp(-sizes) * values)
        return float((np.exp(np.concatenate(([0.0], np.cumsum(split)[:-1]))) * values).sum())


def _heights(laws: Sequence[LossLaw]) -> Callable[[Floats], Floats]:
    """Return a function for the greatest delta of these laws, in floats."""

    def heights(epsilons: Floats) -> Floats:
        deltas = np.zeros(epsilons.shape)
        for law in laws:
            tails = law.above(epsilons)
            deltas = np.maximum(deltas, law.infinite + tails.p - np.exp(epsilons) * tails.q)
        return np.clip(deltas, 0.0, 1.0)

    return heights


def _sampled_heights(base: Statement) -> tuple[Callable[[Floats], Floats], float]:
    """Return a function for delta by interpolation, and the epsilon where it ends.

    It interpolates certified values in floats.
    """
    top = 1.0
    while top < _MAX_LOSS and base.curve(Fraction(top)).upper > 1e-30:
        top *= 2
    while top > 1e-6 and base.curve(Fraction(top / 2)).upper <= 1e-30:
        top /= 2
    epsilons = np.linspace(0.0, top, _SAMPLED_POINTS)
    values = np.array([base.curve(Fraction(epsilon)).upper for epsilon in epsilons])
    logs = np.log(np.maximum(values, 1e-300))
    return lambda at: np.asarray(np.exp(np.interp(at, epsilons, logs))), top


def _unit(value: float) -> Fraction:
    """Return a float as a fraction in [0, 1]."""
    return Fraction(min(max(value, PROBABILITIES.lower), PROBABILITIES.upper))


def group(loss: Statement, size: object, *, one_direction: bool = False) -> Statement:
    """Return the statement for `size` units together.

    one_direction: all are added or all are removed.
    """
    units = checked_size(size)
    if units == 1:
        return loss
    together = loss.grouped_one_way(units) if one_direction else None
    return together or loss.grouped(units) or GroupStatement(loss, units)


def under_replace(loss: Statement) -> Statement:
    """Return the statement under replace of one for add/remove.

    It is that of two units, where there is a form for these.
    """
    if AddRemove not in loss.relations:
        return loss
    known = loss.replaced()
    if known is not None:
        return under_replace(known)
    two = loss.grouped(2)
    if two is not None and Replace in two.relations:
        return RestrictedStatement(two, Replace)
    return GroupStatement(loss, 2, Replace)


def checked_size(size: object) -> int:
    """Return the number of units of a group, or raise an error."""
    units = positive_integer("size", size)
    if units > MAX_MEMBERS:
        raise InvalidParameterError(f"size must be at most {MAX_MEMBERS}, got {units}")
    return units

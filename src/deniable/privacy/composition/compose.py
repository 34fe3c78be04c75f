"""Composition of many losses, with the tightest bound that is proved so far."""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import ClassVar

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.balls import ball, certified
from deniable.numbers.interval import INFINITE, Interval
from deniable.numbers.roots import inverse
from deniable.privacy.charge import Charge
from deniable.privacy.composition.group import group, under_replace
from deniable.privacy.losses.approximate import mixed_with_failure
from deniable.privacy.losses.pure import pure_delta, randomized_responses_delta
from deniable.privacy.notions.concentrated import concentrated_delta
from deniable.privacy.notions.conversion import delta_by_renyi
from deniable.privacy.notions.gaussian_dp import gaussian_delta
from deniable.privacy.notions.moments import delta_by_moments, epsilon_by_moments
from deniable.privacy.notions.renyi import Directions as Divergences
from deniable.privacy.notions.renyi import directed, total
from deniable.privacy.pld.accountant import (
    DEFAULT_TOLERANCE,
    SMALL_DELTA,
    composed_delta,
    composed_epsilon,
    composed_limit,
    reached,
    unit_of_epsilon,
    within_reach,
)
from deniable.privacy.pld.composed_law import written_pairs
from deniable.privacy.pld.law import LossLaw, Pairs
from deniable.privacy.pld.laws import NormalLaw
from deniable.privacy.pld.rounded import rounded_delta, rounded_epsilon
from deniable.privacy.pld.search import RepeatedPair
from deniable.privacy.pld.sum_law import laws_of_few
from deniable.privacy.relation import Relation
from deniable.privacy.statement import Stated, Statement, statement_of

Directions = list[list[RepeatedPair]]

_MAX_EXACT_POWERS = 1000  # runs whose infinite masses are multiplied as fractions
_MAX_MU_SQUARED_OF_PART = 64  # of one share of real Gaussians, whose losses floats can exponentiate
_MAX_NORMAL_PARTS = 50  # into which real Gaussians are split
_LONG_COMPOSITION = 10**7  # steps from which moments may be all that is needed
_WIDE_ANSWER = 0.2  # relative width from which moments may tell more


@dataclass(frozen=True, init=False, repr=False)
class Composed(Statement):
    """Several losses about one unit, chosen in advance; `parts`: (loss, count) pairs.

    Guarantee: the exact curve, to the tolerance asked for, when every part has a pair of laws (`PrivacyLoss.laws`):
        closed forms for real Gaussians alone and for equal pure or approximate losses alone, otherwise privacy-loss
        distributions with proved bounds on both sides. Else delta is at most each of these: (a) basic sums of the
        booked (epsilon, delta); (b) failures set aside and added, the rest bounded by the sum of pure epsilons; (c) the
        same, the rest bounded by the sum of rho; (d) the curve of the sum of mu^2; and at least that of one part.
    Source: docs/theory/privacy/composition.md; Kairouz, Oh, Viswanath (2015), arXiv:1311.0776; the sums in
        docs/theory/privacy/budget.md, where they are proved for parameters that depend on earlier answers.
    """

    kind: ClassVar[str] = "composed"
    parts: tuple[tuple[Statement, int], ...]

    def __init__(self, parts: Iterable[tuple[Stated, int]]) -> None:
        counted: Counter[Statement] = Counter()
        for loss, number in parts:
            count = _checked_count(number)
            for part, inner in statement_of("every loss", loss).composition:
                counted[part] += inner * count
        ordered = sorted(((loss, count) for loss, count in counted.items() if count), key=lambda pair: pair[0].sort_key)
        read_fields(self, parts=tuple(ordered))
        if not self.relations:
            raise UnprovedError(
                "these losses are proved for different neighbouring relations and have no common guarantee: "
                f"{'; '.join(f'{loss!r}' for loss, _ in ordered)}. Build all of them for one relation."
            )

    def __repr__(self) -> str:
        if not self.parts:
            return "Composed([])"
        return " + ".join(f"{loss!r}" if count == 1 else f"{loss!r} * {count}" for loss, count in self.parts)

    @property
    def operand(self) -> str:
        return f"({self!r})"

    def proves(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Return whether (epsilon, delta)-DP is proved; quick sums are tried first."""
        booked = self.charge()
        if booked.epsilon is not None and booked.epsilon <= epsilon and booked.delta <= delta:
            return True  # as fractions: the float above delta would prove less
        if any(Fraction(self._summed(epsilon, quick=quick).upper) <= delta for quick in (True, False)):
            return True
        for tolerance in (0.1, DEFAULT_TOLERANCE):
            delta_known = self._found_delta(epsilon, tolerance)[0]
            if not delta_known.lower <= delta < delta_known.upper:
                break
        return delta_known.upper <= delta

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta at `epsilon`, to the default tolerance."""
        return self._found_delta(epsilon, DEFAULT_TOLERANCE)[0]

    def delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        """Return delta at `epsilon`, to this relative width."""
        answer, computed = self._found_delta(epsilon, tolerance)
        directions = self._directions()
        if self._is_beyond_floats:
            return reached(answer, tolerance, answer.upper, "delta")
        if directions is None or epsilon < _edge(directions[0]):
            # nearer to the greatest loss than that, delta is all rounding
            marked = [reached(interval, tolerance, answer.upper, "delta") for interval in computed]
            return replace(answer, wide=any(interval.wide for interval in marked))
        return answer

    def _found_delta(self, epsilon: Fraction, tolerance: float) -> tuple[Interval, list[Interval]]:
        """Return bounds on delta, and the numerical answers that they rest on."""
        exact = self._exact()
        if exact is not None:
            return exact(epsilon), []
        summed = self._summed(epsilon)
        directions = self._directions()
        if self._is_long and summed.upper > summed.lower:
            far = summed.narrowed(delta_by_moments(self, self.parts, epsilon))
            if far.width <= tolerance * far.upper or far.upper <= SMALL_DELTA:
                return far, []
            summed = far
        if directions is not None and summed.upper > summed.lower:
            upper, lower = directions
            computed = [composed_delta(upper, epsilon, tolerance, upper_bound=summed.upper)]
            if lower is not upper:
                computed.append(composed_delta(lower, epsilon, tolerance))
        elif self._is_beyond_floats and summed.upper > summed.lower:
            computed = [rounded_delta(side, epsilon, tolerance) for side in _distinct(_laws_of(self))]
        else:
            return summed, []
        greatest = min(computed[0].upper, summed.upper)
        answer = Interval(min(max(computed[-1].lower, summed.lower), greatest), greatest)
        if answer.upper > SMALL_DELTA and any(one.width > _WIDE_ANSWER * one.upper for one in computed):
            answer = answer.narrowed(delta_by_moments(self, self.parts, epsilon))
            computed = [computed[0].narrowed(answer)]
        return answer, computed

    def epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        """Return the least epsilon at `delta`, to this width."""
        exact = self._exact()
        if exact is not None:
            if self._infinite_beyond(delta) > 0:
                return INFINITE
            return inverse(exact, delta, limit=self.failing_epsilon if delta >= self.failure else None)
        directions = self._directions()
        known = self.failing_epsilon if delta >= self.failure else None
        if directions is None:
            if self.infinite_mass > delta:
                return INFINITE
            summed = inverse(self._summed, delta, limit=known, unreachable=delta < self.failure)
            if delta == 0 or not self._is_beyond_floats:
                return summed
            far = epsilon_by_moments(self, self.parts, delta)
            if far.width <= tolerance * unit_of_epsilon(far):
                return far
            computed = [rounded_epsilon(side, delta, tolerance) for side in _distinct(_laws_of(self))]
            greatest = min(computed[0].upper, summed.upper)
            answer = Interval(min(max(computed[-1].lower, summed.lower), greatest), greatest)
            if answer.width > _WIDE_ANSWER * unit_of_epsilon(answer):
                answer = answer.narrowed(far)
            return reached(answer, tolerance, unit_of_epsilon(answer), "epsilon")
        upper, lower = directions
        limit = composed_limit(upper).upper
        if known is not None:
            limit = min(limit, Interval.around(known).upper)
        if delta == 0:
            return Interval(min(composed_limit(lower).lower, limit), limit)
        beyond = self._infinite_beyond(delta)
        if beyond > 0 or (beyond == 0 and composed_limit(lower, finite=True).lower == math.inf):
            return INFINITE
        if self._is_long:
            far = epsilon_by_moments(self, self.parts, delta)
            if far.width <= tolerance * unit_of_epsilon(far):
                return far
            limit = min(limit, far.upper)
        computed = [composed_epsilon(upper, delta, tolerance, upper_bound=limit)]
        if lower is not upper:
            computed.append(composed_epsilon(lower, delta, tolerance))
        answer = Interval(min(computed[-1].lower, computed[0].upper), computed[0].upper)
        if any(one.width > _WIDE_ANSWER * unit_of_epsilon(one) for one in computed):
            answer = answer.narrowed(epsilon_by_moments(self, self.parts, delta))
            computed = [computed[0].narrowed(answer)]
        wide = any(reached(one, tolerance, unit_of_epsilon(one), "epsilon").wide for one in computed)
        return replace(answer, wide=wide)

    def _infinite_beyond(self, delta: Fraction) -> int:
        """Return the sign of the infinite mass less `delta`; -1 where it is not certain."""
        failing = [(loss.infinite_mass, count) for loss, count in self.parts if loss.infinite_mass]
        if not self._is_symmetric:
            return 1 if self.infinite_mass > delta else -1
        if sum(count for _, count in failing) <= _MAX_EXACT_POWERS:
            return (self.infinite_mass > delta) - (self.infinite_mass < delta)
        certain = certified(
            lambda: 1 - math.prod(((1 - ball(mass)) ** count for mass, count in failing), start=ball(Fraction(1)))
        )
        return 1 if Fraction(certain.lower) > delta else -1

    @property
    def _is_beyond_floats(self) -> bool:
        """Whether all laws are known and some loss is too large to be exponentiated."""
        return self._directions() is None and _laws_of(self) is not None

    @property
    def _is_long(self) -> bool:
        """Whether there are enough steps, all of known laws, for moments to suffice."""
        return sum(count for _, count in self.parts) > _LONG_COMPOSITION and _laws_of(self) is not None

    @property
    def _is_symmetric(self) -> bool:
        """Whether both directions are known to have the same laws."""
        directions = self._directions()
        return directions is not None and len(directions[1]) == 1

    def _exact(self) -> Callable[[Fraction], Interval] | None:
        """Return the curve in closed form: Gaussians alone, or equal responses alone."""
        if self.normal_mu_squared is not None:
            return partial(gaussian_delta, self.normal_mu_squared)
        (loss, count), *others = self.parts
        return None if others or loss.response is None else partial(randomized_responses_delta, *loss.response, count)

    def _directions(self) -> tuple[Directions, Directions] | None:
        """Return the laws of the parts, dominating and attained (one object if equal).

        None when a part has no laws, reveals all, or its losses are too large for floats.
        """
        return _directions_of(self)

    def _summed(self, epsilon: Fraction, *, quick: bool = False) -> Interval:
        """Return bounds on delta by sums in each currency; `quick`: without a search."""
        lower = max(_least_of(loss, count, epsilon) for loss, count in self.parts)
        bounds = [1.0]
        booked = self.charge()
        if booked.epsilon is not None and booked.epsilon <= epsilon:
            bounds.append(Interval.around(min(booked.delta, Fraction(1))).upper)
        if self.failing_epsilon is not None:
            bounds.append(mixed_with_failure(pure_delta(self.failing_epsilon, epsilon), self.failure).upper)
        if self.failing_rho is not None:
            rest = Interval(0.0, concentrated_delta(self.failing_rho, epsilon))
            bounds.append(mixed_with_failure(rest, self.failure).upper)
        if self.mu_squared is not None:
            bounds.append(gaussian_delta(self.mu_squared, epsilon).upper)
        if quick:
            return Interval(min(lower, *bounds), min(bounds))
        if (self.failure == 0 or min(bounds) == 1.0) and self._directions() is None and not self._is_beyond_floats:
            bounds.append(delta_by_renyi(self, epsilon))
        return Interval(min(lower, *bounds), min(bounds))

    @property
    def relations(self) -> frozenset[Relation]:
        return frozenset(Relation).intersection(*(loss.relations for loss, _ in self.parts))

    @property
    def failure(self) -> Fraction:
        return min(sum((loss.failure * count for loss, count in self.parts), Fraction(0)), Fraction(1))

    @property
    def infinite_mass(self) -> Fraction:
        failing = [(loss.infinite_mass, count) for loss, count in self.parts if loss.infinite_mass]
        if not failing:
            return Fraction(0)
        if sum(count for _, count in failing) > _MAX_EXACT_POWERS or not self._is_symmetric:
            return max(mass for mass, _ in failing)  # parts may fail in different directions
        return 1 - math.prod(((1 - mass) ** count for mass, count in failing), start=Fraction(1))

    @property
    def failing_epsilon(self) -> Fraction | None:
        return _sum_of([(loss.failing_epsilon, count) for loss, count in self.parts])

    @property
    def failing_rho(self) -> Fraction | None:
        return _sum_of([(loss.failing_rho, count) for loss, count in self.parts])

    @property
    def failing_mu_squared(self) -> Fraction | None:
        return _sum_of([(loss.failing_mu_squared, count) for loss, count in self.parts])

    @property
    def mu_squared(self) -> Fraction | None:
        return _sum_of([(loss.mu_squared, count) for loss, count in self.parts])

    def laws_of_runs(self, count: int) -> list[tuple[Pairs | None, int]]:
        return [pair for part, n in self.parts for pair in part.laws_of_runs(n * count)]

    def joint_laws(self) -> Pairs | None:
        mu_squared = self.normal_mu_squared
        return Pairs.symmetric(NormalLaw(math.sqrt(mu_squared))) if mu_squared else _written_pairs(self)

    def exact_laws(self) -> Pairs | None:
        """Return pairs of real Gaussians alone, or of few runs with few values."""
        if self.normal_mu_squared is not None:
            return Pairs.symmetric(NormalLaw(math.sqrt(self.normal_mu_squared)))
        return laws_of_few([(part.laws(), count) for part, count in self.parts])

    @property
    def is_bound(self) -> bool:
        return any(part.is_bound for part, _ in self.parts)

    @property
    def composition(self) -> tuple[tuple[Statement, int], ...]:
        return self.parts

    def dominates(self, other: Statement) -> bool:
        return super().dominates(other) or any(part == other or part.dominates(other) for part, _ in self.parts)

    def grouped(self, units: int) -> Statement:
        return composed([composed([group(part, units)], count) for part, count in self.parts])

    def grouped_one_way(self, units: int) -> Statement:
        return composed([composed([group(part, units, one_direction=True)], count) for part, count in self.parts])

    def replaced(self) -> Statement:
        return composed([composed([under_replace(part)], count) for part, count in self.parts])

    @property
    def normal_mu_squared(self) -> Fraction | None:
        return _sum_of([(loss.normal_mu_squared, count) for loss, count in self.parts])

    def divergences(self, order: Fraction) -> Divergences:
        counted = [(directed(part, order), count) for part, count in self.parts]
        with_unit, without = (total([(both[direction], count) for both, count in counted]) for direction in (0, 1))
        return with_unit, without

    divergences_below_one = divergences  # they add at every order

    def charge(self) -> Charge:
        return sum((loss.charge() * count for loss, count in self.parts), Charge.nothing())

    def to_data(self) -> dict[str, object]:
        parts = [{"part": loss.to_data(), "count": count} for loss, count in self.parts]
        return {"loss": self.kind, "parts": parts}

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Statement:
        parts = values.pop("parts")
        if (
            values
            or not isinstance(parts, list)
            or not all(isinstance(p, dict) and set(p) == {"part", "count"} for p in parts)
        ):
            raise InvalidParameterError("a composed loss needs the field 'parts': a list of {part, count}")
        return composed([composed([Statement.from_data(p["part"])], _checked_count(p["count"])) for p in parts])


def composed(losses: Iterable[Stated], count: int = 1) -> Statement:
    """Return the statement of all losses, `count` times over; one part as itself."""
    times = _checked_count(count)
    together = Composed((loss, times) for loss in losses)
    if len(together.parts) != 1:
        return together
    [(part, runs)] = together.parts
    return part if runs == 1 else part.of_runs(together)


def _checked_count(count: object) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise InvalidParameterError(f"count must be a whole number >= 0, got {count!r}")
    return count


@lru_cache(maxsize=64)
def _written_pairs(loss: Composed) -> Pairs:
    """Return the laws of a composition, written out."""
    return written_pairs(loss._directions(), repr(loss))


@lru_cache(maxsize=8)
def _directions_of(loss: Composed) -> tuple[Directions, Directions] | None:
    """Return laws in both directions, real Gaussians split into shares for floats."""
    directions = _laws_of(loss, share=_MAX_MU_SQUARED_OF_PART)
    if directions is None:
        return None
    laws = [part for side in directions for parts in side for part in parts]
    return None if any(_reveals_all(part.law) or not within_reach(part) for part in laws) else directions


@lru_cache(maxsize=8)
def _laws_of(loss: Composed, *, share: int | None = None) -> tuple[Directions, Directions] | None:
    """Return the laws of all parts, whatever their size; None if one is not known.

    Args:
        share: the real Gaussians together are split into equal ones of at most this mu^2; None: they are one.
    """
    noise = [(part.normal_mu_squared, n) for part, n in loss.parts]
    merged = sum((mu_squared * n for mu_squared, n in noise if mu_squared is not None), Fraction(0))
    others = [(part, n) for part, n in loss.parts if part.normal_mu_squared is None]
    pairs = [pair for part, n in others for pair in part.laws_of_runs(n)]
    if merged:
        shares = 1 if share is None else math.ceil(merged / share)
        if shares > _MAX_NORMAL_PARTS:
            return None
        pairs += [(Pairs.symmetric(NormalLaw(math.sqrt(merged / shares))), 1)] * shares
    known = [(pair, count) for pair, count in pairs if pair is not None]
    if len(known) < len(pairs):
        return None
    upper = _both_ways([(pair.upper, count) for pair, count in known])
    if all(pair.lower is pair.upper for pair, _ in known):
        return upper, upper
    return upper, _both_ways([(pair.lower, count) for pair, count in known])


def _distinct(sides: tuple[Directions, Directions] | None) -> list[Directions]:
    """Return the laws that dominate, and those that are attained where they differ."""
    return [] if sides is None else [sides[0]] if sides[1] is sides[0] else list(sides)


def _reveals_all(law: LossLaw) -> bool:
    """Return whether no loss is finite, so that nothing can be summed."""
    atoms = law.atoms() if law.infinite >= 1 else None
    return atoms is not None and not atoms.losses.size


def _least_of(loss: Statement, count: int, epsilon: Fraction) -> float:
    """Return a lower bound on delta of one part, 0 where it cannot be computed."""
    try:
        return loss.least_delta_of_runs(count, epsilon)
    except InvalidParameterError:
        return 0.0


def _edge(directions: Directions) -> float:
    """Return the epsilon from which floats cannot tell the greatest finite loss."""
    return composed_limit(directions, finite=True).upper * (1 - 1e-12)


def _both_ways(laws: list[tuple[tuple[LossLaw, LossLaw], int]]) -> Directions:
    """Return one list of parts for each direction, or one for both."""
    directions = [[RepeatedPair(both[direction], count) for both, count in laws] for direction in (0, 1)]
    return directions[:1] if all(both[0] is both[1] for both, _ in laws) else directions


def _sum_of(values: list[tuple[Fraction | None, int]]) -> Fraction | None:
    """Return the weighted sum, or None when one summand is unknown."""
    total = Fraction(0)
    for value, count in values:
        if value is None:
            return None
        total += value * count
    return total

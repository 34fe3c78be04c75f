"""Noise on every coordinate of integers: the change of one unit that reveals most."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import NamedTuple

from deniable.errors import UnprovedError
from deniable.numbers.interval import Interval
from deniable.numbers.roots import inverse
from deniable.privacy.composition.compose import Composed, composed
from deniable.privacy.notions.renyi import Directions, both_ways, total
from deniable.privacy.pld.accountant import DEFAULT_TOLERANCE, unit_of_epsilon
from deniable.privacy.pld.law import LossLaw, Pairs
from deniable.privacy.pld.laws import NOTHING
from deniable.privacy.relation import Relation
from deniable.privacy.sensitivity import Sensitivity
from deniable.privacy.statement import Statement

Change = tuple[tuple[int, int], ...]
"""Pairs (shift, how many coordinates move by it), from the largest shift to the smallest."""


class Changes(NamedTuple):
    """Changes of a vector of integers by one unit: the worst, and an attained one.

    worst: reveals at least as much as every change that the sensitivity admits, whatever log-concave noise is added.
    attained: a change that the sensitivity admits; the same unless the l2 norm forbids the worst one.
    """

    worst: Change
    attained: Change


@lru_cache(maxsize=1024)
def extreme_changes(sensitivity: Sensitivity) -> Changes:
    """Return the most unequal changes that the norms admit.

    One coordinate after the other is moved as far as l1, linf and their number allow.

    Guarantee: under log-concave noise the more unequal of two changes with the same sum reveals more.
    Source: docs/theory/privacy/profile.md, "Noise on vectors of integers".
    """
    norms = sensitivity.integral()
    l1 = min(int(norms.l1), int(norms.l2_squared))
    l2_squared = int(norms.l2_squared)
    largest = int(norms.linf)
    free = l1 if norms.coordinates is None else min(norms.coordinates, l1)
    return Changes(_filled(l1, l1 * largest, largest, free), _filled(l1, l2_squared, largest, free))


def _filled(l1: int, l2_squared: int, largest: int, free: int) -> Change:
    """Return the change that moves one coordinate after the other as far as possible."""
    change = []
    while (shift := min(largest, l1, isqrt(l2_squared))) and free:
        count = min(free, l1 // shift, l2_squared // shift**2)
        change.append((shift, count))
        l1 -= count * shift
        l2_squared -= count * shift**2
        free -= count
    return tuple(change)


def sum_of(change: Change) -> int:
    """Return the l1 norm of a change."""
    return sum(shift * count for shift, count in change)


def squares_of(change: Change) -> int:
    """Return the square of the l2 norm of a change."""
    return sum(shift**2 * count for shift, count in change)


class IntegerNoiseStatement(Statement):
    """Loss of independent noise on every coordinate of a vector of integers.

    The noise has one symmetric log-concave law.

    Guarantee: the curve is that of the most unequal change that the norms admit, a composition of single coordinates:
        exact where the norms can be reached together, as those of counts and clipped sums under add/remove are.
    Source: docs/theory/privacy/profile.md, "Noise on vectors of integers".
    """

    sensitivity: Sensitivity
    divergences_are_closed = True

    @abstractmethod
    def _with(self, sensitivity: Sensitivity) -> "IntegerNoiseStatement":
        """Return the loss of this noise on an aggregate of another sensitivity."""

    def _of_shift(self, shift: int) -> "IntegerNoiseStatement":
        """Return the loss of this noise on one integer that moves by `shift`."""
        return self._with(of_one_integer(shift, self.sensitivity.relation))

    def grouped(self, units: int) -> Statement:
        """Return the loss of this noise at the sensitivity to a group."""
        return self._with(self.sensitivity.of_group(units))

    def replaced(self) -> Statement:
        """Return the loss at the sensitivity to two units, under replace."""
        return self._with(replace(self.sensitivity.of_group(2), relation=Relation.REPLACE))

    @abstractmethod
    def _law(self, shift: int) -> LossLaw | None:
        """Return the law of one integer that moves by `shift` >= 1; None if not tabulated."""

    @abstractmethod
    def _divergence(self, shift: int, order: Fraction) -> Interval:
        """Return the Rényi divergence of one integer that moves by `shift`."""

    @abstractmethod
    def closed_delta(self, epsilon: Fraction) -> Interval:
        """Return the curve by closed forms: exact for one coordinate, bounds for several."""

    def _dominating(self, worst: Change) -> Pairs:
        """Return pairs that dominate when the worst change is not admitted.

        Their upper ones do.
        """
        return self._written(worst)

    def divergences(self, order: Fraction) -> Directions:
        """Return the divergences of the worst change and of the attained one.

        Those of coordinates add up.
        """
        worst, attained = (
            total([(self._divergence(shift, order), count) for shift, count in change])
            for change in extreme_changes(self.sensitivity)
        )
        return both_ways(Interval(min(attained.lower, worst.upper), worst.upper))

    def proves(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Return whether the pair is proved; closed forms are tried first."""
        quick = self.closed_delta(epsilon)
        if Fraction(quick.upper) <= delta or Fraction(quick.lower) > delta:
            return Fraction(quick.upper) <= delta
        return super().proves(epsilon, delta)

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta by closed forms, refined by compositions of coordinates."""
        quick = self.closed_delta(epsilon)
        return self._refined(quick, DEFAULT_TOLERANCE * quick.upper, lambda loss: loss.curve(epsilon))

    def delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        """Return delta, refined to this relative width."""
        quick = self.closed_delta(epsilon)
        return self._refined(quick, tolerance * quick.upper, lambda loss: loss.delta_within(epsilon, tolerance))

    def epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        """Return epsilon, refined to this width."""
        quick = inverse(self.closed_delta, delta, limit=self.failing_epsilon)
        wide = tolerance * unit_of_epsilon(quick)
        return self._refined(quick, wide, lambda loss: loss.epsilon_within(delta, tolerance))

    def _refined(self, quick: Interval, width: float, ask: Callable[[Statement], Interval]) -> Interval:
        """Return `quick`, or the answer of compositions of single coordinates.

        The latter where `quick` is wider than `width`.
        """
        worst, attained = extreme_changes(self.sensitivity)
        if quick.width <= width or self._is_single:
            return quick
        composed_answer = ask(self._together(worst))
        attained_answer = composed_answer if attained == worst else ask(self._together(attained))
        upper = min(quick.upper, composed_answer.upper)
        return Interval(
            min(max(quick.lower, attained_answer.lower), upper),
            upper,
            wide=composed_answer.wide or attained_answer.wide,
        )

    @property
    def _is_single(self) -> bool:
        """Whether a change of one coordinate is the worst."""
        return sum(count for _, count in extreme_changes(self.sensitivity).worst) <= 1

    def laws(self) -> Pairs | None:
        """Return laws; None where no table is made, or the change is too large for one."""
        worst, attained = extreme_changes(self.sensitivity)
        if not worst:
            return Pairs.symmetric(NOTHING)
        single = self._law(worst[0][0])
        if single is None or self._is_single:
            return None if single is None else Pairs.symmetric(single)
        try:
            if attained == worst:
                return self._written(worst)
            return Pairs(self._dominating(worst).upper, self._written(attained).lower)
        except UnprovedError:  # losses that floats cannot exponentiate
            path = self._law(sum_of(worst))
            return None if path is None else Pairs.symmetric(path, single)

    def laws_of_runs(self, count: int) -> list[tuple[Pairs | None, int]]:
        """Return laws of runs, in which coordinates are runs too.

        Where all of them can move at once.
        """
        worst, attained = extreme_changes(self.sensitivity)
        laws = [law for shift, _ in worst if (law := self._law(shift)) is not None]
        if self._is_single or attained != worst or len(laws) < len(worst):
            return super().laws_of_runs(count)
        return [(Pairs.symmetric(law), times * count) for law, (_, times) in zip(laws, worst, strict=True)]

    def _together(self, change: Change) -> Statement:
        """Return the composition of the coordinates of a change."""
        return composed([composed([self._of_shift(shift)], count) for shift, count in change])

    def _written(self, change: Change) -> Pairs:
        """Return the laws of the composition of a change, written out."""
        pairs = Composed((self._of_shift(shift), count) for shift, count in change).joint_laws()
        assert pairs is not None
        return pairs


def of_one_integer(shift: int, relation: Relation) -> Sensitivity:
    """Return the sensitivity of one integer that moves by at most `shift`."""
    moved = Fraction(shift)
    return Sensitivity(l1=moved, l2_squared=moved**2, linf=moved, relation=relation, coordinates=1)

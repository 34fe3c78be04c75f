"""Finite pairs of distributions: exact rationals in, the exact curve out."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import ClassVar

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import INFINITE, NONNEGATIVE, Interval
from deniable.numbers.rationals import Real, decimal_above, exact_rational, shown
from deniable.privacy.losses.polygon import Polygon
from deniable.privacy.notions.gaussian_dp import DIGITS, mu_squared_of_pure
from deniable.privacy.notions.renyi import Directions, both_ways, largest
from deniable.privacy.pld.law import LossLaw, Pairs
from deniable.privacy.relation import AddRemove, Relation, Replace
from deniable.privacy.statement import Statement

Masses = tuple[Fraction, ...]

_MAX_BITS = 2**29  # of all numerators over the common denominator together


@dataclass(frozen=True, init=False)
class FiniteStatement(Statement):
    """Loss of a mechanism with finitely many outcomes, whose laws are known.

    Several pairs (`of_pairs`), or all pairs of rows of a matrix (`of_channel`), are one loss: the greatest of their
    curves, which is the curve of one pair again.

    Args:
        p: probabilities of the outcomes with the unit, under add/remove; of the first of two tables, under replace.
        q: probabilities of the same outcomes in the same order, without the unit; of the second table.
        relation: the neighbouring relation.

    Guarantee: delta(x) = max over pairs and directions of sum max(0, p - e^x q), exactly. Under add/remove the two
        directions stay apart in compositions; under replace either may occur, and the pair that is composed is above
        both.
    Source: docs/theory/privacy/losses.md.

    >>> from deniable.privacy import AddRemove, FiniteLoss
    >>> print(FiniteLoss(["1/2", "1/2"], ["1/4", "3/4"], relation=AddRemove).delta(0).upper)
    0.25
    """

    kind: ClassVar[str] = "finite"
    pairs: tuple[tuple[Masses, Masses], ...]
    relation: Relation

    def __init__(self, p: Iterable[object], q: Iterable[object], *, relation: Relation) -> None:
        self._set([(p, q)], relation)

    def _set(self, pairs: Iterable[tuple[Iterable[object], Iterable[object]]], relation: Relation) -> None:
        Relation.checked(relation)
        checked = tuple((_distribution("p", p), _distribution("q", q)) for p, q in pairs)
        if not checked:
            raise InvalidParameterError("a finite loss needs at least one pair of distributions")
        for p, q in checked:
            if len(p) != len(q):
                raise InvalidParameterError(
                    f"p and q must list the same outcomes, got {len(p)} and {len(q)}. Write 0 for what cannot happen."
                )
        read_fields(self, pairs=checked, relation=relation)

    @classmethod
    def of_pairs(
        cls, pairs: Iterable[tuple[Iterable[object], Iterable[object]]], *, relation: Relation
    ) -> "FiniteStatement":
        """Return the loss of a mechanism with any of these pairs (p, q) for neighbours."""
        loss = object.__new__(cls)
        loss._set(pairs, relation)
        return loss

    @classmethod
    def of_channel(
        cls, rows: Sequence[Iterable[object]], *, neighbours: Iterable[tuple[int, int]] | None = None
    ) -> "FiniteStatement":
        """Return the loss of a mechanism on finitely many inputs, given by a matrix.

        Args:
            rows: rows[i] is the law of the output for input i.
            neighbours: which inputs may be exchanged for each other, by index; all of them when None.
        """
        laws = [tuple(row) for row in rows]
        chosen = list(combinations(range(len(laws)), 2)) if neighbours is None else list(neighbours)
        for pair in chosen:
            if len(pair) != 2 or not all(0 <= index < len(laws) for index in pair):
                raise InvalidParameterError(f"neighbours must be pairs of indices below {len(laws)}, got {pair!r}")
        return cls.of_pairs([(laws[a], laws[b]) for a, b in chosen], relation=Replace)

    def __repr__(self) -> str:
        shown = [f"({_shown(p)}, {_shown(q)})" for p, q in self.pairs[:3]]
        rest = [f"... {len(self.pairs) - 3} more"] if len(self.pairs) > 3 else []
        if len(self.pairs) == 1:
            return f"FiniteLoss{shown[0][:-1]}, relation=Relation.{self.relation.name})"
        return f"FiniteLoss.of_pairs([{', '.join(shown + rest)}], relation=Relation.{self.relation.name})"

    @cached_property
    def _polygons(self) -> tuple[Polygon, ...]:
        """Trade-off polygons, one for each pair, over one denominator."""
        total = math.lcm(*(mass.denominator for pair in self.pairs for masses in pair for mass in masses))
        count = sum(len(p) for p, _ in self.pairs)
        if total.bit_length() * count > _MAX_BITS:
            raise InvalidParameterError(
                f"the {count} probabilities have no common denominator of a reasonable size. "
                "Write them as whole numbers over one denominator, such as Fraction(n, 10**12)."
            )
        return tuple(Polygon.of_masses(_over(total, p), _over(total, q)) for p, q in self.pairs)

    @cached_property
    def _ways(self) -> tuple[Polygon, Polygon]:
        """Least polygons above all pairs, for (with, without) and (without, with)."""
        there, back = _hull(self._polygons), _hull([polygon.reversed() for polygon in self._polygons])
        if there.equals(back):
            return there, there
        if self.relation is Replace:
            both = _hull([there, back])
            return both, both
        return there, back

    def curve(self, epsilon: Fraction) -> Interval:
        """Return the greatest delta of all pairs, in both directions."""
        there, back = self._ways
        delta = there.delta(epsilon)
        if back is there:
            return delta
        other = back.delta(epsilon)
        return Interval(max(delta.lower, other.lower), max(delta.upper, other.upper))

    def epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        """Return epsilon from the corners of the trade-off.

        It is the least x >= 1 with p - x q <= delta at every corner (q, p).
        """
        if delta < self.infinite_mass:
            return INFINITE
        exp_epsilon = Fraction(1)
        for polygon in self._ways:
            spare = [(run, Fraction(up) - delta * polygon.total) for run, up in polygon.corners if run]
            exp_epsilon = max([exp_epsilon, *(rise / run for run, rise in spare)])
        return certified(lambda: ball(exp_epsilon).log(), within=NONNEGATIVE)

    def exact_delta(self, exp_epsilon: Real) -> Fraction:
        """Return delta at epsilon = ln(exp_epsilon) as a rational number.

        `exp_epsilon` is any number >= 1.
        """
        number = exact_rational("exp_epsilon", exp_epsilon)
        if number < 1:
            raise InvalidParameterError(f"exp_epsilon must be >= 1, got {exp_epsilon!r}")
        return max(polygon.exact_delta(number) for polygon in self._ways)

    def laws(self) -> Pairs | None:
        """Return the laws; None when some pair has no common outcome.

        Then everything is revealed.
        """
        return self._laws if self.infinite_mass < 1 else None

    @cached_property
    def _laws(self) -> Pairs:
        there, back = self._ways
        upper = _both(there, back)
        attained = max(self._polygons, key=lambda polygon: polygon.exact_delta(Fraction(1)))
        if attained.equals(there) and attained.reversed().equals(back):
            return Pairs(upper, upper)
        return Pairs(upper, _both(attained, attained.reversed()))

    def divergences(self, order: Fraction) -> Directions:
        """Return the greatest divergences of all pairs, in each direction.

        Under replace either direction may occur.
        """
        with_unit = largest(_divergence(p, q, order) for p, q in self.pairs)
        without = largest(_divergence(q, p, order) for p, q in self.pairs)
        return both_ways(largest([with_unit, without])) if self.relation is Replace else (with_unit, without)

    def sampled(self, rate: Fraction) -> "FiniteStatement":
        """Return the loss of the mixed pairs."""
        mixed = [([rest + rate * (here - rest) for here, rest in zip(p, q, strict=True)], q) for p, q in self.pairs]
        return FiniteStatement.of_pairs(mixed, relation=AddRemove)

    @property
    def infinite_mass(self) -> Fraction:
        return max(polygon.infinite for polygon in self._ways)

    @property
    def failure(self) -> Fraction:
        """Greatest probability of an infinite loss of a pair, in either direction."""
        return max(max(polygon.infinite, polygon.vanishing) for polygon in self._polygons)

    @property
    def failing_epsilon(self) -> Fraction:
        """Greatest size of a loss, given that it is finite."""
        return _logarithm_above(max(max(ratio, 1 / ratio) for ends in self._extreme_ratios for ratio in ends))

    @property
    def failing_rho(self) -> Fraction:
        """Value r^2/8 of a loss that lies in an interval of length r."""
        return self._range**2 / 8

    @property
    def mu_squared(self) -> Fraction | None:
        """Value of mu^2 of r/2-DP, for a loss that lies in an interval of length r."""
        return None if self.failure else mu_squared_of_pure(self._range / 2)

    @property
    def _range(self) -> Fraction:
        """Length of the interval that holds all finite losses."""
        return _logarithm_above(max(highest / lowest for highest, lowest in self._extreme_ratios))

    @cached_property
    def _extreme_ratios(self) -> list[tuple[Fraction, Fraction]]:
        """Extreme likelihood ratios of each pair, without infinite losses.

        exp of the greatest and of the least finite loss, both laws taken without infinite losses.
        """
        ends = [(Fraction(1), Fraction(1))]
        for polygon in self._polygons:
            if polygon.losses.size:
                share = (1 - polygon.vanishing) / (1 - polygon.infinite)
                ends.append((polygon.ratio(0) * share, polygon.ratio(polygon.losses.size - 1) * share))
        return ends

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Statement:
        pairs, relation = values.get("pairs"), values.get("relation")
        whole = isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
        if not whole or set(values) != {"pairs", "relation"} or relation not in {known.value for known in Relation}:
            raise InvalidParameterError(
                "a finite loss needs the fields 'pairs', a list of [p, q], and 'relation', 'add/remove' or 'replace'"
            )
        assert isinstance(pairs, list)
        return cls.of_pairs([(p, q) for p, q in pairs], relation=Relation(relation))


def _divergence(p: tuple[Fraction, ...], q: tuple[Fraction, ...], order: Fraction) -> Interval:
    """Return the Rényi divergence of two rows of masses."""
    if any(x and not y for x, y in zip(p, q, strict=True)):
        return INFINITE
    pairs = [(x, y) for x, y in zip(p, q, strict=True) if x]

    def formula() -> Arb:
        if order == 1:
            return sum((ball(x) * ball(x / y).log() for x, y in pairs), ball(Fraction(0)))
        return sum((ball(y) * ball(x / y) ** ball(order) for x, y in pairs), ball(Fraction(0))).log() / ball(order - 1)

    return Interval(0.0, 0.0) if p == q else certified(formula, within=NONNEGATIVE)


def _distribution(name: str, masses: Iterable[object]) -> Masses:
    """Return exact probabilities with sum 1."""
    if isinstance(masses, str) or not isinstance(masses, Iterable):
        raise InvalidParameterError(f"{name} must be a list of probabilities, got {masses!r}")
    read = tuple(
        mass if type(mass) is Fraction else exact_rational(f"a probability in {name}", mass) for mass in masses
    )
    if any(mass < 0 for mass in read):
        raise InvalidParameterError(f"the probabilities in {name} must be >= 0, got {min(read)}")
    if any(mass > 1 for mass in read):
        raise InvalidParameterError(f"the probabilities in {name} must be at most 1, got {shown(max(read))}")
    total = math.lcm(*(mass.denominator for mass in read))
    sum_over_total = sum(_over(total, read)) if total.bit_length() * len(read) <= _MAX_BITS else None
    if sum_over_total != total:
        shown_sum = "no short fraction" if sum_over_total is None else f"{sum_over_total / total:.17g}"
        raise InvalidParameterError(
            f"the probabilities in {name} must have the sum 1 exactly, got {shown_sum}. Give exact numbers, such as "
            "'1/3' or Fraction(n, total); floats stand for their shortest decimal text."
        )
    return read


def _over(total: int, masses: Masses) -> list[int]:
    """Return the masses as whole numbers over `total`."""
    return [mass.numerator * (total // mass.denominator) for mass in masses]


def _hull(polygons: Sequence[Polygon]) -> Polygon:
    """Return the least polygon above these."""
    different: list[Polygon] = []
    for polygon in polygons:
        if not any(polygon.equals(other) for other in different):
            different.append(polygon)
    return different[0] if len(different) == 1 else Polygon.hull(different)


def _both(there: Polygon, back: Polygon) -> tuple[LossLaw, LossLaw]:
    """Return the laws of both directions, or one for both."""
    law = there.law()
    return (law, law) if there.equals(back) else (law, back.law())


def _logarithm_above(ratio: Fraction) -> Fraction:
    """Return a short decimal at or a little above ln(ratio), for ratio >= 1."""
    if ratio == 1:
        return Fraction(0)

    return decimal_above(Fraction(certified(lambda: ball(ratio).log(), within=NONNEGATIVE).upper), DIGITS)


def _shown(masses: Masses) -> str:
    """Return probabilities as text that can be typed again.

    Shortened when there are many.
    """
    shown = ", ".join(repr(mass) for mass in masses[:8])
    return f"[{shown}]" if len(masses) <= 8 else f"[{shown}, ... {len(masses) - 8} more]"

"""Parallel composition: mechanisms on disjoint parts of the data."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import ClassVar

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.interval import Interval
from deniable.privacy.composition.compose import composed
from deniable.privacy.composition.mixture import OneOf
from deniable.privacy.losses.polygon import Polygon
from deniable.privacy.losses.pure import PureStatement
from deniable.privacy.notions.renyi import Directions, both_ways, directed, largest
from deniable.privacy.pld.law import UNIT, LossLaw, Pairs
from deniable.privacy.pld.sum_law import MAX_VALUES
from deniable.privacy.relation import AddRemove, Relation, Replace
from deniable.privacy.statement import Stated, Statement, statement_of

Losses = tuple[Statement, ...]

_PROBABILITY_UNITS = 2**120  # probabilities are whole multiples of 1 over this where they are rounded outward


@dataclass(frozen=True, init=False, repr=False)
class ParallelStatement(OneOf):
    """Loss of one mechanism on each part of a partition.

    All data of a unit lie in one part.

    Args:
        parts: the losses of the mechanisms, one for each part, in any order.
        relation: AddRemove: one part gains or loses a unit. Replace: a unit may leave one part and enter another, and
            then both parts reveal it. A loss that is stated for both relations is taken at its word for both.
        inside: under Replace, what a unit that is exchanged inside its part loses there, part by part; by default what
            the losses say if they are proved for Replace, else twice their pure epsilon.
        fixed: under Replace, every unit's part is public and the same in all tables (it depends on no private value),
            so that no unit can move; the losses are then those of an exchange.

    Guarantee: AddRemove, or fixed parts: the greatest of the curves. Replace: the greatest of the curves of all pairs
        of different parts, composed, and of all changes inside.
    Source: McSherry (2009) for add/remove; proof for both in docs/theory/privacy/parallel.md.
    """

    kind: ClassVar[str] = "parallel"
    parts: Losses
    relation: Relation
    inside: Losses | None
    fixed: bool

    def __init__(
        self,
        parts: Iterable[Stated],
        *,
        relation: Relation,
        inside: Iterable[Stated] | None = None,
        fixed: bool = False,
    ) -> None:
        ordered_inside = None if inside is None else _ordered(inside)
        read_fields(self, parts=_ordered(parts), inside=ordered_inside, relation=relation, fixed=fixed)
        Relation.checked(relation)
        if (inside is not None or fixed) and relation is not Replace:
            raise InvalidParameterError("inside= and fixed= apply to Replace only; leave them out under AddRemove")
        if inside is not None and (fixed or len(self.inside or ()) != len(self.parts)):
            raise InvalidParameterError(
                "inside= must hold one loss for each part, and cannot be combined with fixed=True"
            )
        self.alternatives  # noqa: B018  (checks what is proved)

    @cached_property
    def alternatives(self) -> Losses:
        """Losses of which a pair of neighbours has one, unknown to the adversary."""
        if self.relation is AddRemove or self.fixed:
            return _strongest(_proved(self.parts, self.relation))
        inside = _inside(self.parts) if self.inside is None else _proved(self.inside, Replace)
        return _strongest((*inside, *_moves(_proved(self.parts, AddRemove))))

    def laws(self) -> Pairs | None:
        """Return the pairs of the one alternative above all others.

        Else, of finitely many values, a pair above all.
        """
        by_alternative = [loss.exact_laws() for loss in self.alternatives]
        known = [pairs for pairs in by_alternative if pairs is not None]
        if len(known) < len(by_alternative):
            return None
        if len(known) == 1:
            return known[0]
        there = law_above([pairs.upper[0] for pairs in known])
        one = all(pairs.is_symmetric for pairs in known)
        back = there if one else law_above([pairs.upper[1] for pairs in known])
        if there is None or back is None:
            return None
        strongest = max(range(len(known)), key=lambda index: self.alternatives[index].curve(Fraction(0)).lower)
        return Pairs((there, back), known[strongest].lower)

    def curve(self, epsilon: Fraction) -> Interval:
        """Return the greatest delta of the alternatives."""
        return _greatest_interval([loss.curve(epsilon) for loss in self.alternatives])

    def delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        """Return the greatest delta of the alternatives, to this width."""
        return _greatest_interval([loss.delta_within(epsilon, tolerance) for loss in self.alternatives])

    def epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        """Return the greatest epsilon of the alternatives, to this width."""
        return _greatest_interval([loss.epsilon_within(delta, tolerance) for loss in self.alternatives])

    def divergences(self, order: Fraction) -> Directions:
        """Return the greatest divergence of the alternatives, in either direction."""
        return both_ways(largest(one for part in self.alternatives for one in directed(part, order)))

    def proves(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Return whether every alternative proves the pair."""
        return all(loss.proves(epsilon, delta) for loss in self.alternatives)

    @property
    def infinite_mass(self) -> Fraction:
        return max(loss.infinite_mass for loss in self.alternatives)

    def _merged(self, failures: list[Fraction]) -> Fraction:
        """Return the greatest failure."""
        return max(failures)

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Statement:
        if not isinstance(values.get("fixed"), bool):
            raise InvalidParameterError("a parallel loss needs the fields 'parts', 'relation', 'inside' and 'fixed'")
        for name in ("parts", "inside"):
            listed = values.get(name)
            values[name] = None if listed is None else [Statement.from_data(loss) for loss in _checked_list(listed)]
        values["relation"] = Relation(values.get("relation"))
        return cls(values.pop("parts") or [], **values)  # type: ignore[arg-type]


def law_above(laws: list[LossLaw]) -> LossLaw | None:
    """Return the law of a pair whose curve is just above those of all of these.

    It exceeds the greatest of them by no more than rounding. The points (Q(L > l), P(L > l)) of every law are rounded
    outward; the least concave polygon above all of them is the trade-off of one pair. None where a law has infinitely
    many values, or too many.

    The points (Q(L > l), P(L > l)) of every law are rounded outward; the least concave polygon above all of them is the
    trade-off of one pair. None where a law has infinitely many values, or too many.
    """
    polygons = []
    for law in laws:
        atoms = law.atoms()
        if atoms is None or atoms.losses.size > MAX_VALUES:
            return None
        above, below = 1 + Fraction(atoms.error), 1 - Fraction(atoms.error)
        p, q = _PROBABILITY_UNITS * Fraction(law.infinite) * (1 + Fraction(4 * UNIT)), Fraction(0)
        corners = [(0, math.ceil(p))]
        for a, b in zip(atoms.p[::-1].tolist(), atoms.q[::-1].tolist(), strict=True):  # the greatest loss first
            p, q = p + _PROBABILITY_UNITS * Fraction(a) * above, q + _PROBABILITY_UNITS * Fraction(b) * below
            corners.append((math.floor(q), min(math.ceil(p), _PROBABILITY_UNITS)))
        corners[-1] = (corners[-1][0], _PROBABILITY_UNITS)
        polygons.append(
            Polygon(_PROBABILITY_UNITS, *(np.array(line, dtype=object) for line in zip(*corners, strict=True)))
        )
    return Polygon.hull(polygons).law()


def _ordered(losses: Iterable[Stated]) -> Losses:
    """Return the statements of parts in their order, at least one."""
    given = tuple(statement_of("every part", loss) for loss in losses)
    if not given:
        raise InvalidParameterError("a parallel composition needs at least one part, got none")
    return tuple(sorted(given, key=lambda loss: loss.sort_key))


def _proved(losses: Losses, relation: Relation) -> Losses:
    """Return losses, after checking that all are proved for the relation."""
    for loss in losses:
        if relation not in loss.relations:
            raise UnprovedError(
                f"{loss!r} is not proved for {relation}, which this partition needs. State it for that relation."
            )
    return losses


def _inside(parts: Losses) -> Losses:
    """Return the losses of an exchange inside a part.

    They are as stated, or those of removing one unit and adding another, each a pure epsilon.
    """
    exchanges = []
    for loss in dict.fromkeys(parts):
        limit = loss.pure_epsilon
        if Replace in loss.relations:
            exchanges.append(loss)
        elif limit is not None:
            exchanges.append(PureStatement(2 * limit))
        else:
            raise UnprovedError(
                f"under replace a unit may be exchanged inside its part, and {loss!r} is proved for add/remove alone. "
                "Give inside=[...] with the losses of such a change, part by part."
            )
    return tuple(exchanges)


def _moves(parts: Losses) -> Losses:
    """Return the losses of a move from one part to another.

    Both losses at once, in opposite directions.
    """
    two = _two_strongest(parts)
    for loss in two if len(two) > 1 else ():
        laws = loss.laws()
        if laws is not None and not laws.is_symmetric:
            raise UnprovedError(
                f"a unit that moves is removed from one part and added to another, and {loss!r} differs in these two "
                "directions. Use PureLoss or ApproximateLoss with its (epsilon, delta)."
            )
    return tuple(dict.fromkeys(composed(pair) for pair in combinations(two, 2)))


def _two_strongest(parts: Losses) -> list[Statement]:
    """Return the parts without those that each of two other parts dominates.

    One of the two is not the partner of a move.
    """
    kept: list[Statement] = []
    for part in parts:
        kept.append(part)
        for index in range(len(kept) - 1, -1, -1):
            others = kept[:index] + kept[index + 1 :]
            if sum(other == kept[index] or other.dominates(kept[index]) for other in others) > 1:
                kept = others
    return kept


def _strongest(losses: Losses) -> Losses:
    """Return the losses without those that another one is known to dominate."""
    kept: list[Statement] = []
    for loss in dict.fromkeys(losses):
        if not any(other.dominates(loss) for other in kept):
            kept = [other for other in kept if not loss.dominates(other)]
            kept.append(loss)
    return tuple(kept)


def _greatest_interval(intervals: list[Interval]) -> Interval:
    """Return the greatest of several intervals."""
    wide = any(value.wide for value in intervals)
    return Interval(max(value.lower for value in intervals), max(value.upper for value in intervals), wide=wide)


def _checked_list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise InvalidParameterError(f"the parts of a parallel loss must be a list of losses, got {value!r}")
    return value

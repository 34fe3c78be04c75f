"""Mechanisms on disjoint parts of the data: what one unit may lose depends on how neighbours differ."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import ClassVar

import numpy as np

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

_GRAIN = 2**120  # probabilities are whole numbers of 2^-120 where they are rounded outward


@dataclass(frozen=True, init=False, repr=False)
class ParallelStatement(OneOf):
    """One mechanism on each part of a partition; all data of a unit lie in one part.

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
        set_field = object.__setattr__
        set_field(self, "parts", _ordered(parts))
        set_field(self, "inside", None if inside is None else _ordered(inside))
        set_field(self, "relation", relation)
        set_field(self, "fixed", fixed)
        Relation.checked(relation)
        if (inside is not None or fixed) and relation is not Replace:
            raise InvalidParameterError("inside= and fixed= are about Replace; under AddRemove leave them out")
        if inside is not None and (fixed or len(self.inside or ()) != len(self.parts)):
            raise InvalidParameterError("inside= must hold one loss for each part, and goes without fixed=True")
        self.alternatives  # noqa: B018  (checks what is proved)

    @cached_property
    def alternatives(self) -> Losses:
        """What the pair of neighbours may amount to: one of these, nobody knows which."""
        if self.relation is AddRemove or self.fixed:
            return _strongest(_proved(self.parts, self.relation))
        inside = _inside(self.parts) if self.inside is None else _proved(self.inside, Replace)
        return _strongest((*inside, *_moves(_proved(self.parts, AddRemove))))

    def laws(self) -> Pairs | None:
        """The pairs of the one alternative above all others; else, of finitely many values, a pair above all."""
        found = [loss.exact_laws() for loss in self.alternatives]
        known = [pairs for pairs in found if pairs is not None]
        if len(known) < len(found):
            return None
        if len(known) == 1:
            return known[0]
        there = law_above([pairs.upper[0] for pairs in known])
        one = all(pairs.is_symmetric for pairs in known)
        back = there if one else law_above([pairs.upper[1] for pairs in known])
        if there is None or back is None:
            return None
        strongest = max(range(len(known)), key=lambda place: self.alternatives[place].curve(Fraction(0)).lower)
        return Pairs((there, back), known[strongest].lower)

    def curve(self, epsilon: Fraction) -> Interval:
        return _greatest_interval([loss.curve(epsilon) for loss in self.alternatives])

    def delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        return _greatest_interval([loss.delta_within(epsilon, tolerance) for loss in self.alternatives])

    def epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        return _greatest_interval([loss.epsilon_within(delta, tolerance) for loss in self.alternatives])

    def divergences(self, order: Fraction) -> Directions:
        """The unit is in one of the parts, and nobody knows which."""
        return both_ways(largest(one for part in self.alternatives for one in directed(part, order)))

    def proves(self, epsilon: Fraction, delta: Fraction) -> bool:
        return all(loss.proves(epsilon, delta) for loss in self.alternatives)

    @property
    def infinite_mass(self) -> Fraction:
        return max(loss.infinite_mass for loss in self.alternatives)

    def _merged(self, failures: list[Fraction]) -> Fraction:
        return max(failures)

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Statement:
        if not isinstance(values.get("fixed"), bool):
            raise InvalidParameterError("a parallel loss needs the fields 'parts', 'relation', 'inside' and 'fixed'")
        for name in ("parts", "inside"):
            found = values.get(name)
            values[name] = None if found is None else [Statement.from_data(loss) for loss in _checked_list(found)]
        values["relation"] = Relation(values.get("relation"))
        return cls(values.pop("parts") or [], **values)  # type: ignore[arg-type]


def law_above(laws: list[LossLaw]) -> LossLaw | None:
    """The law of a pair whose curve is above those of all of these, and of no more than rounding above their greatest.

    The points (Q(L > l), P(L > l)) of every law are rounded outward; the least concave polygon above all of them is the
    trade-off of one pair. None where a law has infinitely many values, or too many.
    """
    polygons = []
    for law in laws:
        atoms = law.atoms()
        if atoms is None or atoms.losses.size > MAX_VALUES:
            return None
        above, below = 1 + Fraction(atoms.error), 1 - Fraction(atoms.error)
        p, q = _GRAIN * Fraction(law.infinite) * (1 + Fraction(4 * UNIT)), Fraction(0)
        corners = [(0, math.ceil(p))]
        for a, b in zip(atoms.p[::-1].tolist(), atoms.q[::-1].tolist(), strict=True):  # the greatest loss first
            p, q = p + _GRAIN * Fraction(a) * above, q + _GRAIN * Fraction(b) * below
            corners.append((math.floor(q), min(math.ceil(p), _GRAIN)))
        corners[-1] = (corners[-1][0], _GRAIN)
        polygons.append(Polygon(_GRAIN, *(np.array(line, dtype=object) for line in zip(*corners, strict=True))))
    return Polygon.hull(polygons).law()


def _ordered(losses: Iterable[Stated]) -> Losses:
    given = tuple(statement_of("every part", loss) for loss in losses)
    if not given:
        raise InvalidParameterError("a parallel composition needs at least one part, got none")
    return tuple(sorted(given, key=lambda loss: loss.sort_key))


def _proved(losses: Losses, relation: Relation) -> Losses:
    for loss in losses:
        if relation not in loss.relations:
            raise UnprovedError(f"{loss!r} is not proved for {relation}, as this partition needs. State it for it.")
    return losses


def _inside(parts: Losses) -> Losses:
    """What an exchange inside a part costs: as stated, or removing one unit and adding another, each a pure epsilon."""
    found = []
    for loss in dict.fromkeys(parts):
        limit = loss.pure_epsilon
        if Replace in loss.relations:
            found.append(loss)
        elif limit is not None:
            found.append(PureStatement(2 * limit))
        else:
            raise UnprovedError(
                f"under replace a unit may be exchanged inside its part, and {loss!r} is proved for add/remove alone. "
                "Give inside=[...] with the losses of such a change, part by part."
            )
    return tuple(found)


def _moves(parts: Losses) -> Losses:
    """A unit leaves one part and enters another: both losses at once, in opposite directions."""
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
    """Without the parts that each of two other parts dominates: one of the two is not the partner of a move."""
    kept: list[Statement] = []
    for part in parts:
        kept.append(part)
        for index in range(len(kept) - 1, -1, -1):
            others = kept[:index] + kept[index + 1 :]
            if sum(other == kept[index] or other.dominates(kept[index]) for other in others) > 1:
                kept = others
    return kept


def _strongest(losses: Losses) -> Losses:
    """Without the losses that another one is known to dominate."""
    kept: list[Statement] = []
    for loss in dict.fromkeys(losses):
        if not any(other.dominates(loss) for other in kept):
            kept = [other for other in kept if not loss.dominates(other)]
            kept.append(loss)
    return tuple(kept)


def _greatest_interval(found: list[Interval]) -> Interval:
    wide = any(value.wide for value in found)
    return Interval(max(value.lower for value in found), max(value.upper for value in found), wide=wide)


def _checked_list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise InvalidParameterError(f"the parts of a parallel loss must be a list of losses, got {value!r}")
    return value

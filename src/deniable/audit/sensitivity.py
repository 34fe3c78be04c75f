"""Sensitivities of any function, over all neighbours of a finite universe."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable.audit.universe import Neighbouring, Records, Universe
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import decimal_text, shown
from deniable.privacy import Relation, Sensitivity


@dataclass(frozen=True, kw_only=True)
class LargestChange:
    """Exact sensitivities of a function over a universe, with the worst pairs.

    Args:
        l1: largest sum of absolute changes.
        l2_squared: largest sum of squared changes.
        linf: largest change of a coordinate.
        coordinates: largest number of coordinates that change together.
        pairs: name of a norm -> the two tables.
        relation: between the tables.
    """

    l1: Fraction
    l2_squared: Fraction
    linf: Fraction
    coordinates: int
    pairs: Mapping[str, tuple[Records, Records]]
    relation: Neighbouring

    def __repr__(self) -> str:
        l1, linf = (decimal_text(Fraction(norm)) for norm in (self.l1, self.linf))
        l2 = f"{math.sqrt(self.l2_squared):.6g}"
        return f"<LargestChange: l1 {l1}, l2 {l2}, linf {linf} under {self.relation}>"

    @property
    def sensitivity(self) -> Sensitivity:
        """Sensitivity for mechanisms; it holds for tables of this universe alone.

        Raises: InvalidParameterError under ZeroOut.
        """
        if not isinstance(self.relation, Relation):
            raise InvalidParameterError("relation must be AddRemove or Replace for a Sensitivity, got ZeroOut")
        return Sensitivity(l1=self.l1, l2_squared=self.l2_squared, linf=self.linf, relation=self.relation,
                           coordinates=max(self.coordinates, 1))  # fmt: skip


def search_sensitivity(
    function: Callable[[Records], object], universe: Universe, *, relation: Neighbouring
) -> LargestChange:
    """Compute the exact sensitivities of any function over all neighbours.

    Args:
        function: from a table to a number, or to the same number of numbers for every table; floats are exact.
        universe: of the tables that are tried.
        relation: AddRemove, Replace or a ZeroOut.

    Returns: a `LargestChange`.
    Raises: InvalidParameterError if the function returns other values than numbers, or vectors of other lengths.
    Source: definitions 2.1 and 3.8 of Dwork, Roth (2014).

    >>> from deniable.audit.universe import Universe
    >>> change = search_sensitivity(sum, Universe(values=(0, 1, 5), rows=3), relation=Relation.REPLACE)
    >>> float(change.l1), change.pairs["l1"]
    (5.0, ((0,), (5,)))
    """
    values = {table: _vector(function(table)) for table in universe.tables()}
    best: dict[str, tuple[Fraction, tuple[Records, Records]]] = {}
    for one, other in universe.pairs(relation):
        if len(values[one]) != len(values[other]):
            raise InvalidParameterError(
                f"the function returns {len(values[one])} numbers on {shown(one)} and {len(values[other])} on "
                f"{shown(other)}: it must return the same number of them on all tables"
            )
        change = [abs(x - y) for x, y in zip(values[one], values[other], strict=True)]
        norms = {
            "l1": sum(change, Fraction(0)),
            "l2_squared": sum((x * x for x in change), Fraction(0)),
            "linf": max(change, default=Fraction(0)),
            "coordinates": Fraction(sum(x > 0 for x in change)),
        }
        for name, norm in norms.items():
            if name not in best or norm > best[name][0]:
                best[name] = (norm, (one, other))
    if not best:
        raise InvalidParameterError(
            "the universe must hold at least one pair of neighbours. Give it more rows or values"
        )
    norms = {name: norm for name, (norm, _) in best.items()}
    return LargestChange(
        l1=norms["l1"], l2_squared=norms["l2_squared"], linf=norms["linf"], coordinates=int(norms["coordinates"]),
        pairs={name: pair for name, (_, pair) in best.items()}, relation=relation,
    )  # fmt: skip


def _vector(value: object) -> list[Fraction]:
    """Return a number or vector as rationals."""
    try:
        numbers = np.asarray(value, dtype=object).reshape(-1)
        return [Fraction(one.item() if hasattr(one, "item") else one) for one in numbers]
    except (TypeError, ValueError, OverflowError):  # text, None, NaN, infinity
        raise InvalidParameterError(f"the function must return finite numbers, got {shown(value)}") from None

"""Sensitivities of SQL aggregates, in exact rationals.

All formulas assume: after bounding, one unit has rows in at most `groups` cells of a grouped query and at most `rows`
rows in each; a query without GROUP BY has the single cell `cells=1`. Proofs: docs/theory/privacy/sensitivity.md.

The setting of all of them: after bounding, one unit has rows in at most `groups` cells of a grouped query and at most
`rows` rows in each; a query without GROUP BY has the single cell `cells=1`. Proofs: docs/theory/privacy/sensitivity.md.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated

from deniable.arguments import InWords, in_words, read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import (
    exact_rational,
    nonnegative_rational,
    positive_integer,
    positive_rational,
    quotient_text,
    read_json,
)
from deniable.privacy.relation import Relation


@dataclass(frozen=True, kw_only=True)
class Sensitivity(metaclass=InWords):
    """Bounds on the change of a vector of aggregates between neighbouring tables.

    Args:
        l1: the largest sum of absolute changes, in the unit of the aggregate.
        l2_squared: the largest sum of squared changes.
        linf: the largest change of one coordinate.
        relation: the neighbouring relation for which the bounds are proved.
        coordinates: how many coordinates one unit can change; None when there is no bound.

    >>> from deniable.privacy import AddRemove
    >>> Sensitivity(l1=3, l2_squared=3, linf=1, relation=AddRemove).l2 ** 2 >= 3
    True
    """

    l1: Annotated[Fraction, nonnegative_rational]
    l2_squared: Annotated[Fraction, nonnegative_rational]
    linf: Annotated[Fraction, nonnegative_rational]
    relation: Relation
    coordinates: Annotated[int | None, positive_integer] = None

    def __post_init__(self) -> None:
        read_fields(self)
        Relation.checked(self.relation)
        if not (self.linf <= self.l1 and self.linf**2 <= self.l2_squared <= self.l1**2):
            raise InvalidParameterError(
                "no vector has these norms: linf <= l2 <= l1 is needed, "
                f"got linf={self.linf}, l2_squared={self.l2_squared}, l1={self.l1}"
            )

    def __repr__(self) -> str:
        return (
            f"Sensitivity(l1={self.l1!r}, l2_squared={self.l2_squared!r}, linf={self.linf!r}, "
            f"relation={self.relation}, coordinates={self.coordinates})"
        )

    @property
    def l2(self) -> float:
        """The l2 norm, rounded up to a float."""
        nearest = math.sqrt(self.l2_squared)
        while Fraction(nearest) ** 2 < self.l2_squared:
            nearest = math.nextafter(nearest, math.inf)
        return nearest

    def __mul__(self, factor: object) -> "Sensitivity":
        """Return the sensitivity of the aggregate times a public rational factor."""
        size = abs(exact_rational("factor", factor))
        return replace(self, l1=self.l1 * size, l2_squared=self.l2_squared * size**2, linf=self.linf * size)

    __rmul__ = __mul__

    def integral(self) -> "Sensitivity":
        """Return the bound for an aggregate of integers, with norms rounded down.

        Valid because l1, linf and the square of l2 of an integer vector are integers.
        """
        l1 = math.floor(self.l1)
        return replace(self, l1=l1, l2_squared=min(math.floor(self.l2_squared), l1**2), linf=math.floor(self.linf))  # type: ignore[arg-type]

    def of_group(self, size: int) -> "Sensitivity":
        """Return the sensitivity of an aggregate of integers to `size` units together.

        Every norm, and the number of coordinates, is multiplied. The norms are rounded down to those of integer vectors
        first: two units with l1 = 1.9 each move by 2, not 3.

        The norms are rounded down to those of integer vectors first: two units with l1 = 1.9 each move by 2, not 3.
        """
        coordinates = None if self.coordinates is None else self.coordinates * size
        return replace(self.integral() * size, coordinates=coordinates)

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON, with rationals as text."""
        norms = {name: quotient_text(getattr(self, name)) for name in ("l1", "l2_squared", "linf")}
        return {**norms, "relation": str(self.relation), "coordinates": self.coordinates}

    @classmethod
    def from_data(cls, data: object) -> "Sensitivity":
        """Return the sensitivity that `to_data` wrote."""
        fields = {"l1", "l2_squared", "linf", "relation", "coordinates"}
        if not isinstance(data, Mapping) or set(data) != fields:
            raise InvalidParameterError(f"a sensitivity needs the fields {sorted(fields)}, got {data!r}")
        try:
            relation = Relation(data["relation"])
        except ValueError:
            raise InvalidParameterError(
                f"relation must be 'add/remove' or 'replace', got {data['relation']!r}"
            ) from None
        return cls(**{**data, "relation": relation})

    def to_json(self) -> str:
        """Return canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Sensitivity":
        """Return the sensitivity that `to_json` wrote."""
        return cls.from_data(read_json(text, "a sensitivity"))


@in_words
def of_count(*, rows: int, groups: int, relation: Relation, cells: int | None = None, ids: int = 1) -> Sensitivity:
    """Return the sensitivity of COUNT(*) or COUNT(column) per cell.

    Args:
        rows: at most this many rows of one unit in one cell.
        groups: at most this many cells hold rows of one unit.
        relation: the neighbouring relation.
        cells: the number of cells of the answer; 1 for a query without GROUP BY, None for "many".
        ids: how many values of the unit column one unit owns, each bounded by `rows` and `groups`.

    Guarantee: add/remove: l1 = groups * rows, linf = rows. Replace: twice the cells, because the old and the new rows
        of the unit may lie in different ones; with a single cell nothing doubles.

    >>> from deniable.privacy import AddRemove
    >>> print(of_count(rows=2, groups=3, relation=AddRemove).l1)
    6
    """
    return of_clipped_sum(lower=0, upper=1, rows=rows, groups=groups, relation=relation, cells=cells, ids=ids)


@in_words
def of_distinct_units(*, groups: int, relation: Relation, cells: int | None = None, ids: int = 1) -> Sensitivity:
    """Return the sensitivity of COUNT(DISTINCT unit) per cell.

    A unit counts once in a cell, however many rows it has there.

    Args:
        groups: at most this many cells hold rows of one unit.
        relation: the neighbouring relation.
        cells: the number of cells of the answer; None for "many".
        ids: how many values of the unit column one unit owns.

    >>> from deniable.privacy import Replace
    >>> print(of_distinct_units(groups=3, relation=Replace).l1)
    6
    """
    return of_count(rows=1, groups=groups, relation=relation, cells=cells, ids=ids)


@in_words
def of_clipped_sum(
    *,
    lower: int | Fraction,
    upper: int | Fraction,
    rows: int,
    groups: int,
    relation: Relation,
    cells: int | None = None,
    ids: int = 1,
) -> Sensitivity:
    """Return the sensitivity of SUM per cell of values clipped to [lower, upper].

    Args:
        lower: the smallest value of one row, in the unit of the aggregate (lattice steps).
        upper: the largest value of one row.
        rows: at most this many rows of one unit in one cell.
        groups: at most this many cells hold rows of one unit.
        relation: the neighbouring relation.
        cells: the number of cells of the answer; 1 for a query without GROUP BY, None for "many".
        ids: how many values of the unit column one unit owns, each bounded by `rows` and `groups`.

    Guarantee: with magnitude = rows * max(|lower|, |upper|) and span = rows * max(|lower|, |upper|, upper - lower), one
        cell changes by at most magnitude when one side has no rows there and by at most span when both have. Add/remove
        changes min(groups, cells) cells by magnitude. Replace changes s shared cells by span and e exclusive ones by
        magnitude, over all s + e <= cells, 2 s + e <= 2 groups; each norm is its maximum over these.

    >>> from deniable.privacy import AddRemove
    >>> print(of_clipped_sum(lower=0, upper=500, rows=2, groups=1, relation=AddRemove).l1)
    1000
    """
    lower = exact_rational("lower", lower)
    upper = exact_rational("upper", upper)
    if lower > upper:
        raise InvalidParameterError(f"lower must be <= upper, got lower={lower}, upper={upper}")
    rows = positive_integer("rows", rows)
    groups = positive_integer("groups", groups)
    ids = positive_integer("ids", ids)
    if cells is not None:
        groups = min(groups, positive_integer("cells", cells))
    Relation.checked(relation)
    # the sum of at most `rows` values lies in [low, high]
    low = min(rows * lower, Fraction(0))
    high = max(rows * upper, Fraction(0))
    magnitude = max(-low, high)
    span = high - low
    changed = groups if relation is Relation.ADD_REMOVE else 2 * groups
    if cells is not None:
        changed = min(changed, cells)
    # layouts: (cells shared by the old and new rows, cells of one of them)
    if relation is Relation.ADD_REMOVE:
        layouts = [(0, groups)]
        linf = magnitude
    else:
        tight = 2 * groups - changed  # cells that must be shared when all groups are used and cells are few
        layouts = [(0, changed), (tight, 2 * (groups - tight)), (groups, 0)]
        linf = span
    norms = {power: max(s * span**power + e * magnitude**power for s, e in layouts) for power in (1, 2)}
    return Sensitivity(
        l1=ids * norms[1],
        l2_squared=ids**2 * norms[2],
        linf=ids * linf,
        relation=relation,
        coordinates=_cells_changed(changed, ids, cells),
    )


@in_words
def of_clamped_unit_sum(
    *,
    lower: int | Fraction,
    upper: int | Fraction,
    groups: int,
    relation: Relation,
    cells: int | None = None,
    ids: int = 1,
) -> Sensitivity:
    """Return the sensitivity of SUM per cell where unit totals are clipped.

    The total of one unit in one cell is clipped to [lower, upper], however many rows it has.

    Args:
        lower: the smallest total of one unit in one cell, in lattice steps.
        upper: the largest total of one unit in one cell.
        groups: at most this many cells hold rows of one unit.
        relation: the neighbouring relation.
        cells: the number of cells of the answer; None for "many".
        ids: how many values of the unit column one unit owns.

    >>> from deniable.privacy import AddRemove
    >>> print(of_clamped_unit_sum(lower=-10, upper=40, groups=2, relation=AddRemove).l1)
    80
    """
    return of_clipped_sum(lower=lower, upper=upper, rows=1, groups=groups, relation=relation, cells=cells, ids=ids)


@in_words
def of_spread_sum(
    *,
    lower: int | Fraction,
    upper: int | Fraction,
    total_rows: int,
    relation: Relation,
    cells: int | None = None,
    ids: int = 1,
) -> Sensitivity:
    """Return the sensitivity of SUM per cell where a unit's rows spread over cells.

    Values are clipped to [lower, upper], and the weights of all rows of one unit add up to at most `total_rows`, in
    whatever cells they lie.

    Args:
        lower: the smallest value of one row, in lattice steps.
        upper: the largest value of one row.
        total_rows: the largest sum of weights of one unit's rows.
        relation: the neighbouring relation.
        cells: the number of cells of the answer; None for "many".
        ids: how many values of the unit column one unit owns.

    Guarantee: the norms of `total_rows` rows in a single cell, which are extreme; any number of cells may change.

    >>> from deniable.privacy import AddRemove
    >>> print(of_spread_sum(lower=0, upper=500, total_rows=3, relation=AddRemove).l2_squared)
    2250000
    """
    extreme = of_clipped_sum(
        lower=lower, upper=upper, rows=total_rows, groups=1, relation=relation, cells=cells, ids=ids
    )
    return replace(extreme, coordinates=cells)


@in_words
def of_weights(*, steps: int, groups: int, relation: Relation, ids: int = 1) -> Sensitivity:
    """Return the sensitivity of sums of weights, shared evenly among a unit's cells.

    A unit with rows in m <= groups cells adds at least 0 and at most steps / sqrt(m) to each of them.

    Args:
        steps: the weight of a unit with one cell, in lattice steps.
        groups: at most this many cells hold rows of one unit.
        relation: the neighbouring relation.
        ids: how many values of the unit column one unit owns.

    Guarantee: l2 = steps and l1 = steps * sqrt(m). Replace: vectors of length `steps` without negative entries are at
        most sqrt(2) * steps apart.

    >>> from deniable.privacy import AddRemove
    >>> print(of_weights(steps=100, groups=4, relation=AddRemove).l2)
    100.0
    """
    steps = positive_integer("steps", steps)
    groups = positive_integer("groups", groups)
    ids = positive_integer("ids", ids)
    sides = 1 if Relation.checked(relation) is Relation.ADD_REMOVE else 2
    return Sensitivity(
        l1=Fraction(ids * sides * (math.isqrt(steps**2 * groups - 1) + 1)),
        l2_squared=Fraction(ids**2 * sides * steps**2),
        linf=Fraction(ids * steps),
        relation=relation,
        coordinates=ids * sides * groups,
    )


@in_words
def of_group_deviations(*, span: int | Fraction, rows: int, relation: Relation) -> Sensitivity:
    """Return the sensitivity of the deviations of group means, or of values from them.

    The aggregate is sum_j n_j |mean_j - mean|, or sum |x - mean of its group|, for values in an interval of length
    `span`.

    Args:
        span: the length of the public interval, in the unit of the aggregate.
        rows: at most this many rows of one unit.
        relation: the neighbouring relation.

    Guarantee: 2 span a row, under either relation, also for a row that changes its group.
    Source: docs/theory/statistics/hypothesis.md.

    >>> from deniable.privacy import Replace
    >>> print(of_group_deviations(span=50, rows=1, relation=Replace).l1)
    100
    """
    moved = 2 * positive_rational("span", span) * positive_integer("rows", rows)
    return Sensitivity(l1=moved, l2_squared=moved**2, linf=moved, relation=relation, coordinates=1)


@in_words
def of_rank_difference(*, size: int, rows: int, relation: Relation) -> Sensitivity:
    """Return the sensitivity of the rank statistic of two samples.

    It is the number of pairs (x, y) with x > y less the number with x < y.

    Args:
        size: at most this many rows in each sample.
        rows: at most this many rows of one unit.
        relation: the neighbouring relation.

    Guarantee: one row that is exchanged within its sample moves `size` terms by at most 2. Adding a row moves it by
        half of that, but may push another row out of a sample that is full: then it is an exchange too.

    >>> from deniable.privacy import AddRemove
    >>> print(of_rank_difference(size=1000, rows=1, relation=AddRemove).l1)
    2000
    """
    moved = Fraction(2 * positive_integer("size", size) * positive_integer("rows", rows))
    return Sensitivity(l1=moved, l2_squared=moved**2, linf=moved, relation=relation, coordinates=1)


def _cells_changed(changed: int, ids: int, cells: int | None) -> int:
    return ids * changed if cells is None else min(ids * changed, cells)

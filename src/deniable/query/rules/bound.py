"""How far one unit moves an aggregate, in steps of a public grid.

Every value is clamped, rounded to the grid and moved by the centre *before* it is summed, so sums are exact integers
and their sensitivity is that of one bounded unit: no rounding, no order of rows and no overflow enters.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, floor

from deniable.noise.lattice import Lattice
from deniable.privacy import Sensitivity, of_clipped_sum, of_count, of_distinct_units
from deniable.query.expression import Kind
from deniable.query.plan import Aggregate, Question

WHOLE = Lattice(exponent=0)


@dataclass(frozen=True, kw_only=True)
class Bounded:
    """An aggregate on its lattice: one value lies in [lower, upper] grid steps after `centre` steps were subtracted."""

    aggregate: Aggregate
    lattice: Lattice
    lower: int
    upper: int
    centre: int
    sensitivity: Sensitivity


def bound(question: Question, aggregate: Aggregate) -> Bounded:
    """The aggregate's lattice and sensitivity, from public facts alone."""
    table = question.table
    lattice, lower, upper, centre = _on_grid(aggregate) if aggregate.function == "sum" else (WHOLE, 0, 1, 0)
    reach: Callable[..., Sensitivity]
    if aggregate.function == "units":
        reach = of_distinct_units
    elif aggregate.function == "count":
        reach = partial(of_count, rows=table.rows)
    else:
        reach = partial(of_clipped_sum, lower=lower, upper=upper, rows=table.rows)
    sensitivity = reach(groups=table.groups, relation=table.relation, cells=question.cells, ids=table.unit.ids)
    return Bounded(
        aggregate=aggregate, lattice=lattice, lower=lower, upper=upper, centre=centre, sensitivity=sensitivity
    )


def _on_grid(aggregate: Aggregate) -> tuple[Lattice, int, int, int]:
    """Lattice, lower, upper and centre of a sum; the range is widened outward to whole grid steps."""
    assert aggregate.argument is not None
    facts = aggregate.argument.facts
    assert facts.lower is not None
    assert facts.upper is not None
    whole = facts.kind is Kind.INTEGER
    lattice = WHOLE if whole else Lattice.for_bounds(facts.lower, facts.upper)
    grid = lattice.grid
    centre = aggregate.centre / grid
    assert centre.denominator == 1
    lower, upper = floor(facts.lower / grid), ceil(facts.upper / grid)
    return lattice, lower - int(centre), upper - int(centre), int(centre)

"""How far one unit moves an aggregate, in steps of a public grid.

Every value is clamped, rounded to the grid and moved by the centre *before* it is summed, so sums are exact integers
and their sensitivity is that of one bounded unit: no rounding, no order of rows and no overflow enters.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import ceil, floor

from deniable.errors import UnsupportedQueryError
from deniable.noise.lattice import Lattice
from deniable.privacy import Sensitivity, of_clipped_sum
from deniable.privacy.sensitivity import of_distinct_units, of_spread_sum
from deniable.query.catalog import Table
from deniable.query.expression import Kind
from deniable.query.plan import Aggregate, BoundedAggregate, Question

WHOLE = Lattice(exponent=0)
SHARES = Lattice(exponent=20)  # of counts and whole numbers where a unit's rows may count as fractions of one


def bound(question: Question, aggregate: Aggregate) -> BoundedAggregate:
    """The aggregate's lattice and sensitivity, from public facts alone."""
    table = question.table
    if aggregate.function == "sum":
        lattice, lower, upper, centre = _on_grid(aggregate, shared=table.unit.column is not None)
    else:
        lattice = SHARES if _is_shared(table, aggregate) else WHOLE
        lower, upper, centre = 0, 2**lattice.exponent, 0
    reach: Callable[..., Sensitivity]
    if table.total_rows is not None:
        if aggregate.function == "units":
            raise UnsupportedQueryError(
                "COUNT(DISTINCT ...) needs to know in how many groups a unit counts. Declare groups, not total_rows."
            )
        reach = partial(of_spread_sum, lower=lower, upper=upper, total_rows=table.total_rows)
    elif aggregate.function == "units":
        reach = partial(of_distinct_units, groups=table.groups)
    else:
        reach = partial(of_clipped_sum, lower=lower, upper=upper, rows=table.rows, groups=table.groups)
    sensitivity = reach(relation=table.relation, cells=question.cells, ids=table.unit.ids)
    return BoundedAggregate(
        aggregate=aggregate, lattice=lattice, lower=lower, upper=upper, centre=centre, sensitivity=sensitivity
    )


def _is_shared(table: Table, aggregate: Aggregate) -> bool:
    """Whether a count adds up fractions of rows. COUNT(*) is whole, unless rows are bounded in all groups together."""
    if table.unit.column is None or aggregate.function == "units":
        return False
    return aggregate.argument is not None or table.total_rows is not None


def _on_grid(aggregate: Aggregate, *, shared: bool) -> tuple[Lattice, int, int, int]:
    """Lattice, lower, upper and centre of a sum; the range is widened outward to whole grid steps.

    Where a unit's rows are `shared` out, they carry weights below 1: whole numbers need a finer grid than the integers.
    """
    assert aggregate.argument is not None
    facts = aggregate.argument.facts
    assert facts.lower is not None
    assert facts.upper is not None
    whole = facts.kind is Kind.INTEGER
    lattice = Lattice.for_bounds(facts.lower, facts.upper, precision=_precision(facts.lower, facts.upper))
    if whole:  # large ones need no finer grid, and noise has room for them
        spare = 52 - max(abs(floor(facts.lower)), abs(ceil(facts.upper))).bit_length()
        lattice = Lattice(exponent=min(SHARES.exponent, max(0, spare))) if shared else WHOLE
    grid = lattice.grid
    centre = aggregate.centre / grid
    assert centre.denominator == 1
    lower, upper = floor(facts.lower / grid), ceil(facts.upper / grid)
    return lattice, lower - int(centre), upper - int(centre), int(centre)


def _precision(lower: Fraction, upper: Fraction) -> int:
    """Binary digits of the larger bound, so that the *width* of the range has about 2^32 steps, if doubles allow."""
    largest, width = max(abs(lower), abs(upper)), upper - lower
    extra = 0 if width == 0 else max(0, ceil(largest / width).bit_length() - 1)
    return min(52, 32 + extra)

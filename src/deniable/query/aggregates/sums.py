"""SUM and AVG: totals of clamped values on a public lattice.

Every value is clamped, rounded to the grid and moved by the centre *before* it is summed, so sums are exact integers
and their sensitivity is that of one bounded unit: no rounding, no order of rows and no overflow enters.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from deniable.errors import UnsupportedQueryError
from deniable.noise.lattice import Lattice
from deniable.numbers.rationals import decimal_text, quotient_text
from deniable.query.aggregates.aggregate import SHARES, WHOLE, Aggregate, BoundedAggregate
from deniable.query.aggregates.counts import count_of, of_total
from deniable.query.catalog import BOUNDS, declaring
from deniable.query.expression import Expression, Kind, literal, text_of
from deniable.query.operators import call
from deniable.query.translation import translate

if TYPE_CHECKING:
    from deniable.query.clauses import ResultScope
    from deniable.query.plan import Question


@dataclass(frozen=True)
class SumAggregate(Aggregate):
    """The total of a bounded value.

    Args:
        centre: subtracted from every value, so that an average needs less noise.
    """

    function: ClassVar[str] = "sum"
    centre: Fraction = Fraction(0)

    @property
    def whole(self) -> bool:
        return self._value.facts.kind is Kind.INTEGER

    @property
    def order_within(self) -> tuple[bool, str]:
        return False, f"{self.centre}{self.function}"

    @property
    def _value(self) -> Expression:
        assert self.argument is not None
        return self.argument

    def bounded(self, question: "Question") -> BoundedAggregate:
        """The range is widened outward to whole grid steps.

        Where a unit's rows are shared out, they carry weights below 1: whole numbers need a finer grid than the
        integers.
        """
        low, high = self._value.facts.ends
        lattice = Lattice.for_bounds(low, high, precision=_precision(low, high))
        if self.whole:  # large ones need no finer grid, and noise has room for them
            spare = 52 - max(abs(floor(low)), abs(ceil(high))).bit_length()
            shared = question.unit is not None
            lattice = Lattice(exponent=min(SHARES.exponent, max(0, spare))) if shared else WHOLE
        grid = lattice.grid
        centre = self.centre / grid
        assert centre.denominator == 1
        lower, upper = floor(low / grid) - int(centre), ceil(high / grid) - int(centre)
        return BoundedAggregate(
            aggregate=self,
            lattice=lattice,
            lower=lower,
            upper=upper,
            centre=int(centre),
            share=2**lattice.exponent if self.whole else 1,
            sensitivity=of_total(question, lower, upper),
        )

    def to_json(self) -> dict[str, object]:
        return {**super().to_json(), "centre": quotient_text(self.centre)}

    def __str__(self) -> str:
        return f"SUM({text_of(self._value)} - {float(self.centre):g})" if self.centre else super().__str__()


def read_sum(node: exp.Expr, where: Expression | None, scope: "ResultScope") -> Expression:
    """Return SUM, from a sum around the middle where COUNT is asked for too.

    Then the middle times the count is added.

    Both ways are exact before the noise. The second has the smaller sensitivity, and the count is paid already.
    """
    value = summand("SUM", node.this, where, scope)
    centre = middle(value) if value in scope.counted else Fraction(0)
    total = scope.base(SumAggregate(value, centre))
    return call("add", total, call("multiply", literal(centre), count_of(value, scope))) if centre else total


def read_average(node: exp.Expr, where: Expression | None, scope: "ResultScope") -> Expression:
    """Return AVG: a noisy sum around the middle over the noisy count.

    The middle is added to it. It is undefined for counts below 1.
    """
    value = summand("AVG", node.this, where, scope)
    return average(value, count_of(value, scope), scope)


def average(value: Expression, count: Expression, scope: "ResultScope") -> Expression:
    """The noisy mean of a bounded value, of which there are `count`."""
    centre = middle(value)
    total = scope.base(SumAggregate(value, centre))
    mean = call("add", call("divide", total, positive(count)), literal(centre))
    return replace(mean, facts=replace(mean.facts, lower=value.facts.lower, upper=value.facts.upper))


def positive(count: Expression) -> Expression:
    """A noisy count to divide by; NULL where it is not above 0."""
    return call("case", call("gt", count, literal(0)), count, literal(None))


def summand(name: str, node: exp.Expr, where: Expression | None, scope: "ResultScope") -> Expression:
    """The bounded number that an aggregate reads, in rows that satisfy its FILTER.

    Raises: UnsupportedQueryError if it is not a number, has no public bounds, or is always the same.
    """
    value = translate(node, scope.rows)
    if not value.facts.kind.is_number:
        cure = {
            Kind.TEXT: "Declare the column as a number (dn.Number(lower=..., upper=..., integer=True)), or CAST it",
            Kind.BOOLEAN: "Count where it holds: COUNTIF(...)",
        }.get(value.facts.kind, "Take a number of it, such as YEAR(...), or count: COUNTIF(... < DATE '2000-01-01')")
        raise UnsupportedQueryError(f"{name} takes numbers, got a value of kind {value.facts.kind.value}. {cure}.")
    if not value.facts.bounded:
        columns = [one for one in node.find_all(exp.Column) if not translate(one, scope.rows).facts.bounded]
        said = node.name if isinstance(node, exp.Column) else "..."
        declare = declaring(columns[0].name, "Number(lower=..., upper=...)", BOUNDS) if columns else ""
        raise UnsupportedQueryError(
            f"{name}({said}) needs public bounds. {f'Declare them: {declare}, or write' if declare else 'Write'} "
            "LEAST(GREATEST(value, low), high)."
        )
    only, last = value.facts.ends
    if only == last and (name != "SUM" or only == 0):
        raise UnsupportedQueryError(
            f"{name} of a value that is always {decimal_text(only)} is the same whatever the rows are. Write the "
            "number itself."
        )
    return scope.kept(where, value)


def middle(value: Expression) -> Fraction:
    """Return about the middle of the public range, on a coarse binary grid.

    Sums around it are half as sensitive.

    The grid is no finer than the lattice of the sum, so the centre lies on both.
    """
    lower, upper = value.facts.ends
    if lower == upper:
        return Fraction(0)  # nothing would be left to add noise to
    grid = Fraction(1)
    finest = max(abs(lower), abs(upper)) / 2**40
    if value.facts.kind is Kind.REAL:
        while grid > (upper - lower) / 1024 and grid > finest:
            grid /= 2
        grid = max(grid, Lattice.for_bounds(lower, upper, precision=_precision(lower, upper)).grid)
    return floor((lower + upper) / 2 / grid) * grid


def _precision(lower: Fraction, upper: Fraction) -> int:
    """Return the binary digits of the larger bound.

    So the *width* of the range has about 2^32 steps, if doubles allow.
    """
    largest = max(abs(lower), abs(upper))
    width = upper - lower
    extra = 0 if width == 0 else max(0, ceil(largest / width).bit_length() - 1)
    return min(52, 32 + extra)

"""COUNT: rows, values and units."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from deniable.errors import UnsupportedQueryError
from deniable.privacy import Sensitivity, of_clipped_sum
from deniable.privacy.sensitivity import of_distinct_units, of_spread_sum
from deniable.query.aggregates.aggregate import SHARES, WHOLE, Aggregate, BoundedAggregate
from deniable.query.aggregates.distinct import Distinct
from deniable.query.allowlist import checked
from deniable.query.expression import Column, Expression, literal, text_of
from deniable.query.operators import call
from deniable.query.translation import condition, translate

if TYPE_CHECKING:
    from deniable.query.clauses import ResultScope
    from deniable.query.plan import Question


@dataclass(frozen=True)
class CountAggregate(Aggregate):
    """The number of rows in which `argument` is not NULL.

    Without an argument, all rows count.
    """

    function: ClassVar[str] = "count"

    def in_fractions(self, question: "Question") -> bool:
        """COUNT(*) is whole, unless rows are bounded in all groups together."""
        total = question.table.total_rows
        return question.unit is not None and (self.argument is not None or total is not None)

    def bounded(self, question: "Question") -> BoundedAggregate:
        lattice = SHARES if self.in_fractions(question) else WHOLE
        return BoundedAggregate(
            aggregate=self,
            lattice=lattice,
            lower=0,
            upper=2**lattice.exponent,
            share=2**lattice.exponent,
            sensitivity=of_total(question, 0, 2**lattice.exponent),
        )


@dataclass(frozen=True)
class Units(Aggregate):
    """The number of units that have a row in which `argument` is not NULL."""

    function: ClassVar[str] = "units"

    def bounded(self, question: "Question") -> BoundedAggregate:
        """Return the count with its sensitivity; each row may be in another group."""
        table = question.table
        sensitivity = of_distinct_units(
            groups=table.most_groups, relation=table.relation, cells=question.cells, ids=table.unit.ids
        )
        return BoundedAggregate(aggregate=self, lattice=WHOLE, lower=0, upper=1, sensitivity=sensitivity)

    def __str__(self) -> str:
        return "COUNT(DISTINCT unit)" if self.argument is None else f"COUNT(DISTINCT unit, {text_of(self.argument)})"


def of_total(question: "Question", lower: int, upper: int) -> Sensitivity:
    """Return how far one unit moves a total of values in [lower, upper]."""
    table = question.table
    if table.total_rows is not None:
        sensitivity_of = partial(of_spread_sum, total_rows=table.total_rows)
    else:
        sensitivity_of = partial(of_clipped_sum, rows=table.rows, groups=table.groups)
    return sensitivity_of(lower=lower, upper=upper, relation=table.relation, cells=question.cells, ids=table.unit.ids)


def count_of(value: Expression, scope: "ResultScope") -> Expression:
    """COUNT(value), which is COUNT(*) where the value is never missing."""
    return scope.base(CountAggregate(value if value.facts.nullable else None))


def read_count(node: exp.Expr, where: Expression | None, scope: "ResultScope") -> Expression:
    """COUNT(*), COUNT(value) or COUNT(DISTINCT value)."""
    match node.this:
        case exp.Star():
            return scope.base(CountAggregate(None if where is None else scope.kept(where, literal(1))))
        case exp.Distinct() as distinct:
            return _distinct(distinct, where, scope)
    return count_of(scope.kept(where, translate(node.this, scope.rows)), scope)


def read_countif(node: exp.Expr, where: Expression | None, scope: "ResultScope") -> Expression:
    """COUNTIF(condition), which is COUNT(*) FILTER (WHERE condition)."""
    counted = condition(node.this, scope.rows, "COUNTIF")
    return scope.base(CountAggregate(scope.kept(counted if where is None else call("and", where, counted), literal(1))))


def _distinct(distinct: exp.Distinct, where: Expression | None, scope: "ResultScope") -> Expression:
    """COUNT(DISTINCT unit), or of another value."""
    rows = scope.rows.source
    columns = checked(distinct).expressions
    if len(columns) != 1:
        raise UnsupportedQueryError("COUNT(DISTINCT ...) takes one value. Join texts with ||.")
    value = translate(columns[0], scope.rows)
    if rows.is_unit(value) or (isinstance(value, Column) and value.name == rows.unit):
        return scope.base(Units(None if where is None else scope.kept(where, literal(1))))
    return scope.base(Distinct(scope.kept(where, value)))

"""Which aggregate a function of SQL asks for."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from deniable.query.aggregates.counts import read_count
from deniable.query.aggregates.order import read_maximum, read_median, read_minimum, read_quantile, read_within
from deniable.query.aggregates.sums import read_average, read_sum
from deniable.query.expression import Expression

if TYPE_CHECKING:
    from deniable.query.clauses import ResultScope

Reader = Callable[[exp.Expr, Expression | None, "ResultScope"], Expression]
# The value of an aggregate over what is released: takes its node, the condition of its FILTER, and the scope.
READERS: Mapping[type[exp.Expr], Reader] = {
    exp.Count: read_count,
    exp.Sum: read_sum,
    exp.Avg: read_average,
    exp.Median: read_median,
    exp.Min: read_minimum,
    exp.Max: read_maximum,
    exp.PercentileCont: read_quantile,
    exp.Quantile: read_quantile,
    exp.WithinGroup: read_within,
}

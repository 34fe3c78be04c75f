"""Readers of SQL's aggregate functions."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from deniable.query.aggregates.counts import read_count, read_countif
from deniable.query.aggregates.mode import read_mode
from deniable.query.aggregates.moments import read_correlation, read_covariance, read_variance
from deniable.query.aggregates.order import read_order, read_quantile, read_within
from deniable.query.aggregates.sums import read_average, read_sum
from deniable.query.expression import Expression

if TYPE_CHECKING:
    from deniable.query.clauses import ResultScope

Reader = Callable[[exp.Expr, Expression | None, "ResultScope"], Expression]
# The value of an aggregate over what is released: takes its node, the condition of its FILTER, and the scope.
READERS: Mapping[type[exp.Expr], Reader] = {
    exp.Avg: read_average,
    exp.Corr: read_correlation,
    exp.Count: read_count,
    exp.CountIf: read_countif,
    exp.CovarPop: partial(read_covariance, sample=False),
    exp.CovarSamp: partial(read_covariance, sample=True),
    exp.Max: partial(read_order, share=Fraction(1)),
    exp.Median: partial(read_order, share=Fraction(1, 2)),
    exp.Min: partial(read_order, share=Fraction(0)),
    exp.Mode: read_mode,
    exp.PercentileCont: read_quantile,
    exp.Quantile: read_quantile,
    exp.Stddev: partial(read_variance, sample=True, root=True),
    exp.StddevPop: partial(read_variance, sample=False, root=True),
    exp.StddevSamp: partial(read_variance, sample=True, root=True),
    exp.Sum: read_sum,
    exp.Variance: partial(read_variance, sample=True),
    exp.VariancePop: partial(read_variance, sample=False),
    exp.WithinGroup: read_within,
}

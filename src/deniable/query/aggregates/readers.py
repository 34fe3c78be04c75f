"""Which aggregate a function of SQL asks for."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from deniable.query.aggregates.counts import read_count
from deniable.query.aggregates.sums import read_average, read_sum
from deniable.query.expression import Expression

if TYPE_CHECKING:
    from deniable.query.clauses import ResultScope

Reader = Callable[[exp.Expr, Expression | None, "ResultScope"], Expression]
# The value of an aggregate over what is released: takes its node, the condition of its FILTER, and the scope.
READERS: Mapping[type[exp.Expr], Reader] = {exp.Count: read_count, exp.Sum: read_sum, exp.Avg: read_average}

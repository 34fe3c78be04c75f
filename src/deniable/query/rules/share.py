"""Rule `share`: how totals share their price.

The expected errors of the columns that they are for decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import Real, positive_rational
from deniable.privacy.deadline import with_checkpoints
from deniable.query.aggregates.aggregate import BoundedAggregate, BoundedPart
from deniable.query.evaluate import evaluate, numbers
from deniable.query.expression import bases_of
from deniable.query.plan import Query
from deniable.query.rules.plan import Plan

_ROWS = 1000.0  # of a group; most errors relative to the answer do not depend on it
_MIN_SHARE_PERCENT = 3  # percent that a total gets at least


def share(plan: Plan) -> Plan:
    """Return the plan with the importance of each total.

    Totals that share equally have none.

    Raises: InvalidParameterError if weights are given where they decide nothing, or name no noisy column.
    """
    searched = plan.queries[0].question.searched
    if plan.weights is not None and len(plan.totals) > 1 and not searched:
        pairs = zip(plan.queries, plan.parts, strict=True)
        every = [each for query, parts in pairs for each in importance(query, parts, plan.weights)]
        return replace(plan, importances=tuple(every))
    if plan.weights:
        raise InvalidParameterError("weights takes several columns of totals in declared groups.")
    return replace(plan, importances=None)


def importance(query: Query, every: Sequence[BoundedPart], weights: Mapping[str, Real]) -> list[float]:
    """Return what each total's variance adds to the weighted squared relative errors.

    To first order, and about a public point: a thousand rows a group, whose values lie at three quarters of their
    range. A total that no column is computed from counts by itself.

    Args:
        every: all parts of the question, of which totals count.
        weights: of columns; 1 by default.

    Raises: InvalidParameterError if they name no noisy column.
    """
    held = {f"base {index}": part for index, part in enumerate(every) if isinstance(part, BoundedAggregate)}
    names, parts = list(held), list(held.values())
    values = np.array([_expected(part, query) for part in parts])
    total = np.zeros(len(parts))
    noisy = [output for output in query.outcome.outputs if any(name in names for name in bases_of(output.expression))]
    unknown = set(weights) - {output.name for output in noisy}
    if unknown:
        listed = ", ".join(output.name for output in noisy)
        raise InvalidParameterError(f"weights names {sorted(unknown)[0]!r}; the columns with a share are {listed}")
    moved = values[:, None] * (1 + 1e-4 * np.concatenate([np.zeros((len(parts), 1)), np.eye(len(parts))], axis=1))
    known = dict(zip(names, moved, strict=True))
    for output in with_checkpoints(noisy):
        moved_values = np.broadcast_to(numbers(evaluate(output.expression, known)), len(parts) + 1)
        relative = (moved_values[1:] - moved_values[0]) / 1e-4  # of one total by as much as it is
        size = max(abs(moved_values[0]), 1e-6 * np.abs(relative).sum())
        weight = float(positive_rational("weight", weights.get(output.name, 1)))
        if np.all(np.isfinite(relative)) and size > 0:
            total += (weight * relative / size / values) ** 2
    return [float(each) for each in np.where(total > 0, total, 1 / values**2)]


def shares(importances: Sequence[float], parts: Sequence[BoundedAggregate], *, gaussian: bool, power: int) -> list[int]:
    """Percents for which the sum of the variances, times their importances, is least.

    A total of sensitivity D has variance proportional to D^2 / share^power: 2 where Laplace noise is paid in epsilon,
    1 where noise is paid in rho. With a = importance D^2, Hölder's inequality gives shares as a^(1 / (power + 1)).
    """
    moved = np.array([(part.sensitivity.l2 if gaussian else float(part.sensitivity.l1)) for part in parts])
    grids = np.array([float(part.lattice.grid) for part in parts])
    wanted = (np.array(importances) * (moved * grids) ** 2) ** (1 / (power + 1))
    return [max(_MIN_SHARE_PERCENT, round(100 * share)) for share in (wanted / wanted.sum()).tolist()]


def _expected(part: BoundedAggregate, query: Query) -> float:
    lower, upper = part.lower, part.upper
    if part.aggregate.function == "count":
        return _ROWS
    if part.aggregate.function != "sum":  # of units or values
        return _ROWS / query.question.table.rows
    value = (lower + upper) / 2 + (upper - lower) / 4
    return float(value or (upper - lower) / 4) * float(part.lattice.grid) * _ROWS

"""Rule `check`: whether the answer can be computed from noisy numbers."""

from deniable.query.answer import check_outcome
from deniable.query.rules.plan import Plan


def check(plan: Plan) -> Plan:
    """Return the plan unchanged, if its result side reads noisy numbers alone.

    HAVING, ORDER BY and the columns are the result side.

    Raises: UnsupportedQueryError if not, or if there are too many groups.
    """
    written = plan.request is not None and plan.request.written
    for query in plan.queries:
        check_outcome(query, written=written)
    return plan

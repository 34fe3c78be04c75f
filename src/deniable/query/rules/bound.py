"""Rule `bound`: how far one unit moves each aggregate."""

from dataclasses import replace

from deniable.privacy.deadline import with_checkpoints
from deniable.query.aggregates.aggregate import BoundedPart
from deniable.query.plan import Query
from deniable.query.rules.plan import Plan


def bound(plan: Plan) -> Plan:
    """Return the plan with the sensitivity of every aggregate.

    Parts that are bounded already stay.

    A workload bounds its parts itself, in groups that its questions share.
    """
    return plan if plan.parts else replace(plan, parts=tuple(map(_bounded, plan.queries)))


def _bounded(query: Query) -> tuple[BoundedPart, ...]:
    question = query.question
    return tuple(aggregate.bounded(question) for aggregate in with_checkpoints(question.aggregates))

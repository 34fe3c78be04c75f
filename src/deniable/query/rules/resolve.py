"""Rule `resolve`: the meaning of the names of the question.

They name declared tables, under the bounds that searches gave.
"""

from dataclasses import replace

from deniable.query.canonical import check_parts
from deniable.query.frames import Ask
from deniable.query.rules.plan import Plan
from deniable.query.sql import parse


def resolve(plan: Plan) -> Plan:
    """Return the plan with its text read over its tables.

    Groups may be searched for where the price has a delta.

    Raises: UnsupportedQueryError if the text is not one SELECT made of listed parts over declared names.
    """
    assert plan.request is not None
    tables = plan.known_tables
    find = bool(plan.cost.delta)
    if isinstance(plan.text, Ask):
        query = plan.text.query(tables, find=find)
    else:
        query = parse(plan.text, tables, plan.look, plan.request.dialect, find=find)
    check_parts(query.question)
    return replace(plan, queries=(query,))

"""Rule `search`: which undeclared bounds and limits are searched for.

The search is private, and comes before the answer.
"""

from collections.abc import Mapping
from dataclasses import replace

from deniable.errors import InvalidParameterError
from deniable.query.auto import searches
from deniable.query.catalog import DeclaredTable
from deniable.query.plan import Query
from deniable.query.rules.plan import Plan
from deniable.query.rules.resolve import resolve


def search(plan: Plan) -> Plan:
    """Return the plan with the searches that it needs, and the rest of the price.

    A search whose answer is in the ledger is free. Nothing is searched here: what is not known yet has placeholders.

    Raises: InvalidParameterError if a price is to be found for bounds that are not declared.
    """
    assert plan.request is not None

    def read(tables: Mapping[str, DeclaredTable]) -> Query:
        return resolve(replace(plan, tables=tables)).queries[0]

    needed, prices = searches(read, plan.tables, plan.cost, plan.recall)
    if needed and plan.request.error is not None:
        raise InvalidParameterError("error= needs declared bounds and rows: how far an answer is off depends on them.")
    due = sum(each.due for each in needed)
    return replace(plan, searches=needed, prices=tuple(prices), price=prices[due])

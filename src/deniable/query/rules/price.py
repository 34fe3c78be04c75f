"""A query with its price: sensitivities, noise, loss. No data is touched."""

from deniable.privacy import Budget
from deniable.query.plan import PricedAggregate, PricedPlan, Query, Request
from deniable.query.rules.bound import bound
from deniable.query.rules.choose import choose


def price(query: Query, request: Request, budget: Budget | None = None) -> PricedPlan:
    """The plan that answers `query` at the request, with the least expected error.

    Args:
        budget: of the ledger that will pay; only mechanisms that it can pay are considered.
    """
    parts = [bound(query.question, aggregate) for aggregate in query.question.aggregates]
    choice = choose(parts, request, budget)
    priced = tuple(
        PricedAggregate(**vars(part), mechanism=mechanism, loss=loss)
        for part, mechanism, loss in zip(parts, choice.mechanisms, choice.losses, strict=True)
    )
    return PricedPlan(query=query, parts=priced, loss=choice.loss, request=request)

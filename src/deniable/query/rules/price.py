"""A query with its price: sensitivities, noise, loss. No data is touched."""

from deniable.errors import UnprovedError
from deniable.mechanisms.price import Price
from deniable.privacy import Budget, compose
from deniable.query.aggregates.aggregate import BoundedAggregate
from deniable.query.plan import PricedPlan, Query


def price(query: Query, price: Price, budget: Budget | None = None) -> PricedPlan:
    """The plan that answers `query` at a price, with the least expected error.

    Args:
        budget: of the ledger that will pay; only noise that it can pay for is considered.

    Raises: UnprovedError if the budget's currency can pay for none.
    """
    parts = [aggregate.bounded(query.question) for aggregate in query.question.aggregates]
    joint = [part for part in parts if isinstance(part, BoundedAggregate)]
    share = price.split(*(1 for _ in parts))[0]
    together = price if len(joint) == len(parts) else price.split(max(1, len(joint)), len(parts) - len(joint))[0]
    for mechanisms in together.choices([part.sensitivity for part in joint]) if joint else [()]:
        noises = iter(mechanisms)
        priced = tuple(
            part.priced(next(noises)) if isinstance(part, BoundedAggregate) else part.priced(share) for part in parts
        )
        loss = price.stated(compose([part.loss for part in priced]))
        if budget is None or budget.pays_for(loss):
            return PricedPlan(query=query, parts=priced, loss=loss, price=price)
    raise UnprovedError(
        f"the budget ({budget}) cannot pay for the noise that was asked for. Ask with epsilon=... alone, or open "
        "the ledger with a budget of rho, or of epsilon and delta."
    )

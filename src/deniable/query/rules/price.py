"""A query with its price: sensitivities, noise, loss. No data is touched."""

from deniable.errors import UnprovedError
from deniable.mechanisms.price import Price
from deniable.privacy import Budget, compose
from deniable.query.plan import PricedPlan, Query


def price(query: Query, price: Price, budget: Budget | None = None) -> PricedPlan:
    """The plan that answers `query` at a price, with the least expected error.

    Args:
        budget: of the ledger that will pay; only noise that it can pay for is considered.

    Raises: UnprovedError if the budget's currency can pay for none.
    """
    parts = [aggregate.bounded(query.question) for aggregate in query.question.aggregates]
    for mechanisms in price.choices([part.sensitivity for part in parts]):
        priced = tuple(part.priced(mechanism) for part, mechanism in zip(parts, mechanisms, strict=True))
        loss = price.stated(compose([part.loss for part in priced]))
        if budget is None or budget.pays_for(loss):
            return PricedPlan(query=query, parts=priced, loss=loss, price=price)
    raise UnprovedError(
        f"the budget ({budget}) cannot pay for the noise that was asked for. Ask with epsilon=... alone, or open "
        "the ledger with a budget of rho, or of epsilon and delta."
    )

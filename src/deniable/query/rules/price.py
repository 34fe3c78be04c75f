"""A query with its price: sensitivities, noise, loss. No data is touched."""

from collections.abc import Iterable

from deniable.errors import UnprovedError
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.privacy import Budget, Sensitivity, compose
from deniable.query.aggregates.aggregate import BoundedAggregate
from deniable.query.keys import KeySearch, key_searches
from deniable.query.plan import PricedPlan, Query


def price(query: Query, price: Price, budget: Budget | None = None) -> PricedPlan:
    """The plan that answers `query` at a price, with the least expected error.

    Args:
        budget: of the ledger that will pay; only noise that it can pay for is considered.

    Raises: UnprovedError if the budget's currency can pay for none.
    """
    parts = [aggregate.bounded(query.question) for aggregate in query.question.aggregates]
    joint = [part for part in parts if isinstance(part, BoundedAggregate)]
    together, share = _shares(price, len(joint) + query.question.searched, len(parts) - len(joint))
    for search, mechanisms in _choices(query, together, [part.sensitivity for part in joint]):
        noises = iter(mechanisms)
        priced = tuple(
            part.priced(next(noises)) if isinstance(part, BoundedAggregate) else part.priced(share) for part in parts
        )
        totals = [part.loss for part in priced if part.aggregate.additive]
        others = [part.loss for part in priced if not part.aggregate.additive]
        loss = price.stated(compose([*(totals if search is None else search.losses(totals)), *others]))
        if budget is None or budget.pays_for(loss):
            return PricedPlan(query=query, parts=priced, loss=loss, price=price, key_search=search)
    raise UnprovedError(
        f"the budget ({budget}) cannot pay for the noise that was asked for. Ask with epsilon=... alone, or open "
        "the ledger with a budget of rho, or of epsilon and delta."
    )


def _shares(price: Price, joint: int, others: int) -> tuple[Price, Price]:
    """The price of all totals together, and of each other part."""
    share = price.split(*(1 for _ in range(joint + others)))[0]
    return (price if not others else price.split(max(1, joint), others)[0]), share


def _choices(
    query: Query, price: Price, sensitivities: list[Sensitivity]
) -> Iterable[tuple[KeySearch | None, tuple[AdditiveNoise, ...]]]:
    """Noise for the totals, and what finds keys that are not declared; the better choice first."""
    if query.question.searched:
        return key_searches(query.question.table, price, sensitivities)
    if not sensitivities:
        return [(None, ())]
    return ((None, noises) for noises in price.choices(sensitivities))

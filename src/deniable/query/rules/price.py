"""A query with its price: sensitivities, noise, loss. No data is touched."""

from collections.abc import Iterable, Mapping

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.numbers.rationals import Real
from deniable.privacy import Budget, compose
from deniable.query.aggregates.aggregate import BoundedAggregate
from deniable.query.keys import KeySearch, key_searches
from deniable.query.plan import PricedPlan, Query
from deniable.query.rules.shares import importance, shares


def price(
    query: Query, price: Price, budget: Budget | None = None, weights: Mapping[str, Real] | None = None
) -> PricedPlan:
    """The plan that answers `query` at a price, with the least expected error.

    Args:
        budget: of the ledger that will pay; only noise that it can pay for is considered.
        weights: of columns: totals share the price by the weighted errors that are expected; None: equally.

    Raises: UnprovedError if the budget's currency can pay for none.
    """
    parts = [aggregate.bounded(query.question) for aggregate in query.question.aggregates]
    joint = [part for part in parts if isinstance(part, BoundedAggregate)]
    together, share = _shares(price, len(joint) + query.question.searched, len(parts) - len(joint))
    important = None
    if weights is not None and len(joint) > 1 and not query.question.searched:
        places = [place for place, part in enumerate(parts) if isinstance(part, BoundedAggregate)]
        important = importance(query, places, joint, weights)
    elif weights:
        raise InvalidParameterError("weights takes several columns of totals in declared groups.")
    for search, mechanisms in _choices(query, together, joint, important):
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
    query: Query, price: Price, totals: list[BoundedAggregate], important: list[float] | None
) -> Iterable[tuple[KeySearch | None, tuple[AdditiveNoise, ...]]]:
    """Noise for the totals, and what finds keys that are not declared; the better choice first."""
    reach = [total.sensitivity for total in totals]
    if query.question.searched:
        return key_searches(query.question.table, price, reach)
    if not totals:
        return [(None, ())]
    if important is None:
        return ((None, noises) for noises in price.choices(reach))
    powers = {(False, 2 if price.rho is None else 1)} | ({(True, 1)} if price.rho or price.delta else set())
    found = [
        noises
        for gaussian, power in sorted(powers)
        for noises in price.choices(reach, shares(important, totals, gaussian=gaussian, power=power))
    ]

    def error(noises: tuple[AdditiveNoise, ...]) -> float:
        spread = (
            noise.law(total.lattice.grid).standard_deviation() for noise, total in zip(noises, totals, strict=True)
        )
        return sum(weight * each**2 for weight, each in zip(important, spread, strict=True))

    return ((None, noises) for noises in sorted(found, key=error))

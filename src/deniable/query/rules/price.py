"""A query with its price: sensitivities, noise, loss. No data is touched."""

from collections.abc import Iterable, Mapping, Sequence

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.numbers.rationals import Real
from deniable.privacy import Budget, PrivacyLoss, compose
from deniable.privacy.deadline import with_checkpoints
from deniable.query.aggregates.aggregate import Bounded, BoundedAggregate
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
    return together([query], price, budget, weights)[0][0]


def together(
    queries: Sequence[Query],
    price: Price,
    budget: Budget | None = None,
    weights: Mapping[str, Real] | None = None,
    *,
    parts: Sequence[Sequence[Bounded]] | None = None,
) -> tuple[list[PricedPlan], PrivacyLoss]:
    """Plans that answer several questions, which cost the price together, and the loss of all of them.

    Args:
        parts: their aggregates, where these are not bounded as each question by itself would bound them.
    """
    if parts is None:
        parts = [
            [aggregate.bounded(each.question) for aggregate in with_checkpoints(each.question.aggregates)]
            for each in queries
        ]
    joint = [part for each in parts for part in each if isinstance(part, BoundedAggregate)]
    first, searched = queries[0], queries[0].question.searched
    whole, share = _shares(price, len(joint) + searched, sum(map(len, parts)) - len(joint))
    important = None
    if weights is not None and len(joint) > 1 and not searched:
        important = [a for query, each in zip(queries, parts, strict=True) for a in importance(query, each, weights)]
    elif weights:
        raise InvalidParameterError("weights takes several columns of totals in declared groups.")
    for search, mechanisms in _choices(first, whole, joint, important):
        noises = iter(mechanisms)
        priced = [
            tuple(
                part.priced(next(noises)) if isinstance(part, BoundedAggregate) else part.priced(share)
                for part in with_checkpoints(each)
            )
            for each in parts
        ]
        losses = [(part.aggregate.additive, part.loss) for each in priced for part in each]
        totals = [loss for additive, loss in losses if additive]
        others = [loss for additive, loss in losses if not additive]
        loss = price.stated(compose([*(totals if search is None else search.losses(totals)), *others]))
        if budget is None or budget.pays_for(loss):
            plans = [
                PricedPlan(query=query, parts=each, loss=loss, price=price, key_search=search)
                for query, each in zip(queries, priced, strict=True)
            ]
            return plans, loss
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

"""Rule `choose`: the noise of least expected error.

Only noise that the price and the budget admit is tried.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from deniable.errors import UnprovedError
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.privacy import PrivacyLoss, compose
from deniable.privacy.deadline import with_checkpoints
from deniable.query.aggregates.aggregate import BoundedAggregate, PricedPart
from deniable.query.keys import KeySearch, Noises, key_searches
from deniable.query.plan import PricedPlan
from deniable.query.rules.plan import Plan
from deniable.query.rules.share import shares

Choice = tuple[KeySearch | None, Noises]  # a search for keys where there is one, and the noise of every total


def choose(plan: Plan) -> Plan:
    """Return the plan with noise for every part.

    The first choice, from the best on, that the budget can pay for.

    Raises: UnprovedError if the budget can pay for none.
    """
    for search, noises in _choices(plan):
        priced = _priced(plan, noises)
        loss = _loss(plan.cost, search, [part for parts in priced for part in parts])
        if plan.budget is None or plan.budget.can_price(loss):
            plans = tuple(
                PricedPlan(query=query, parts=parts, loss=loss, price=plan.cost, key_search=search)
                for query, parts in zip(plan.queries, priced, strict=True)
            )
            return replace(plan, priced=plans, loss=loss)
    raise UnprovedError(
        f"the budget ({plan.budget}) cannot pay for the noise that was asked for. Ask with epsilon=... alone, or open "
        "the ledger with a budget of rho, or of epsilon and delta."
    )


def _choices(plan: Plan) -> Iterable[Choice]:
    """Yield noise for the totals, and the search for undeclared keys.

    The better choice comes first.
    """
    assert plan.totals_price is not None
    sensitivities = [total.sensitivity for total in plan.totals]
    question = plan.queries[0].question
    if question.searched:
        return key_searches(question.table, plan.totals_price, sensitivities)
    if not sensitivities:
        return [(None, ())]
    if plan.importances is None:
        return ((None, noises) for noises in plan.totals_price.choices(sensitivities))
    return ((None, noises) for noises in _weighted(plan.totals_price, plan.totals, plan.importances))


def _weighted(
    price: Price, totals: Sequence[BoundedAggregate], importances: Sequence[float]
) -> Iterator[tuple[AdditiveNoise, ...]]:
    """Yield noise for totals that share a price by their importances.

    That of least expected error comes first.
    """
    sensitivities = [total.sensitivity for total in totals]
    powers = {(False, 2 if price.rho is None else 1)}  # of the share, in the variance of Laplace and Gaussian noise
    if price.rho or price.delta:
        powers.add((True, 1))
    choices = [
        noises
        for gaussian, power in sorted(powers)
        for noises in price.choices(sensitivities, shares(importances, totals, gaussian=gaussian, power=power))
    ]

    def error(noises: tuple[AdditiveNoise, ...]) -> float:
        deviations = (
            noise.law(total.lattice.grid).standard_deviation() for noise, total in zip(noises, totals, strict=True)
        )
        return sum(weight * each**2 for weight, each in zip(importances, deviations, strict=True))

    return iter(sorted(choices, key=error))


def _priced(plan: Plan, noises: Sequence[AdditiveNoise]) -> tuple[tuple[PricedPart, ...], ...]:
    """Return the parts of every question with their noise.

    Parts that are no totals choose their own.
    """
    left = iter(noises)
    return tuple(
        tuple(
            part.priced(next(left)) if isinstance(part, BoundedAggregate) else part.priced(plan.part_price)
            for part in with_checkpoints(parts)
        )
        for parts in plan.parts
    )


def _loss(price: Price, search: KeySearch | None, parts: Sequence[PricedPart]) -> PrivacyLoss:
    """Return the loss of all parts and of the search for keys, stated as the price is."""
    totals = [part.loss for part in parts if part.aggregate.additive]
    others = [part.loss for part in parts if not part.aggregate.additive]
    return price.stated(compose([*(totals if search is None else search.losses(totals)), *others]))

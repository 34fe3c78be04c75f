"""A question with its price: sensitivities, noise, loss. No data is touched."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from deniable.mechanisms.price import Price
from deniable.numbers.rationals import Real
from deniable.privacy import Budget, PrivacyLoss
from deniable.query.aggregates.aggregate import BoundedPart
from deniable.query.plan import PricedPlan, Query
from deniable.query.rules.bound import bound
from deniable.query.rules.choose import choose
from deniable.query.rules.plan import Plan
from deniable.query.rules.share import share
from deniable.query.rules.split import split

Rule = Callable[[Plan], Plan]
PRICING: tuple[Rule, ...] = (bound, split, share, choose)


def applied(rules: Sequence[Rule], plan: Plan) -> Plan:
    """Return a plan after every rule, in order."""
    return reduce(lambda known, rule: rule(known), rules, plan)


def price(
    query: Query, price: Price, budget: Budget | None = None, weights: Mapping[str, Real] | None = None
) -> PricedPlan:
    """Return the plan that answers a question at a price.

    It has the least expected error.

    Args:
        query: the question over declared tables.
        price: the cost of the answer.
        budget: of the ledger that will pay; only noise that it can pay for is considered.
        weights: of columns: totals share the price by the weighted errors that are expected; None: equally.

    Raises: UnprovedError if the budget can pay for no noise.
    """
    return together([query], price, budget, weights)[0][0]


def together(
    queries: Sequence[Query],
    price: Price,
    budget: Budget | None = None,
    weights: Mapping[str, Real] | None = None,
    *,
    parts: Sequence[Sequence[BoundedPart]] | None = None,
) -> tuple[list[PricedPlan], PrivacyLoss]:
    """Return plans of several questions that share a price, and their loss.

    They cost the price together; the loss is that of all of them.

    Args:
        queries: the questions over declared tables.
        price: the cost of all answers.
        budget: of the ledger that will pay; only noise that it can pay for is considered.
        weights: of columns: totals share the price by the weighted errors that are expected; None: equally.
        parts: their aggregates, where these are not bounded as each question by itself would bound them.

    Raises: UnprovedError if the budget can pay for no noise.
    """
    bounded = () if parts is None else tuple(map(tuple, parts))
    start = Plan(queries=tuple(queries), price=price, budget=budget, weights=weights, parts=bounded)
    plan = applied(PRICING, start)
    assert plan.loss is not None
    return list(plan.priced), plan.loss

"""Mechanism of Vickrey, Clarke and Groves, to compare with.

It is exactly truthful, needs payments, and is not private.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain

import numpy as np

from deniable.arguments import in_words
from deniable.errors import InvalidParameterError
from deniable.games.money import amounts
from deniable.numbers.rationals import Real, decimal_text, nonnegative_rational, shown


@dataclass(frozen=True, kw_only=True)
class VcgOutcome:
    """Outcome and payments of a mechanism with Clarke's payments.

    Args:
        outcome: index of the chosen outcome.
        payments: of each player, in money.
        welfare: sum of the reported values of the outcome, less its cost.
        deficit: cost of the outcome, less all payments.
    """

    outcome: int
    payments: tuple[Fraction, ...]
    welfare: Fraction
    deficit: Fraction

    def __repr__(self) -> str:
        payments = ", ".join(map(decimal_text, self.payments))
        return (
            f"<VcgOutcome: outcome {self.outcome}; payments {payments}; welfare {decimal_text(self.welfare)}; "
            f"deficit {decimal_text(self.deficit)}>"
        )


@in_words
def vcg(values: Sequence[Sequence[Real]], *, costs: Sequence[Real] | None = None) -> VcgOutcome:
    """Choose the outcome of the greatest reported welfare, with Clarke's payments.

    Args:
        values: shape (players, outcomes), in money; may be negative.
        costs: of each outcome, public; None for all 0.

    Returns: a `VcgOutcome`; of several best outcomes the first.
    Guarantee: truth is a dominant strategy: own value less payment is the welfare, up to a number that the own report
        does not move. It is not private: payments reveal others' values.
    Source: Vickrey (1961); Clarke (1971); Groves (1973).
    Raises: InvalidParameterError for no player, no outcome, or rows of different lengths.

    >>> from deniable.games import vcg
    >>> vcg([[0, 30], [0, 25], [0, -10]], costs=[0, 40])  # build for 40: the first two are pivotal
    <VcgOutcome: outcome 1; payments 25, 20, 0; welfare 5; deficit -5>
    """
    table = [row if isinstance(row, list | tuple) else amounts("values", row, negative=True) for row in values]
    said = amounts("values", chain.from_iterable(table), negative=True)
    if not table or not table[0] or len({len(row) for row in table}) > 1:
        raise InvalidParameterError(
            f"values must be a table with a row for each player and a column for each outcome, got {shown(values)}"
        )
    public = amounts("costs", costs if costs is not None else [0] * len(table[0]), negative=True)
    if len(public) != len(table[0]):
        raise InvalidParameterError(
            f"costs must hold one amount for each of {len(table[0])} outcomes, got {len(public)}"
        )
    listed = [*public, *said]
    known = dict.fromkeys(listed)
    parts = math.lcm(*(one.denominator for one in known))  # of one unit of money
    whole = {one: int(one * parts) for one in known}
    exact = np.array([whole[one] for one in listed], dtype=object).reshape(-1, len(public))  # costs, then players
    total = exact[1:].sum(axis=0) - exact[0]
    chosen = total.tolist().index(total.max())
    rests = total - exact[1:]
    due = (rests.max(axis=1) - rests[:, chosen]).tolist()
    amount = {one: Fraction(one, parts) for one in dict.fromkeys(due)}
    return VcgOutcome(
        outcome=chosen,
        payments=tuple(amount[one] for one in due),
        welfare=Fraction(total[chosen], parts),
        deficit=Fraction(exact[0, chosen] - sum(due), parts),
    )


@in_words
def second_price(bids: Sequence[Real]) -> VcgOutcome:
    """Sell one item to the highest bidder at the second bid (Vickrey's auction).

    Args:
        bids: one for each player, in money, at least 0. A single bidder pays nothing.

    Returns: a `VcgOutcome`; of several highest bids the first wins.
    Raises: InvalidParameterError for no bid or a negative one.

    >>> from deniable.games import second_price
    >>> second_price([3, "7.5", 5])
    <VcgOutcome: outcome 1; payments 0, 5, 0; welfare 7.5; deficit -5>
    """
    said = amounts("bids", bids)
    if not said:
        raise InvalidParameterError("bids must hold the bid of at least one bidder, got an empty list")
    best, *others = sorted(set(said), reverse=True)
    winner = said.index(best)
    pays = best if said.count(best) > 1 else next(iter(others), Fraction(0))
    payments = [Fraction(0)] * len(said)
    payments[winner] = pays
    return VcgOutcome(outcome=winner, payments=tuple(payments), welfare=best, deficit=-pays)


@in_words
def public_project(values: Sequence[Real], *, cost: Real) -> VcgOutcome:
    """Decide whether to build a project, with Clarke's payments.

    Args:
        values: of the project to each player, in money; may be negative.
        cost: of the project, in money, at least 0.

    Returns: a `VcgOutcome` with outcome 1 if the values reach the cost, else 0. Payments may leave a `deficit`.

    >>> from deniable.games import public_project
    >>> public_project([30, 25, 10], cost=60)
    <VcgOutcome: outcome 1; payments 25, 20, 5; welfare 5; deficit 10>
    """
    price = nonnegative_rational("cost", cost)
    decided = vcg([(own, 0) for own in amounts("values", values, negative=True)], costs=[price, 0])
    return replace(decided, outcome=1 - decided.outcome)

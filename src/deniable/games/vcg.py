"""The classical mechanism to compare with: Vickrey, Clarke, Groves. Exactly truthful, needs payments, not private."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain

import numpy as np

from deniable.arguments import in_words
from deniable.errors import InvalidParameterError
from deniable.games.money import amounts
from deniable.numbers.rationals import Real, nonnegative_rational, shown


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What VCG chooses, by place; what each player pays; the welfare less the cost; cost less payments."""

    outcome: int
    payments: tuple[Fraction, ...]
    welfare: Fraction
    deficit: Fraction


@in_words
def vcg(values: Sequence[Sequence[Real]], *, costs: Sequence[Real] | None = None) -> Chosen:
    """The outcome of the greatest reported welfare, with Clarke's payments; the first of several.

    Args:
        values: shape (players, outcomes), in money; may be negative.
        costs: of each outcome, public; None for all 0.

    Guarantee: truth is a dominant strategy: own value less payment is the welfare, up to a number that the own report
        does not move. It is not private: payments reveal others' values.
    Source: Vickrey (1961); Clarke (1971); Groves (1973).
    Raises: InvalidParameterError for no player, no outcome, or rows of different lengths.

    >>> from deniable.games import vcg
    >>> vcg([[0, 30], [0, 25], [0, -10]], costs=[0, 40]).payments  # build for 40: the first two are pivotal
    (Fraction(25, 1), Fraction(20, 1), Fraction(0, 1))
    """
    table = [row if isinstance(row, list | tuple) else amounts("values", row, negative=True) for row in values]
    said = amounts("values", chain.from_iterable(table), negative=True)
    if not table or not table[0] or len({len(row) for row in table}) > 1:
        raise InvalidParameterError(f"values must be a table, a row a player, a column an outcome: {shown(values)}")
    public = amounts("costs", costs if costs is not None else [0] * len(table[0]), negative=True)
    if len(public) != len(table[0]):
        raise InvalidParameterError(f"costs must be one for each of {len(table[0])} outcomes, got {len(public)}")
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
    return Chosen(
        outcome=chosen,
        payments=tuple(amount[one] for one in due),
        welfare=Fraction(total[chosen], parts),
        deficit=Fraction(exact[0, chosen] - sum(due), parts),
    )


@in_words
def second_price(bids: Sequence[Real]) -> Chosen:
    """Vickrey's auction of one item: the highest bid wins, the first of several, and pays the second.

    Args:
        bids: one a player, in money, at least 0. One bidder pays nothing.

    Raises: InvalidParameterError for no bid or a negative one.

    >>> from deniable.games import second_price
    >>> second_price([3, "7.5", 5]).payments
    (Fraction(0, 1), Fraction(5, 1), Fraction(0, 1))
    """
    said = amounts("bids", bids)
    if not said:
        raise InvalidParameterError("bids must be those of at least one bidder, got an empty list")
    best, *others = sorted(set(said), reverse=True)
    winner = said.index(best)
    pays = best if said.count(best) > 1 else next(iter(others), Fraction(0))
    payments = [Fraction(0)] * len(said)
    payments[winner] = pays
    return Chosen(outcome=winner, payments=tuple(payments), welfare=best, deficit=-pays)


@in_words
def public_project(values: Sequence[Real], *, cost: Real) -> Chosen:
    """Build (outcome 1) if the values reach the cost, with Clarke's payments, which may not cover it: see `deficit`.

    Args:
        values: what the project is worth to each player, in money; may be negative.
        cost: what it costs, at least 0.

    >>> from deniable.games import public_project
    >>> found = public_project([30, 25, 10], cost=60)
    >>> found.outcome, found.payments, found.deficit
    (1, (Fraction(25, 1), Fraction(20, 1), Fraction(5, 1)), Fraction(10, 1))
    """
    price = nonnegative_rational("cost", cost)
    found = vcg([(own, 0) for own in amounts("values", values, negative=True)], costs=[price, 0])
    return replace(found, outcome=1 - found.outcome)

"""Vickrey, Clarke, Groves: by brute force over lies in test_finite.py; here payments, ties and bad input."""

from fractions import Fraction
from itertools import product

import pytest

from deniable.errors import InvalidParameterError
from deniable.games import public_project, second_price, vcg


def test_one_item_is_vcg_with_an_outcome_a_winner() -> None:
    for bids in product(range(4), repeat=3):
        one = second_price(bids)
        other = vcg([[bid if i == j else 0 for j in range(3)] for i, bid in enumerate(bids)])
        assert (one.outcome, one.payments, one.welfare) == (other.outcome, other.payments, other.welfare)


def test_ties_go_to_the_first_and_the_winner_gains_nothing() -> None:
    found = second_price([5, "7.5", Fraction(15, 2)])
    assert (found.outcome, found.payments, found.deficit) == (1, (0, Fraction(15, 2), 0), Fraction(-15, 2))


def test_one_bidder_pays_nothing() -> None:
    assert second_price([5]).payments == (0,)


def test_no_player_pays_more_than_the_gain() -> None:
    for values in product(range(-1, 4), repeat=3):
        found = public_project(values, cost=4)
        assert found.outcome == (sum(values) >= 4)
        assert all(
            pay >= 0 and own * found.outcome - pay >= min(own, 0)
            for own, pay in zip(values, found.payments, strict=True)
        )
        assert found.deficit == 4 * found.outcome - sum(found.payments)


def test_copies_without_end_earn_nothing() -> None:
    """With enough copies for all, nobody is in anybody's way: the digital good is given away."""
    everybody = vcg([[0, 30], [0, 20], [0, 10]])
    assert (everybody.outcome, sum(everybody.payments)) == (1, 0)


@pytest.mark.parametrize("values", [[], [[]], [[1], [1, 2]], [["x"]], [3]], ids=str)
def test_tables_that_are_none_are_refused(values: object) -> None:
    with pytest.raises(InvalidParameterError, match="values"):
        vcg(values)  # type: ignore[arg-type]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="costs"):
        vcg([[1, 2]], costs=[1])
    with pytest.raises(InvalidParameterError, match="bids must be >= 0"):
        second_price([1, -1])
    with pytest.raises(InvalidParameterError, match="at least one bidder"):
        second_price([])
    with pytest.raises(InvalidParameterError, match="cost"):
        public_project([1], cost=-1)

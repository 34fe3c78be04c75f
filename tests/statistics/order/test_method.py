from fractions import Fraction

import numpy as np
import pytest

from deniable.mechanisms.price import Price
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace, compose
from deniable.statistics.order.joint import Joint
from deniable.statistics.order.measure import Measure
from deniable.statistics.order.method import Method
from deniable.statistics.order.rows import Rows
from deniable.statistics.order.slices import Slices
from deniable.statistics.order.tree import Recursion

METHODS: list[type[Method]] = [Recursion, Joint, Slices]
QUARTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
PRICES = [Price(epsilon=Fraction(3)), Price(rho=Fraction(1, 2)), Price(epsilon=Fraction(1), delta=Fraction(1, 10**6))]


def made(kind: type[Method], relation: Relation = AddRemove, price: Price = PRICES[0], rows: int = 1) -> Method:
    return kind(shares=QUARTILES, price=price, relation=relation, rows=rows)


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("price", PRICES)
def test_all_draws_cost_the_price_at_most(kind: type[Method], relation: Relation, price: Price) -> None:
    whole = compose(made(kind, relation, price).losses)
    assert whole.relations == {relation}
    if price.rho is not None:
        assert whole.charge().rho <= price.rho
    else:
        assert whole.epsilon(delta=float(price.delta)).upper <= float(price.epsilon or 0) + 1e-9


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("size", [0, 1, 3000])
def test_answers_are_codes_in_order_with_their_ranks(kind: type[Method], size: int) -> None:
    rows = np.sort(np.random.default_rng(1).integers(0, 10**6, size))
    codes, ranks = made(kind).draw(Rows(rows), 10**6, measure=Measure(), bits=DeterministicBits(1))
    assert codes.shape == ranks.shape == (3,)
    assert np.all(np.diff(codes) >= 0)
    assert np.array_equal(ranks, np.searchsorted(rows, codes))
    if size > 1000:
        assert np.abs(ranks - size * np.array([0.25, 0.5, 0.75])).max() < 100


@pytest.mark.parametrize("kind", METHODS)
def test_errors_grow_with_the_rows_of_a_unit_and_are_known_for_any_number_of_rows(kind: type[Method]) -> None:
    one, four = (made(kind, rows=rows) for rows in (1, 4))
    assert np.all(four.rank_errors(10**6) > 3 * one.rank_errors(10**6))
    assert np.all(one.rank_errors(5) <= 5)
    assert one.is_quick
    assert one.is_steady(10**6)


def test_names_are_different_words() -> None:
    assert [kind.name for kind in METHODS] == ["recursion", "joint", "slices"]

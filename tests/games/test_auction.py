"""Private prices: the claim on all neighbours of small sales, lies by brute force, revenue and its bounds."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable import datasets
from deniable.errors import BudgetExceededError, InvalidParameterError, UnprovedError
from deniable.games import DigitalGoods
from deniable.ledger import Ledger
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Budget, PrivacyUnit, Relation, Replace

PRICES, FOUR = [1, 2, 4], [1, 3, 4, 7]
SMALL = DigitalGoods(prices=PRICES, epsilon=1)


def law(bids: list[float], prices: list[float], rate: float) -> np.ndarray:
    """The same law by floats: a second route."""
    earned = np.array([price * sum(bid >= price for bid in bids) for price in prices])
    weights = np.exp(rate * (earned - earned.max()))
    return np.asarray(weights / weights.sum())


def spread_of_losses(rate: float, bids: list[float], others: list[float]) -> float:
    losses = np.log(law(bids, PRICES, rate)) - np.log(law(others, PRICES, rate))
    return float(max(np.ptp(losses), np.abs(losses).max()))


def test_the_losses_of_all_neighbours_lie_in_an_interval_of_length_epsilon() -> None:
    """Replace and add/remove; the usual exponent would be half of this one, and twice this one is too much."""
    pairs = [
        ([*rest, a], [*rest, b]) for rest in product([0, 1, 2, 4], repeat=2) for a, b in product([0, 1, 2, 4], repeat=2)
    ]
    pairs += [([*rest, a], list(rest)) for rest in product([0, 1, 2, 4], repeat=2) for a in (1, 2, 4)]
    rate = float(SMALL.mechanism.rate)
    assert max(spread_of_losses(rate, *pair) for pair in pairs) == pytest.approx(1)
    assert max(spread_of_losses(2 * rate, *pair) for pair in pairs) > 1.9


def mean_utility(bids: list[float], value: float, reach: float) -> float:
    """Of a bidder with this value who buys at prices up to `reach`."""
    chances = zip(law(bids, FOUR, 2 / 7), FOUR, strict=True)
    return float(sum(mass * (value - price) for mass, price in chances if reach >= price))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("binding", [True, False])
def test_the_best_lie_is_that_of_brute_force(seed: int, binding: bool) -> None:
    drawn = np.random.default_rng(seed)
    values = (drawn.integers(0, 40, size=5) / 4).tolist()
    sale = DigitalGoods(prices=FOUR, epsilon=2)
    best = 0.0
    for i, value in enumerate(values):
        for lie in (0, *FOUR):
            bids = [*values[:i], lie, *values[i + 1 :]]
            reach = lie if binding else min(lie, value)  # a price above the own bid is out of reach
            best = max(best, mean_utility(bids, value, reach) - mean_utility(values, value, value))
    found = sale.best_lie([str(value) for value in values], binding=binding)
    assert found.gain.lower <= best + 1e-12
    assert found.gain.upper == pytest.approx(best, abs=1e-12)
    assert found.gain.width < 1e-12
    assert 0 < found.gain.upper <= sale.gain_bound()


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_the_bound_on_lies_is_attained(epsilon: str) -> None:
    sale = DigitalGoods(prices=[1, 20], epsilon=epsilon)
    found = sale.best_lie([20, *[1] * 9])
    assert (found.player, found.truth, found.report) == (0, 20, 1)
    assert found.gain.upper == pytest.approx(sale.gain_bound(), rel=1e-9)
    assert sale.gain_bound() == pytest.approx(19 * math.tanh(float(epsilon) / 4))
    assert sale.gain_bound(liars=2) > sale.gain_bound()


def test_ten_bidders_with_twenty_prices_are_searched_and_one_alone_may_lie_too() -> None:
    sale = DigitalGoods(prices=range(1, 21), epsilon=1)
    alone = sale.best_lie([20])
    assert 0 < alone.gain.lower <= alone.gain.upper < sale.gain_bound()
    assert alone.report < 20  # with no other bidder the own bid decides most
    assert sale.best_lie([0, 0]).gain.upper == 0
    with pytest.raises(InvalidParameterError, match="at least one bidder"):
        sale.best_lie([])
    with pytest.raises(InvalidParameterError, match="values must be >= 0"):
        sale.best_lie([3, -1])


def test_probabilities_and_revenues_are_exact() -> None:
    sale = DigitalGoods(prices=["0.5", "1.25", 2], epsilon=1)
    bids = ["1.25", "1.24", 3]
    assert sale.revenues(bids) == {Fraction(1, 2): Fraction(3, 2), Fraction(5, 4): Fraction(5, 2), 2: 2}
    assert sale.revenues([1, 1, "3.01"]) == {Fraction(1, 2): Fraction(3, 2), Fraction(5, 4): Fraction(5, 4), 2: 2}
    expected = law([1.25, 1.24, 3], [0.5, 1.25, 2], 0.5)
    assert [one.upper for one in sale.probabilities(bids).values()] == pytest.approx(expected)
    mean = sale.expected_revenue(bids)
    assert mean.width < 1e-8
    assert mean.upper == pytest.approx(float(expected @ [1.5, 2.5, 2]))


@pytest.mark.parametrize("failure", ["0.5", "0.05", "0.001"])
def test_revenue_keeps_its_bounds_and_comes_within_a_factor_of_two(failure: str) -> None:
    """OPT at the price 100 and the prices above it a little behind: exact laws of 4,000 sales."""
    prices = list(range(100, 120))
    sale = DigitalGoods(prices=prices, epsilon=1)
    gap, mean_gap, allowed = sale.revenue_gap(failure=failure), sale.expected_gap(), float(failure)
    nearest, mean_nearest = 0.0, 0.0
    for all_of_them, top in product(range(1, 80), range(50)):
        earned = np.array([100 * (all_of_them + top), *(price * top for price in prices[1:])])
        chances = np.exp((earned - earned.max()) / 119.0)
        chances /= chances.sum()
        behind = earned.max() - earned
        assert chances[behind > gap].sum() <= allowed
        assert chances @ behind <= mean_gap
        nearest = max([nearest, *behind[[chances[behind >= one].sum() > allowed for one in behind]]])
        mean_nearest = max(mean_nearest, chances @ behind)
    assert nearest > gap / 2
    assert mean_nearest > mean_gap / 2


def test_the_bound_of_the_first_paper_holds_on_fine_grids() -> None:
    """E R >= OPT - 3 ln(e + epsilon^2 OPT m) / epsilon for bids in [0, 1] and densities e^(epsilon R)."""
    drawn = np.random.default_rng(7)
    grid = np.arange(1, 2001) / 2000
    for count, epsilon in product((5, 50, 500), (0.1, 1.0, 5.0)):
        bids = np.sort(drawn.random(count) ** drawn.integers(1, 4))
        sold = count - np.searchsorted(bids, grid, side="left")
        earned = grid * sold
        weights = np.exp(epsilon * (earned - earned.max()))
        best = (bids * np.arange(count, 0, -1)).max()
        items = np.arange(count, 0, -1)[(bids * np.arange(count, 0, -1)).argmax()]
        mean = weights @ earned / weights.sum()
        assert mean >= best - 3 * math.log(math.e + epsilon**2 * best * items) / epsilon


def test_a_sale_draws_from_the_law_that_it_states() -> None:
    """2,000 sales; 3 cells; a chi-square beyond 20 has probability below 1e-4, and the seed is fixed."""
    bids, runs, bits = [4, 4, 4, 4], 2000, DeterministicBits(5)
    drawn = Counter(int(SMALL.release(bids, bits=bits)["price"][0]) for _ in range(runs))
    chances = {int(price): float(mass.upper) for price, mass in SMALL.probabilities(bids).items()}
    assert sum((drawn[p] - runs * c) ** 2 / (runs * c) for p, c in chances.items()) < 20
    assert sum((drawn[p] - runs / 3) ** 2 / (runs / 3) for p in chances) > 20  # the twin: a wrong law is noticed


@pytest.mark.parametrize("relation", [Replace, AddRemove])
def test_a_sale_is_paid_before_a_bid_is_read(relation: Relation) -> None:
    ledger = Ledger.open(None, budget=Budget(epsilon=1), relation=relation, unit=PrivacyUnit(), dataset="bids")
    sale = DigitalGoods(prices=range(1, 41), epsilon="0.9", count_epsilon="0.1" if relation is Replace else None)
    bids = datasets.bids()["bid"]
    found = sale.release(bids, ledger=ledger, bits=DeterministicBits(1))
    price = found["price"][0]
    assert "by a false bid" in str(found)
    assert "<table" in found._repr_html_()
    if relation is Replace:
        assert ledger.spent().epsilon == 1
        assert found.columns == ("price", "revenue", "buyers")
        assert found["revenue"][0] == price * found["buyers"][0]
        assert abs(float(sale.revenues(bids)[Fraction(price)]) - found["revenue"][0]) < 10 * price * 10
    else:
        with pytest.raises(UnprovedError):
            DigitalGoods(prices=[1], epsilon="0.1", count_epsilon="0.1").release(_Unread(), ledger=ledger)  # type: ignore[arg-type]
    with pytest.raises(BudgetExceededError):
        replace(sale, epsilon=Fraction(2)).release(_Unread(), ledger=ledger)  # type: ignore[arg-type]


class _Unread:
    """Bids that nobody may look at."""

    def __getattribute__(self, name: str) -> object:
        raise AssertionError(name)


def test_spoilt_and_negative_bids_buy_nothing_and_nobody_hears_of_them() -> None:
    fine = SMALL.revenues([1, 2, 4, 0, 0, 0])
    assert fine == SMALL.revenues([1, "2.5", 4, -7, float("nan"), None])
    assert SMALL.release([], bits=DeterministicBits(1)).columns == ("price",)  # no bidder: any price, no error


def test_a_release_is_drawn() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    sale = DigitalGoods(prices=range(1, 11), epsilon=1, count_epsilon=1)
    assert sale.release([3, 4, 9], bits=DeterministicBits(1)).plot("revenue").get_ylabel() == "revenue"


@pytest.mark.parametrize("given", [{"epsilon": 0}, {"epsilon": "x"}, {"prices": []}, {"count_epsilon": -1}], ids=str)
def test_parameters_that_do_not_fit_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        DigitalGoods(**{"prices": [1, 2], "epsilon": 1} | given)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="Ledger"):
        SMALL.release([1], ledger=3)  # type: ignore[arg-type]

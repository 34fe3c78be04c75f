from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import PermuteAndFlip
from deniable.mechanisms.selection.revenues import of_revenues, revenues
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace


def test_the_sensitivity_is_the_largest_price() -> None:
    """E17: over all tables of up to three buyers, under both relations; one who pays the top price attains it."""
    prices = [2, 3, 7]
    bids = range(9)
    moved = [
        revenues([*rest, bid], prices) - revenues(rest, prices)
        for count in range(3)
        for rest in product(bids, repeat=count)
        for bid in bids
    ]
    reach = of_revenues(prices, relation=AddRemove)
    assert max(np.abs(move).max() for move in moved) == reach.linf == 7
    assert max(np.abs(move).sum() for move in moved) == reach.l1 == 12
    assert max((move**2).sum() for move in moved) == reach.l2_squared == 62
    assert all((move >= 0).all() for move in moved)  # monotone
    exchanged = [
        revenues([*rest, a], prices) - revenues([*rest, b], prices)
        for rest in product(bids, repeat=1)
        for a in bids
        for b in bids
    ]
    other = of_revenues(prices, relation=Replace)
    assert max(np.abs(move).max() for move in exchanged) == other.linf == 7
    assert max(np.abs(move).sum() for move in exchanged) == other.l1 == 12


def test_a_noisy_price_earns_nothing_where_a_noisy_revenue_does() -> None:
    """Ten buyers pay 7.00 and no more: a price of 7 plus noise fails half the time, whatever the noise."""
    bids, prices = [700] * 10, list(range(100, 1001, 25))
    scores = revenues(bids, prices)
    assert int(scores.max()) == 7000 == int(scores[prices.index(700)])
    assert (scores[prices.index(725) :] == 0).all()
    noisy_price = np.array([699, 701])  # the best price and the least noise, in either direction
    assert revenues(bids, noisy_price).tolist() == [6990, 0]
    reach = of_revenues(prices, relation=AddRemove)
    mechanism = PermuteAndFlip.calibrated(reach, epsilon=3, monotone=True)
    earned = scores[mechanism.outcomes(tuple(scores.tolist()), 20_000, bits=DeterministicBits(1))]
    assert earned.mean() > 7000 - mechanism.expected_gap(len(prices))
    assert earned.mean() > 5500
    assert (earned < 7000 - mechanism.gap_bound(len(prices), failure="0.05")).mean() < 0.05


def test_no_buyers_pay_nothing() -> None:
    assert revenues([], [1, 2]).tolist() == [0, 0]
    assert revenues(np.array([3, 1], dtype=np.uint8), [1, 2]).tolist() == [2, 2]


@pytest.mark.parametrize("prices", [[], [0, 1], [1.5], [[1]], [2**32]])
def test_wrong_prices_are_refused(prices: list[int]) -> None:
    for call in (lambda: revenues([1], prices), lambda: of_revenues(prices, relation=AddRemove)):
        with pytest.raises(InvalidParameterError, match="prices must be a list of integers"):
            call()


@pytest.mark.parametrize("bids", [3, np.array([[1]]), np.array(["a"])])
def test_wrong_bids_are_refused(bids: object) -> None:
    with pytest.raises(InvalidParameterError, match="bids must"):
        revenues(bids, [1])  # type: ignore[arg-type]


def test_the_scale_for_monotone_scores_is_taken() -> None:
    assert PermuteAndFlip.calibrated(of_revenues([5], relation=AddRemove), epsilon=1, monotone=True).rate == Fraction(
        1, 5
    )

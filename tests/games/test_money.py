"""Money is exact: no rounding puts a bid on the wrong side of a price."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.games.money import amounts, as_written, price_list, steps, unit_of
from deniable.numbers.rationals import exact_rational

PRICES = price_list("prices", ["0.7", "1.1", Fraction(1, 3), 2])
UNIT = unit_of(PRICES)
TOP = int(PRICES[-1] / UNIT)


def test_the_unit_divides_every_price() -> None:
    assert Fraction(1, 30) == UNIT
    assert all((price / UNIT).denominator == 1 for price in PRICES)


@given(st.fractions(min_value=0, max_value=3, max_denominator=1000) | st.sampled_from([*PRICES, 0.7, 1.1, "0.7"]))
def test_a_bid_reaches_exactly_the_prices_that_it_is_at_least(bid: Fraction | float | str) -> None:
    (found,) = steps([bid], unit=UNIT, top=TOP)
    exact = Fraction(str(bid))
    assert [found >= price / UNIT for price in PRICES] == [exact >= price for price in PRICES]


def test_floats_would_put_a_bid_on_the_wrong_side() -> None:
    assert 0.7 // 0.1 == 6  # what a division of floats says of a bid of 0.7 and a unit of 0.1
    assert steps([0.7], unit=Fraction(1, 10), top=100).tolist() == [7]


@pytest.mark.parametrize(
    ("bids", "found"),
    [
        (np.array([3, -1, 99], dtype=np.int8), [6, 0, 8]),
        (np.array([2**64 - 1, 0], dtype=np.uint64), [8, 0]),
        (np.array([1.75, np.nan, np.inf, -np.inf]), [3, 0, 8, 0]),
        ([None, "x", "1.5", Decimal("2.4"), True, object(), b"1", 10**400], [0, 0, 3, 4, 0, 0, 0, 8]),
        (pa.array([Decimal("1.50"), None]), [3, 0]),
        (pa.array([1, None, 3]), [2, 0, 6]),
    ],
    ids=["int8", "uint64", "floats", "entries", "decimals", "missing"],
)  # fmt: skip
def test_every_bid_is_read_alone(bids: object, found: list[int]) -> None:
    assert steps(bids, unit=Fraction(1, 2), top=8).tolist() == found  # type: ignore[arg-type]


STEPS = (1, Fraction(1, 10), Fraction(1, 3), Fraction(5, 7), Fraction(10**320), Fraction(1, 10**320))
AT_STEPS = np.concatenate([np.arange(99) * float(step) for step in STEPS[:4]])
NEAR = np.concatenate([AT_STEPS, np.nextafter(AT_STEPS, -np.inf), np.nextafter(AT_STEPS, np.inf), [5e-324, 1e308, 0.7]])
MIXED = [*NEAR.tolist(), *[None, True, "3", " 1/3 ", "x", b"3", [2], Fraction(7, 3), Fraction(-1, 2), 10**400, -3, 8]]
MIXED += [*map(Decimal, ("7.25", "NaN", "sNaN", "-2", "1E+2000")), np.float32(3.3), np.int8(5), np.uint64(2**63 + 1)]


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_bids_are_rounded_together_as_each_is_alone(step: Fraction) -> None:
    """The slow route: the exact rational of one bid over the unit, rounded down."""

    def alone(bid: object) -> int:
        try:
            return min(max(math.floor(exact_rational("bid", bid) / step), 0), 30)
        except (InvalidParameterError, ValueError):
            return 0

    expected = [alone(bid) for bid in NEAR.tolist()]
    assert steps(NEAR, unit=Fraction(step), top=30).tolist() == expected
    assert steps(MIXED, unit=Fraction(step), top=30).tolist() == [alone(bid) for bid in MIXED]  # type: ignore[arg-type]
    if step == Fraction(1, 10):  # the twin: the division of floats decides wrongly at the steps
        assert np.clip(AT_STEPS // 0.1, 0, 30).tolist() != expected[: len(AT_STEPS)]


@pytest.mark.parametrize("prices", [[], [0], [-1], [1, "1.0"], "1", 5, ["1e-9", 9], [None], [float("nan")]], ids=str)
def test_prices_that_are_no_list_of_money_are_refused(prices: object) -> None:
    with pytest.raises(InvalidParameterError, match="prices"):
        price_list("prices", prices)


def test_amounts_are_not_negative_unless_that_is_allowed() -> None:
    assert amounts("values", ["-1.5"], negative=True) == (Fraction(-3, 2),)
    with pytest.raises(InvalidParameterError, match="values must be >= 0"):
        amounts("values", [3, -1])


def test_amounts_are_written_as_people_do() -> None:
    assert [as_written(Fraction(text)) for text in ("7", "9.99")] == [7, Decimal("9.99")]

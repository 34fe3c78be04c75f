"""Money in exact numbers: amounts as rationals, bids as whole steps of the grid of the public prices."""

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import exact_rational, nonnegative_rational, shown
from deniable.rows.columns import Container, column
from deniable.rows.entries import by_itself, each
from deniable.rows.silence import silence

_MOST_STEPS = 2**31


def amounts(name: str, values: object, *, negative: bool = False) -> tuple[Fraction, ...]:
    """Amounts that somebody names, such as 12, "12.50" or Fraction(25, 2); a float stands for its shortest decimal.

    Raises: InvalidParameterError for what is no list of numbers, and for a negative one unless those are allowed.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidParameterError(f"{name} must be a list of amounts of money, got {shown(values)}")
    read = exact_rational if negative else nonnegative_rational
    return tuple(read(f"each of the {name}", value) for value in values)


def price_list(name: str, values: object) -> tuple[Fraction, ...]:
    """Public prices in ascending order, with a common unit of which the largest is at most 2^31.

    Raises: InvalidParameterError for no price, one below or at 0, two that are equal, or no such unit.
    """
    prices = tuple(sorted(amounts(name, values)))
    if not prices or prices[0] <= 0 or len(set(prices)) < len(prices):
        raise InvalidParameterError(f"{name} must be a list of different amounts above 0, such as range(1, 21)")
    if prices[-1] / unit_of(prices) > _MOST_STEPS:
        raise InvalidParameterError(f"{name} must be at most 2^31 of a common unit, such as cents. Round them first.")
    return prices


def unit_of(prices: tuple[Fraction, ...]) -> Fraction:
    """The largest amount of which all prices are whole multiples."""
    top, bottom = (price.numerator for price in prices), (price.denominator for price in prices)
    return Fraction(math.gcd(*top), math.lcm(*bottom))


@silence()
def steps(bids: Container, *, unit: Fraction, top: int) -> NDArray[np.int64]:
    """Secret bids in whole units, rounded down, from 0 to `top`: exactly those of at least a price still reach it.

    A bid that is no number, or below 0, counts as 0. Each bid is read alone, so none decides how another is read.
    """
    given = column(bids, "bids")
    if given.holds == "numbers" and given.values.dtype.kind in "iu":
        last = math.ceil(top * unit)
        clipped = np.clip(given.values, 0, min(last, np.iinfo(given.values.dtype).max)).astype(object)
        found = np.minimum(clipped * unit.denominator // unit.numerator, top).astype(np.int64)
    else:
        entries = given.values if isinstance(given.values, np.ndarray) else np.array(given.values.to_pylist(), object)

        @by_itself(0)
        def floor(entry: Any) -> int:
            if isinstance(entry, float | np.floating | Decimal) and entry == math.inf:
                return top
            return min(max(math.floor(exact_rational("a bid", entry) / unit), 0), top)

        found = each(floor, entries.astype(object), np.int64)
    return given.spread(given.filled(found, 0), 0)


def as_written(amount: Fraction) -> int | Decimal:
    """An amount as people write it: a whole number, or a decimal, of 28 digits where it has no end."""
    return amount.numerator if amount.denominator == 1 else Decimal(amount.numerator) / Decimal(amount.denominator)

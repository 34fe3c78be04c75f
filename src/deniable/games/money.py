"""Money in exact numbers: amounts as rationals, bids as whole steps of a grid."""

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats, Integers
from deniable.numbers.rationals import exact_rational, nonnegative_rational, shown
from deniable.rows.columns import Container, column
from deniable.rows.entries import Objects, by_itself, each, objects
from deniable.rows.silence import silence

_MAX_STEPS = 2**31  # of the common unit, so that sums over 10^9 bids fit int64
_HASHED = {int, float, str, np.int64, np.float64, Fraction}  # types of which equal values are one amount


def amounts(name: str, values: object, *, negative: bool = False) -> tuple[Fraction, ...]:
    """Return amounts of money, such as 12, "12.50" or Fraction(25, 2), as rationals.

    A float stands for its shortest decimal.

    Raises: InvalidParameterError for another thing than a list of numbers, and for a negative one unless those are
        allowed.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidParameterError(f"{name} must be a list of amounts of money, got {shown(values)}")
    read = exact_rational if negative else nonnegative_rational
    each_of = f"each of the {name}"
    listed = tuple(values)
    if len(set(map(type, listed))) > 1 or not _HASHED.issuperset(map(type, listed)):
        return tuple(read(each_of, value) for value in listed)
    known = {value: read(each_of, value) for value in dict.fromkeys(listed)}
    return tuple(map(known.__getitem__, listed))


def price_list(name: str, values: object) -> tuple[Fraction, ...]:
    """Return public prices in ascending order; they need a common unit.

    The largest price is at most 2^31 of it.

    Raises: InvalidParameterError for no price, one below or at 0, two that are equal, or no such unit.
    """
    prices = tuple(sorted(amounts(name, values)))
    if not prices or prices[0] <= 0 or len(set(prices)) < len(prices):
        raise InvalidParameterError(f"{name} must be a list of different amounts above 0, such as range(1, 21)")
    if prices[-1] / unit_of(prices) > _MAX_STEPS:
        raise InvalidParameterError(f"{name} must be at most 2^31 of a common unit, such as cents. Round them first.")
    return prices


def unit_of(prices: tuple[Fraction, ...]) -> Fraction:
    """Return the largest amount of which all prices are whole multiples."""
    numerators = (price.numerator for price in prices)
    denominators = (price.denominator for price in prices)
    return Fraction(math.gcd(*numerators), math.lcm(*denominators))


@silence()
def steps(bids: Container, *, unit: Fraction, top: int) -> Integers:
    """Return secret bids in whole units, rounded down, from 0 to `top`.

    Exactly the bids of at least a price still reach it. A bid that is not a number, or below 0, counts as 0. Each is
    read by itself.
    """
    given = column(bids, "bids")
    grid = _Grid(unit, top)
    if given.holds == "numbers" and given.values.dtype.kind in "iu":
        floors = grid.of_whole(given.values)
    elif given.holds == "numbers" and given.values.dtype in (np.float16, np.float32, np.float64):
        floors = grid.of_floats(given.values.astype(np.float64))
    else:
        entries = given.values if isinstance(given.values, np.ndarray) else np.array(given.values.to_pylist(), object)
        floors = grid.of_entries(entries.astype(object))
    return given.spread(given.filled(floors, 0), 0)


class _Grid:
    """Grid of whole units from 0 to `top`, to which bids are rounded down exactly."""

    def __init__(self, unit: Fraction, top: int) -> None:
        self.unit = unit
        self.top = top
        self._floor = by_itself(0)(self._exact_floor)

    def of_whole(self, values: NDArray[np.integer]) -> Integers:
        """Round integers of any dtype."""
        last = math.ceil(self.top * self.unit)  # bids from here on reach every price
        clipped = np.clip(values, 0, min(last, np.iinfo(values.dtype).max))
        fits = last * self.unit.denominator < 2**63
        exact = clipped.astype(np.int64 if fits else object) * self.unit.denominator // self.unit.numerator
        return np.asarray(np.minimum(exact, self.top), dtype=np.int64)

    def of_floats(self, values: Floats) -> Integers:
        """Round the shortest decimals of floats.

        A decimal is within 2^-53 of its float, relatively, and the quotient within 2^-51 of that by the unit. So the
        floor of the quotient is right unless it is as near to a whole number as 2^-48: then the decimal decides.
        """
        if not Fraction(1, 10**300) < self.unit < 10**300:
            return self._of_distinct(values.astype(object))
        quotients = values / float(self.unit)
        is_near = np.abs(quotients - np.rint(quotients)) <= 2.0**-48 * quotients
        floors = np.clip(np.floor(np.nan_to_num(quotients, nan=0.0)), 0, self.top).astype(np.int64)
        undecided = np.flatnonzero(is_near & (quotients <= self.top + 1))
        decimals, indices = np.unique(values[undecided], return_inverse=True)
        floors[undecided] = each(self._floor, decimals.astype(object), np.int64)[indices]
        return floors

    def of_entries(self, entries: Objects) -> Integers:
        """Round entries without a common type, all of one type at once.

        Each is rounded as it would be alone.
        """
        floors = np.zeros(len(entries), dtype=np.int64)
        left = np.ones(len(entries), dtype=np.bool_)
        types = np.fromiter(map(id, map(type, entries)), dtype=np.int64, count=len(entries))
        for kind in (float, int, bool, type(None), str, Decimal, Fraction):
            chosen = types == id(kind)
            if chosen.any():
                floors[chosen] = self._of_one_type(kind, entries[chosen])
                left &= ~chosen
        floors[left] = each(self._floor, entries[left], np.int64)
        return floors

    def _of_one_type(self, kind: type, entries: Objects) -> Integers:
        if kind is float:
            return self.of_floats(entries.astype(np.float64))
        try:
            if kind is int:
                return self.of_whole(entries.astype(np.int64))
            if kind is Fraction:
                return self._of_fractions(entries)
        except (OverflowError, TypeError):
            return each(self._floor, entries, np.int64)
        return self._of_distinct(entries)

    def _of_fractions(self, entries: Objects) -> Integers:
        above, below = (objects(list(map(attrgetter(part), entries))) for part in ("numerator", "denominator"))
        exact = above * self.unit.denominator // (below * self.unit.numerator)
        return np.asarray(np.clip(exact, 0, self.top), dtype=np.int64)

    def _of_distinct(self, entries: Objects) -> Integers:
        """Round entries of one type, each value once."""
        try:
            known = {entry: self._floor(entry) for entry in dict.fromkeys(entries)}
        except TypeError:  # a signalling NaN among decimals has no hash
            return each(self._floor, entries, np.int64)
        return np.fromiter(map(known.__getitem__, entries), dtype=np.int64, count=len(entries))

    def _exact_floor(self, entry: Any) -> int:
        if isinstance(entry, float | np.floating | Decimal) and entry == math.inf:
            return self.top
        return min(max(math.floor(exact_rational("a bid", entry) / self.unit), 0), self.top)


def as_written(amount: Fraction) -> int | Decimal:
    """Return an amount as people write it: a whole number, or a decimal.

    A decimal without an end has 28 digits.
    """
    return amount.numerator if amount.denominator == 1 else Decimal(amount.numerator) / Decimal(amount.denominator)

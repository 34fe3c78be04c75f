"""Money in exact numbers: amounts as rationals, bids as whole steps of the grid of the public prices."""

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

_MOST_STEPS = 2**31
_HASHED = {int, float, str, np.int64, np.float64, Fraction}  # types of which equal values are one amount


def amounts(name: str, values: object, *, negative: bool = False) -> tuple[Fraction, ...]:
    """Amounts that somebody names, such as 12, "12.50" or Fraction(25, 2); a float stands for its shortest decimal.

    Raises: InvalidParameterError for what is no list of numbers, and for a negative one unless those are allowed.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidParameterError(f"{name} must be a list of amounts of money, got {shown(values)}")
    read, each_of = exact_rational if negative else nonnegative_rational, f"each of the {name}"
    listed = tuple(values)
    if len(set(map(type, listed))) > 1 or not _HASHED.issuperset(map(type, listed)):
        return tuple(read(each_of, value) for value in listed)
    known = {value: read(each_of, value) for value in dict.fromkeys(listed)}
    return tuple(map(known.__getitem__, listed))


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
def steps(bids: Container, *, unit: Fraction, top: int) -> Integers:
    """Secret bids in whole units, rounded down, from 0 to `top`: exactly those of at least a price still reach it.

    A bid that is no number, or below 0, counts as 0. What a bid is read as depends on that bid alone.
    """
    given, grid = column(bids, "bids"), _Grid(unit, top)
    if given.holds == "numbers" and given.values.dtype.kind in "iu":
        found = grid.of_whole(given.values)
    elif given.holds == "numbers" and given.values.dtype in (np.float16, np.float32, np.float64):
        found = grid.of_floats(given.values.astype(np.float64))
    else:
        entries = given.values if isinstance(given.values, np.ndarray) else np.array(given.values.to_pylist(), object)
        found = grid.of_entries(entries.astype(object))
    return given.spread(given.filled(found, 0), 0)


class _Grid:
    """Whole units from 0 to `top`, and how bids are rounded down to them, exactly, many at a time."""

    def __init__(self, unit: Fraction, top: int) -> None:
        self.unit, self.top = unit, top
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
        found = np.clip(np.floor(np.nan_to_num(quotients, nan=0.0)), 0, self.top).astype(np.int64)
        undecided = np.flatnonzero(is_near & (quotients <= self.top + 1))
        decimals, places = np.unique(values[undecided], return_inverse=True)
        found[undecided] = each(self._floor, decimals.astype(object), np.int64)[places]
        return found

    def of_entries(self, entries: Objects) -> Integers:
        """Round entries without a common type: all of one type at once, as each would be rounded alone."""
        found, left = np.zeros(len(entries), dtype=np.int64), np.ones(len(entries), dtype=np.bool_)
        types = np.fromiter(map(id, map(type, entries)), dtype=np.int64, count=len(entries))
        for kind in (float, int, bool, type(None), str, Decimal, Fraction):
            chosen = types == id(kind)
            if chosen.any():
                found[chosen] = self._of_one_type(kind, entries[chosen])
                left &= ~chosen
        found[left] = each(self._floor, entries[left], np.int64)
        return found

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
    """An amount as people write it: a whole number, or a decimal, of 28 digits where it has no end."""
    return amount.numerator if amount.denominator == 1 else Decimal(amount.numerator) / Decimal(amount.denominator)

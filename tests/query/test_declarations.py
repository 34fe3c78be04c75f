"""Declarations of columns are exact, of one kind, and within their limits."""

from datetime import date
from fractions import Fraction

import pytest

import deniable as dn
from deniable.errors import CatalogError
from deniable.query.declarations import LARGEST_KEYS
from deniable.query.expression import Kind


def test_bounds_are_exact() -> None:
    assert dn.Number(lower=0.1, upper="1/3").lower == Fraction(1, 10)


def test_keys_of_whole_numbers_are_bounds_too() -> None:
    declared = dn.Keys([3, 1, 2])
    assert (declared.lower, declared.upper, declared.keys) == (1, 3, (3, 1, 2))
    assert dn.Keys([date(2025, 1, 1)]).kind is Kind.DATE
    assert dn.Keys([True, False]).kind is Kind.BOOLEAN
    assert dn.Keys(["a"], null=True).keys == ("a", None)


def test_true_is_not_the_number_one() -> None:
    with pytest.raises(CatalogError, match="one kind"):
        dn.Keys([True, 2])


@pytest.mark.parametrize("null", [11, -1, "1e400"])
def test_what_a_missing_value_counts_as_lies_within_the_bounds(null: object) -> None:
    with pytest.raises(CatalogError, match="null"):
        dn.Number(lower=0, upper=10, null=null)


def test_too_many_keys_are_refused() -> None:
    with pytest.raises(CatalogError, match="at most"):
        dn.Keys(range(LARGEST_KEYS + 1))

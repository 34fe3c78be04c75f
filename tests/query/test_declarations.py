"""Declarations of columns are exact, of one kind, and within their limits."""

from collections.abc import Callable
from datetime import date
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import CatalogError
from deniable.query.declarations import LARGEST_KEYS
from deniable.query.expression import Kind


@pytest.mark.parametrize(
    "text",
    [
        "Number(lower=0, upper=0.5)",
        "Number()",
        "Number(lower='-1/3', upper=2, integer=False, null=0)",
        "Number(lower='auto', upper='auto')",
        "Keys(['n', 's', None])",
        "Keys([('n', 7), ('s', 8)])",
        "Date(lower='2025-01-01', upper='2025-12-31')",
        "Timestamp()",
        "Text()",
        "Boolean()",
    ],
)
def test_a_declaration_prints_as_the_call_that_makes_it(text: str) -> None:
    assert repr(eval(f"dn.{text}")) == text


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


def test_lists_of_keys_are_joined_taken_out_and_paired_as_sets_are() -> None:
    wards, years = ["a", "b", "c"], range(2020, 2024)
    both = dn.Keys(wards) * dn.Keys(years)
    assert both.joint == tuple(product(wards, years))
    assert ((both - dn.Keys([("a", 2020)])) | dn.Keys([("z", 9)])).joint == (*product(wards, years), ("z", 9))[1:]
    assert (dn.Keys(wards) - dn.Keys(["b", "x"]) | dn.Keys(["c", "d"])).keys == ("a", "c", "d")
    days = dn.Date(lower=date(2025, 1, 1), upper=date(2025, 1, 31)) * dn.Boolean()
    assert days.joint is not None
    assert len(days.joint) == 62
    assert (dn.Keys(["a"]) * [True, None] - [("a", None)]).joint == (("a", True),)
    assert (both * dn.Keys([1])).joint == tuple((*row, 1) for row in product(wards, years))
    assert (dn.Number(lower="0.5", upper=3, integer=True) - dn.Keys([2])).keys == (1, 3)


def test_keys_are_taken_from_arrays_and_public_frames() -> None:
    frame = pa.table({"ward": ["a", "b", "a"], "year": [1, 1, 1]})
    assert dn.Keys(np.array([3, 1])).keys == (3, 1)
    assert dn.Keys(frame["ward"]).keys == ("a", "b")
    assert dn.Keys(frame).joint == (("a", 1), ("b", 1))
    assert dn.Keys(frame.select(["year"])).keys == (1,)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: dn.Keys(["a"]) - dn.Keys(["a"]), "at least one"),
        (lambda: dn.Keys(["a"]) | dn.Keys([1]), "one kind"),
        (lambda: dn.Keys(["a"]) * dn.Text(), "only lists"),
        (lambda: dn.Keys([("a", 1), ("b",)]), "equally many"),
        (lambda: dn.Keys([("a", 1), ("a", 1)]), "differ"),
        (lambda: dn.Keys([("a", 1), (2, 1)]), "one kind"),
        (lambda: dn.Keys([("a", 1)], null=True), "for one column"),
        (lambda: dn.Keys(range(2000)) * range(501), "at most"),
        (lambda: dn.Keys("ab"), "a list of values"),
    ],
)
def test_what_makes_no_list_of_keys_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(CatalogError, match=said):
        make()


def test_days_may_be_written_as_text() -> None:
    first, last = date(2024, 1, 1), date(2024, 12, 31)
    for kind in (dn.Date, dn.Timestamp):
        assert kind(lower="2024-01-01", upper="2024-12-31") == kind(lower=first, upper=last)
        for wrong in ("2024-13-01", "01/02/2024", "", 738886):
            with pytest.raises(CatalogError, match="must be a date"):
                kind(lower=wrong, upper=last)  # type: ignore[arg-type]

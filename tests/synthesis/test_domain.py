"""Levels of columns: what is declared comes back, and nothing else."""

from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from deniable.errors import InvalidParameterError
from deniable.synthesis.domain import Attribute, Binned, DeclaredDomain, Listed

DAY = Fraction(date(2025, 1, 1).toordinal())
CASES: list[tuple[Attribute, list[Any], list[int]]] = [
    (Listed("s", "string", ("a", "ü")), ["ü", "a", "z", None, ""], [1, 0, 2, 2, 2]),
    (Listed("k", "int64", (7, -3)), [-3, 7, 0, None], [1, 0, 2, 2]),
    (Listed("b", "bool", (False, True)), [True, False, None], [1, 0, 2]),
    (Binned("n", "int64", Fraction(0), Fraction(9), 10), [0, 9, -5, 2**60, None], [0, 9, 0, 9, 10]),
    (Binned("n", "int64", Fraction(0), Fraction(99), 10), [0, 9, 10, 99], [0, 0, 1, 9]),
    (Binned("n", "int64", Fraction(0), Fraction(2), 2), [0, 1, 2], [0, 0, 1]),
    (Binned("n", "int64", Fraction(0), Fraction(120), 100), [15, 16, 17, 18, 119, 120], [12, 13, 14, 14, 98, 99]),
    (Binned("n", "int64", Fraction(-10), Fraction(10), 4), [-10, -5, -4, 0, 1, 6, 10], [0, 0, 1, 1, 2, 3, 3]),
    (Binned("x", "float64", Fraction(0), Fraction(3, 10), 3), [0.1, 0.2, 0.30000000000000004, 0.3], [1, 2, 2, 2]),
    (Binned("t", "timestamp[us]", DAY, DAY + 30, 720),
     [datetime(2025, 1, 1, hour) for hour in range(24)], list(range(24))),
    (Binned("n", "int64", Fraction(-7), Fraction(92), 100), list(range(-7, 93)), list(range(100))),
    (Binned("n", "int64", Fraction(1), Fraction(366), 366), list(range(1, 367)), list(range(366))),
    (Binned("x", "float64", Fraction(0), Fraction(1), 4), [0.0, 0.3, 1.0, float("inf"), float("nan"), None],
     [0, 1, 3, 3, 4, 4]),
    (Binned("d", "date32", DAY, DAY + 6, 7), [date(2025, 1, 1), date(2025, 1, 7), date(1, 1, 1), None], [0, 6, 0, 7]),
    (Binned("t", "timestamp[us]", DAY, DAY + 2, 2), [datetime(2025, 1, 1, 12), datetime(2025, 1, 2, 1), None],
     [0, 1, 2]),
    (Binned("t", "timestamp[us]", DAY, DAY + 2, 2), [datetime.min, datetime.max, datetime(1677, 1, 1)], [0, 1, 0]),
    (Binned("d", "date32", DAY, DAY + 6, 7), [date.min, date.max], [0, 6]),
    (Binned("n", "int64", Fraction(0), Fraction(9), 10), [2**63 - 1, -(2**63)], [9, 0]),
    (Binned("x", "float64", Fraction(0), Fraction(1), 4), [5e-324, -1.8e308, 1.7e308], [0, 0, 3]),
]  # fmt: skip


@pytest.mark.parametrize(("attribute", "values", "levels"), CASES, ids=lambda case: getattr(case, "name", ""))
def test_values_have_levels_of_their_own(attribute: Attribute, values: list[Any], levels: list[int]) -> None:
    column = pa.chunked_array([pa.array(values, type=pa.type_for_alias(attribute.kind))])
    assert attribute.encode(column).tolist() == levels
    assert [attribute.encode(column.slice(row, 1)).item() for row in range(len(values))] == levels


@pytest.mark.parametrize("attribute", [case[0] for case in CASES], ids=lambda attribute: attribute.name)
def test_drawn_values_are_in_the_domain_and_have_the_level_that_was_drawn(attribute: Attribute) -> None:
    levels = np.repeat(np.arange(attribute.size), 50)
    uniform = np.tile((np.arange(50) + 0.5) / 50, attribute.size)
    drawn = attribute.decode(levels, uniform)
    assert drawn.type == pa.type_for_alias(attribute.kind)
    assert attribute.encode(pa.chunked_array([drawn])).tolist() == levels.tolist()
    assert drawn.null_count == 50
    lowest = pa.chunked_array([pa.array(attribute.values, type=drawn.type)])
    assert attribute.encode(lowest).tolist() == list(range(attribute.size))
    assert all(attribute.shown(level) for level in range(attribute.size))


def test_a_domain_needs_different_names_and_few_levels() -> None:
    one = Listed("a", "string", ("x",))
    for attributes in ((), (one, one)):
        with pytest.raises(InvalidParameterError, match="different names"):
            DeclaredDomain(attributes)
    with pytest.raises(InvalidParameterError, match="a has 100,002 levels"):
        DeclaredDomain((Binned("a", "float64", Fraction(0), Fraction(1), 100_001),))


def test_attributes_differ_as_data() -> None:
    attributes = {case[0] for case in CASES}
    assert len({str(attribute.to_json()) for attribute in attributes}) == len(attributes) == 15


@pytest.mark.parametrize("bins", [1, 7, 100])
def test_bins_of_whole_numbers_hold_the_numbers_between_their_ends(bins: int) -> None:
    attribute = Binned("n", "int64", Fraction(-20), Fraction(120), bins)
    numbers = np.arange(-20, 121)
    levels = attribute.encode(pa.chunked_array([pa.array(numbers)]))
    ends = [*attribute.values[:-1], 121]
    assert all(ends[level] <= number < ends[level + 1] for number, level in zip(numbers, levels, strict=True))
    assert np.diff(np.bincount(levels)).max(initial=0) <= 1  # of nearly equal width
    every = attribute.decode(np.repeat(np.arange(bins), 500), np.tile(np.arange(500) / 500, bins))
    assert set(every.to_pylist()) == set(numbers.tolist())

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.privacy.exact import (
    decimal_above,
    decimal_below,
    decimal_text,
    exact_rational,
    nonnegative_rational,
    positive_integer,
    positive_rational,
    probability,
    read_json,
)


@pytest.mark.parametrize(
    "value", [0.1, "0.1", " 1/10 ", "1e-1", ".1", Decimal("0.1"), Fraction(1, 10), np.float64(0.1), np.array(0.1)]
)
def test_a_tenth_is_a_tenth_however_it_is_written(value: object) -> None:
    assert exact_rational("epsilon", value) == Fraction(1, 10)


@pytest.mark.parametrize("value", [3, np.int64(3), "3", "+3", "3.", 3.0, Decimal(3), "6/2"])
def test_whole_numbers_are_read(value: object) -> None:
    assert exact_rational("epsilon", value) == 3


@pytest.mark.parametrize(
    "value",
    [
        *(True, np.True_, None, [1], 1j, b"1"),
        *(float("nan"), float("inf"), Decimal("NaN"), Decimal("Infinity"), "-inf", "nan"),
        *("", "one", "1/0", "1e3/2", "0x10", "1_000", "1" * 500, "²"),
    ],
)
def test_what_is_no_number_is_refused_by_name(value: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"^epsilon must be a (finite )?number"):
        exact_rational("epsilon", value)


def test_domains_are_checked_with_name_and_value() -> None:
    with pytest.raises(InvalidParameterError, match=r"epsilon must be > 0, got 0"):
        positive_rational("epsilon", 0)
    with pytest.raises(InvalidParameterError, match=r"rho must be >= 0, got -1"):
        nonnegative_rational("rho", -1)
    with pytest.raises(InvalidParameterError, match=r"delta must be in \[0, 1\), got 1"):
        probability("delta", 1)
    with pytest.raises(InvalidParameterError, match=r"delta must be 0 or at least 1e-300"):
        probability("delta", "1e-301")
    assert probability("delta", 0) == 0


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "1", None])
def test_counts_must_be_positive_integers(value: object) -> None:
    with pytest.raises(InvalidParameterError, match="groups must be"):
        positive_integer("groups", value)


@given(st.fractions(min_value=0), st.integers(1, 15))
def test_decimals_are_rounded_in_the_stated_direction(number: Fraction, digits: int) -> None:
    low, high = decimal_below(number, digits), decimal_above(number, digits)
    assert low <= number <= high
    assert high - low <= number * Fraction(10) ** (1 - digits)
    assert decimal_above(low, digits) == low


def test_text_that_is_no_json_is_refused() -> None:
    assert read_json("[1]", "a list") == [1]
    with pytest.raises(InvalidParameterError, match="a budget must be JSON text"):
        read_json("{", "a budget")


def test_numbers_are_shown_as_people_write_them() -> None:
    shown = [decimal_text(Fraction(text)) for text in ("1", "0.1", "1e-6", "1/3", "0")]
    assert shown == ["1", "0.1", "1e-06", "~0.333333", "0"]

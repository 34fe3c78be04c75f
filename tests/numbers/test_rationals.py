import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import (
    checked_bounds,
    decimal_above,
    decimal_below,
    decimal_text,
    exact_rational,
    nonnegative_rational,
    positive_integer,
    positive_rational,
    probability,
    quotient_text,
    read_json,
    readable,
    root_above,
    shown,
    strict_rational,
    whole_number,
    yes_or_no,
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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *(("1.1", "1.1"), ("4.22699", "4.22699"), ("1e-300", "1e-300"), (10, "10"), ("-0.5", "-0.5")),
        *(("1/3", "'1/3'"), (Fraction(1, 2**60), "'1/1152921504606846976'"), (Fraction(10**390, 3), None)),
    ],
)
def test_an_exact_number_prints_as_it_is_typed(value: object, text: str | None) -> None:
    number = exact_rational("x", value)
    assert repr(number) == (text or f"'1{'0' * 390}/3'")
    assert str(number) == repr(number).strip("'")
    assert exact_rational("x", str(number)) == number


@given(st.fractions())
def test_a_printed_number_reads_as_itself(number: Fraction) -> None:
    printed = readable(number)
    assert exact_rational("x", eval(repr(printed))) == number
    assert quotient_text(printed) == str(number)
    assert (printed == number, hash(printed), pickle.loads(pickle.dumps(printed))) == (True, hash(number), number)
    assert type(printed * 2) is Fraction


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


@pytest.mark.parametrize("square", [Fraction(0), Fraction(4), Fraction(2), Fraction(1, 3), Fraction(10**31 + 1)])
@pytest.mark.parametrize("digits", [0, 1, 12])
def test_a_root_from_above_is_above_by_a_step_at_most(square: Fraction, digits: int) -> None:
    step = Fraction(1, 10**digits)
    found = root_above(square, digits)
    assert max(found - step, 0) ** 2 <= square < found**2
    assert (found / step).denominator == 1


def test_text_that_is_no_json_is_refused() -> None:
    assert read_json("[1]", "a list") == [1]
    with pytest.raises(InvalidParameterError, match="a budget must be JSON text"):
        read_json("{", "a budget")


def test_numbers_are_shown_as_people_write_them() -> None:
    shown = [decimal_text(Fraction(text)) for text in ("1", "0.1", "1e-6", "1/3", "0")]
    assert shown == ["1", "0.1", "1e-06", "~0.333333", "0"]


@pytest.mark.parametrize(("value", "said"), [(2.0, "whole number, got 2.0"), (0, ">= 1, got 0"), (9, "<= 8, got 9")])
def test_whole_numbers_keep_to_their_bounds(value: object, said: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"size must be .*{said}"):
        whole_number("size", value, lower=1, upper=8)
    assert whole_number("size", np.int8(8), lower=1, upper=8) == 8
    assert whole_number("size", -(2**90)) == -(2**90)
    with pytest.raises(InvalidParameterError, match=r"size must be >= -2\^61, got"):
        whole_number("size", -(2**62), lower=-(2**61))


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 1), (3, 3), (4, 3), (True, 3), (-(2**61) - 1, 0)])
def test_bad_bounds_are_refused(lower: object, upper: object) -> None:
    with pytest.raises(InvalidParameterError, match="lower must be"):
        checked_bounds(lower, upper, largest=2**61)
    with pytest.raises(InvalidParameterError, match=r"upper must be <= 2\^61"):
        checked_bounds(0, 2**61 + 1, largest=2**61)
    assert checked_bounds(np.int64(-3), 2**61, largest=2**61) == (-3, 2**61)


def test_truth_values_are_no_numbers() -> None:
    assert yes_or_no("monotone", True)
    with pytest.raises(InvalidParameterError, match="monotone must be True or False, got 1"):
        yes_or_no("monotone", 1)


def test_messages_stay_short_and_can_be_written() -> None:
    """Python refuses to write an int of more than 4300 digits."""
    assert shown(2**20_000) == "int too long to show"
    assert shown(np.eye(2)) == "array([[1., 0.], [0., 1.]])"
    assert shown([2**20_000]) == "list too long to show"
    assert shown(Fraction(1, 3)) == "1/3"
    assert len(shown("x" * 1000)) == 60
    with pytest.raises(InvalidParameterError, match="rows must be <= 4, got int too long"):
        whole_number("rows", 2**20_000, upper=4)


def test_a_sampler_takes_integers_of_numpy_as_exact_rationals() -> None:
    value = strict_rational("scale", np.int32(7), lower=Fraction(0), upper=Fraction(9))
    assert value == 7
    assert type(value.numerator) is int


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(2**60), r"scale must be in \[2\^-57, 2\^57\], got 2\^60"),
        (Fraction(-3, 7), "got -3/7"),
        (Fraction(-(10**40) - 1), "got about -1e40"),
        (Fraction(1, 10**40 + 1), "got about 1e-40"),
        (0, "got 0"),
        (0.5, "scale must be an int or a Fraction, got 0.5"),
    ],
)
def test_a_sampler_refuses_what_is_rounded_or_out_of_range(value: object, text: str) -> None:
    with pytest.raises(InvalidParameterError, match=text):
        strict_rational("scale", value, lower=Fraction(1, 2**57), upper=Fraction(2**57))

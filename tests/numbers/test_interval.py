import json
import math
import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import example, given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.numbers.interval import PROBABILITIES, Interval, Intervals, each, round_down, round_up
from deniable.numbers.rationals import exact_rational

rationals = st.fractions() | st.builds(
    lambda m, e: Fraction(m) * Fraction(2) ** e, st.integers(-(2**70), 2**70), st.integers(-1200, 1200)
)


@given(rationals)
def test_rounding_is_directed_and_as_close_as_floats_are(value: Fraction) -> None:
    low, high = round_down(value), round_up(value)
    assert low <= value <= high
    if math.isfinite(low):
        near = math.nextafter(low, math.inf)
        assert math.isinf(near) or max(Fraction(near), exact_rational("near", near)) > value
    if math.isfinite(high):
        near = math.nextafter(high, -math.inf)
        assert math.isinf(near) or min(Fraction(near), exact_rational("near", near)) < value


@given(rationals)
def test_the_interval_of_a_ball_holds_the_ball(value: Fraction) -> None:
    ball = arb(fmpq(value.numerator, value.denominator))
    interval = Interval.of_ball(ball)
    assert interval.lower <= value <= interval.upper
    if abs(value) < 2**1000:
        assert interval.width <= abs(float(value)) * 1e-12 + 1e-300


def test_balls_beyond_the_floats_round_outward() -> None:
    assert Interval.of_ball(arb(2) ** -2000) == Interval(0.0, 5e-324)
    assert Interval.of_ball(-(arb(2) ** 2000)) == Interval(-math.inf, -math.nextafter(math.inf, 0))
    assert Interval.of_ball(arb("nan"), within=PROBABILITIES) == PROBABILITIES
    assert Interval.of_ball(arb(0, 5), within=PROBABILITIES) == PROBABILITIES


def test_rationals_beyond_the_floats_round_outward() -> None:
    largest = math.nextafter(math.inf, 0.0)
    huge = Fraction(10**400)
    for value, ends in ((huge, (largest, math.inf)), (-huge, (-math.inf, -largest)), (1 / huge, (0.0, 5e-324))):
        assert Interval.around(value) == Interval(*ends)


def test_two_intervals_around_one_truth_tell_more_together() -> None:
    wide, other = Interval(0.0, 2.0), Interval(1.0, 3.0)
    assert wide.narrowed(other) == other.narrowed(wide) == Interval(1.0, 2.0)
    assert wide.narrowed(Interval(0.5, 0.75)) == Interval(0.5, 0.75)
    assert Interval(0.0, 1.0).narrowed(Interval(2.0, 3.0)).upper == 1.0  # one of them is false: neither is made worse


def test_reversed_or_undefined_ends_are_refused() -> None:
    for ends in ((1.0, 0.0), (math.nan, 1.0), (0.0, math.nan)):
        with pytest.raises(InvalidParameterError, match="lower <= upper"):
            Interval(*ends)


def test_printing_rounds_outward() -> None:
    assert str(Interval(1 / 3, 2 / 3)) == "[0.333333, 0.666667]"
    assert str(Interval(0.5, math.inf)) == "[0.5, inf]"
    assert str(Interval(2.0, 2.0)) == "2"


def test_contains_and_width() -> None:
    interval = Interval.around(Fraction(1, 3))
    assert interval.contains(Fraction(1, 3))
    assert 0 < interval.width < 1e-15
    assert Interval(math.inf, math.inf).width == 0


def test_zero_has_no_sign() -> None:
    assert str(Interval.around(Fraction(0)).upper) == str(round_up(Fraction(0))) == "0.0"


@given(rationals, st.floats(0, 1, exclude_min=True))
@example(Fraction(1, 10), 0.1)
@example(Fraction(0), 1.175494351e-38)  # few digits, many characters
@example(Fraction(0.3), 0.12405264866997885)  # their texts are on the other side
def test_ends_are_safe_as_numbers_and_as_text_and_a_copy_changes_nothing(value: Fraction, computed: float) -> None:
    text = Decimal(repr(computed))
    drawn = Fraction(text) if len(text.as_tuple().digits) <= 12 else Fraction(computed)
    for made, proved in (
        (Interval.around(value), value),
        (Interval.of_ball(arb(fmpq(value.numerator, value.denominator))), value),
        (Interval(computed, computed), drawn),
    ):
        for end, sign in ((made.lower, -1), (made.upper, 1)):
            if math.isfinite(end):
                assert sign * exact_rational("end", end) >= sign * proved
        assert Interval(*json.loads(json.dumps([made.lower, made.upper]))) == made
    assert Interval.around(Fraction(1, 10)).upper == 0.1  # as people write it


ends = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e200, max_value=1e200)


@given(ends, ends, st.integers(0, 8), st.sampled_from("efg%"))
@example(0.3, 0.3, 3, "f")
def test_formatted_ends_are_rounded_outward(one: float, other: float, digits: int, kind: str) -> None:
    low, high = sorted([one, other])
    interval = Interval(low, high)
    shown = f"{interval:.{digits}{kind}}".strip("[]").replace("%", "").split(", ")
    scale = 100 if kind == "%" else 1
    assert Fraction(shown[0]) <= exact_rational("lower", interval.lower) * scale
    assert Fraction(shown[-1]) >= exact_rational("upper", interval.upper) * scale


def test_formats_of_an_interval_are_those_of_a_number() -> None:
    found = Interval(2.38078, 2.38226)
    assert f"{found:.3f} {found:.2e} {found:.1%}" == "[2.380, 2.383] [2.38e+0, 2.39e+0] [238.0%, 238.3%]"
    assert f"{found:>16.2f}|{found:<14.2f}|" == "    [2.38, 2.39]|[2.38, 2.39]  |"
    assert f"{Interval(0.3, 0.3):.3f} {Interval(0.1, math.inf):.3f}" == "0.300 [0.100, inf]"
    with pytest.raises(InvalidParameterError, match=r"formatted by \.3f"):
        f"{found:d}"


@given(ends, ends, ends)
def test_a_comparison_holds_for_every_number_inside_or_is_refused(one: float, other: float, level: float) -> None:
    interval = Interval(*sorted([one, other]))
    inside = [exact_rational("end", end) for end in (interval.lower, interval.upper)]
    at = exact_rational("level", level)
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        answers = {compare(value, at) for value in inside}
        if len(answers) == 1:
            assert compare(interval, level) in answers
        else:
            with pytest.raises(InvalidParameterError, match="not decided"):
                compare(interval, level)


def test_comparisons_read_numbers_as_they_are_meant() -> None:
    assert Interval(0.2, 0.3) <= "3/10"
    assert Interval(0.1, 0.2) < Interval(0.3, 0.4) < math.inf
    assert not Interval(0.3, 0.4) <= Fraction(1, 10)
    with pytest.raises(InvalidParameterError, match="which is proved, or ask for a smaller"):
        _ = Interval(0.1, 0.3) < Interval(0.2, 0.4)


def test_an_interval_is_not_one_float() -> None:
    with pytest.raises(TypeError, match=r"take `\.upper`, which is what is guaranteed"):
        float(Interval(0.1, 0.2))


def test_a_notebook_shows_the_guarantee_first() -> None:
    assert Interval(2.38078, 2.38226)._repr_html_() == "2.38226 <small>(the truth is at least 2.38078)</small>"
    assert Interval(0.5, 0.5)._repr_html_() == "0.5"


def test_many_numbers_give_as_many_intervals() -> None:
    for numbers in ([1, "1/2"], (1, 0.5), np.array([1.0, 0.5])):
        found = each(lambda one: Interval.around(exact_rational("x", one)), numbers)
        assert isinstance(found, Intervals)
        assert found == (Interval(1.0, 1.0), Interval(0.5, 0.5))
        assert found.lower.tolist() == found.upper.tolist() == [1.0, 0.5]
        assert str(found) == "1\n0.5"
    for number in (1, "1/2", np.float64(0.5), np.array(0.5)):
        assert isinstance(each(lambda one: Interval.around(exact_rational("x", one)), number), Interval)

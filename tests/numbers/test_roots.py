import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.numbers.balls import ball, certified
from deniable.numbers.interval import Interval
from deniable.numbers.roots import inverse, largest


def line(epsilon: Fraction) -> Interval:
    """1 - epsilon/7 down to 0, known to 10 digits."""
    value = max(1 - epsilon / 7, Fraction(0))
    return Interval(float(value) * (1 - 1e-10), min(float(value) * (1 + 1e-10), 1.0))


@given(st.fractions(min_value=0, max_value=Fraction(999, 1000)))
def test_the_inverse_of_a_known_curve_holds_the_truth(target: Fraction) -> None:
    found = inverse(line, target, limit=Fraction(7))
    assert found.contains(7 * (1 - target))
    assert found.width < 1e-7


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(9, 10)))
def test_the_inverse_of_an_exponential_is_its_logarithm(target: Fraction) -> None:
    def curve(x: Fraction) -> Interval:
        return certified(lambda: ball(-x).exp() * 1)

    found = inverse(curve, target, limit=None)
    assert found.lower <= -math.log(target) * (1 + 1e-15)
    assert found.upper >= -math.log(target) * (1 - 1e-15)
    assert found.width <= 1e-11 * found.upper


def test_a_step_is_found_exactly() -> None:
    found = inverse(lambda x: Interval(0.5, 0.5) if x < 3 else Interval(0.0, 0.0), Fraction(1, 10), limit=Fraction(5))
    assert found.lower < 3 <= found.upper
    assert found.width < 1e-11


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_the_largest_is_below_the_edge_and_close_to_it(edge: Fraction) -> None:
    found = largest(lambda x: x <= edge)
    assert found <= edge < found * (1 + Fraction(1, 10**10))


def test_a_search_that_finds_nothing_says_so() -> None:
    with pytest.raises(InvalidParameterError, match="nearer to 1"):
        largest(lambda x: x <= Fraction(1, 10**300))


def test_the_edges() -> None:
    assert inverse(line, Fraction(999999, 1000000), limit=Fraction(7)).lower < 1e-5
    assert inverse(lambda x: Interval(0.25, 0.25), Fraction(1, 4), limit=None) == Interval(0.0, 0.0)
    assert inverse(lambda x: Interval(0.1, 0.2), Fraction(0), limit=None) == Interval(math.inf, math.inf)
    assert inverse(lambda x: Interval(0.0, 0.2), Fraction(1, 10), limit=None).upper == math.inf
    assert inverse(lambda x: Interval(0.0, 0.2), Fraction(1, 10), limit=None, unreachable=True).upper == math.inf
    for limit in (Fraction(1, 3), Fraction(10), 1 + Fraction(1, 10**20)):  # also between two floats, one of which is 1
        assert inverse(lambda x: Interval(0.0, 0.2), Fraction(1, 10), limit=limit, unreachable=True).upper >= limit


def test_a_curve_that_never_falls_far_enough_is_left_soon() -> None:
    """Fifty values in place of a thousand; and a far crossing is still found."""
    asked: list[Fraction] = []

    def flat(x: Fraction) -> Interval:
        asked.append(x)
        return Interval(0.2, 0.3)

    assert inverse(flat, Fraction(1, 10), limit=None).upper == math.inf
    assert len(asked) < 100
    far = inverse(lambda x: Interval(0.5, 0.5) if x < 10**9 else Interval(0.0, 0.0), Fraction(1, 10), limit=None)
    assert far.lower <= 10**9 <= far.upper
    assert far.width <= 10**9 * 1e-11

"""Boxes hold what they should hold, and are narrow where the result is defined."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from deniable.noise.boxes import Enclosure

RATIONALS = st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**6)
ENDS = st.lists(RATIONALS, min_size=3, max_size=3)


def holds(box: Enclosure, value: Fraction | arb) -> bool:
    ball = arb(fmpq(value.numerator, value.denominator)) if isinstance(value, Fraction) else value
    return bool(box.low <= float(ball.upper())) and bool(float(ball.lower()) <= box.high)


def boxed(ends: list[Fraction]) -> tuple[Enclosure, Fraction]:
    """A box around three rationals, and the middle one."""
    low, middle, high = sorted(ends)
    return Enclosure(Enclosure.of(low).low, Enclosure.of(high).high), middle


@given(a=ENDS, b=ENDS)
def test_arithmetic_holds_the_exact_result(a: list[Fraction], b: list[Fraction]) -> None:
    (x, p), (y, q) = boxed(a), boxed(b)
    assert holds(x + y, p + q)
    assert holds(x - y, p - q)
    assert holds(x * y, p * q)
    assert holds(3 - x, 3 - p)
    if q:
        assert holds(x / y, p / q)


@given(a=ENDS)
def test_functions_hold_the_exact_result(a: list[Fraction]) -> None:
    x, p = boxed([abs(number) for number in a])
    ball = arb(fmpq(p.numerator, p.denominator))
    assert holds(x.sqrt(), ball.sqrt())
    if p:
        assert holds(x.log(), ball.log())
    small, q = boxed([number / 1000 for number in a])
    assert holds(small.exp(), arb(fmpq(q.numerator, q.denominator)).exp())


def test_a_point_gives_a_narrow_box() -> None:
    x = Enclosure.of(Fraction(7, 3))
    for found, truth in ((x.log(), mp.log(mp.mpf(7) / 3)), (x.exp(), mp.exp(mp.mpf(7) / 3)), ((-x).exp(), None)):
        assert 0 < found.high - found.low < 1e-12 * max(1.0, float(found.high))
        assert truth is None or found.low <= truth <= found.high
    assert Enclosure.of(Fraction(1, 2)).low == Enclosure.of(Fraction(1, 2)).high == 0.5


@pytest.mark.parametrize(
    "box",
    [
        Enclosure.of(1) / Enclosure(np.array(-1.0), np.array(1.0)),
        Enclosure.of(1) / Enclosure(np.array(-1.0), np.array(0.0)),
        Enclosure.of(1) / Enclosure(np.array(0.0), np.array(1.0)),
        Enclosure(np.array(-1.0), np.array(1.0)).sqrt(),
        Enclosure(np.array(-1.0), np.array(1.0)).log(),
        Enclosure(np.array(0.0), np.array(0.0)) * Enclosure(np.array(1.0), np.array(np.inf)),
    ],
    ids=["division", "by 0 from below", "by 0 from above", "root", "logarithm", "product"],
)
def test_what_is_undefined_is_the_whole_line(box: Enclosure) -> None:
    assert box.low == -np.inf
    assert box.high == np.inf


def test_far_arguments_keep_valid_ends() -> None:
    far = Enclosure(np.array([-900.0, 800.0]), np.array([-800.0, 900.0])).exp()
    assert far.low[0] == 0
    assert far.high[0] >= 1e-340
    assert far.low[1] > 1e300
    assert far.high[1] == np.inf
    zero = Enclosure(np.array(0.0), np.array(np.inf)).log()
    assert zero.low == -np.inf
    assert zero.high == np.inf


def test_words_are_the_cells_of_a_uniform_number() -> None:
    for word in (0, 1, 2**53 + 1, 2**63 - 1, 2**63 + 1025, 2**64 - 1):
        box = Enclosure.of_words(np.array([word], dtype=np.uint64))
        assert Fraction(float(box.low[0])) <= Fraction(word, 2**64)
        assert Fraction(float(box.high[0])) >= Fraction(word + 1, 2**64)
        assert box.high[0] - box.low[0] <= 2.0**-51

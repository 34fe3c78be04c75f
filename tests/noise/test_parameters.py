"""What callers pass: exact rationals of any type, shapes, levels; and the words of the refusals."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise import parameters

LIMITS = {"lower": Fraction(1, 2**57), "upper": Fraction(2**57)}


def test_numpy_integers_become_exact_rationals() -> None:
    value = parameters.rational("scale", np.int32(7), **LIMITS)
    assert value == 7
    assert type(value.numerator) is int


def test_shapes_from_sizes() -> None:
    assert parameters.shape(None) == ()
    assert parameters.shape(3) == (3,)
    assert parameters.shape(np.int64(3)) == (3,)
    assert parameters.shape((2, 0)) == (2, 0)


def test_a_level_is_the_fraction_that_the_float_is() -> None:
    assert parameters.probability_level(0.1) == Fraction(0.1) != Fraction(1, 10)
    assert parameters.probability_level(0) == 0


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
def test_refusals_name_the_value_and_the_range(value: object, text: str) -> None:
    with pytest.raises(InvalidParameterError, match=text):
        parameters.rational("scale", value, **LIMITS)

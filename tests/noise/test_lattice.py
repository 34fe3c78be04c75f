"""The lattice: rounding against exact rationals, totality, added sensitivity by brute force."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.noise.lattice import LARGEST_INTEGER, Lattice


@given(st.integers(-1000, 1000), st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_is_that_of_exact_rationals(exponent: int, value: float) -> None:
    lattice = Lattice(exponent)
    exact = round(Fraction(value) / lattice.grid)  # half to even
    assert lattice.to_integers(np.array([value]))[0] == max(-LARGEST_INTEGER, min(LARGEST_INTEGER, exact))
    assert lattice.bound(value) == exact


def test_ties_go_to_the_even_step() -> None:
    assert Lattice(1).to_integers(np.array([0.25, 0.75, 1.25, -0.25, -0.75])).tolist() == [0, 2, 2, 0, -2]


def test_every_float_has_an_integer() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0])
    big = LARGEST_INTEGER
    assert Lattice(1000).to_integers(values).tolist() == [0, big, -big, big, -big, 0, 0]


def test_rounding_stays_inside_rounded_bounds() -> None:
    lattice, values = Lattice(3), np.linspace(-2, 5, 1001)
    steps = lattice.to_integers(np.clip(values, -1.3, 4.2))
    assert steps.min() == lattice.bound(-1.3)
    assert steps.max() == lattice.bound(4.2)


@given(st.fractions(-(10**9), 10**9), st.fractions(-(10**9), 10**9), st.integers(1, 52))
def test_grid_for_bounds_is_the_finest_of_its_precision(a: Fraction, b: Fraction, precision: int) -> None:
    lattice = Lattice.for_bounds(min(a, b), max(a, b), precision=precision)
    reach = max(abs(a), abs(b))
    if reach:
        assert reach / lattice.grid <= 2**precision < 2 * reach / lattice.grid


def test_integers_come_back_exactly() -> None:
    steps = np.array([-(2**53), -1, 0, 3, 2**53])
    for exponent in (-20, 0, 7, 40):
        lattice = Lattice(exponent)
        assert np.array_equal(lattice.to_integers(lattice.to_reals(steps)), steps)
    assert Lattice(2).to_reals(np.array([2**70, -1], dtype=object)).tolist() == [2.0**68, -0.25]


def test_added_sensitivity_covers_every_pair_and_is_attained_nearly() -> None:
    """Brute force over pairs of vectors: rounding adds at most the stated amount, and nearly all of it."""
    lattice, points = Lattice(0), np.arange(-1.5, 1.51, 0.125)
    pairs = np.array(list(product(points, points)))
    moved = lattice.to_integers(pairs)
    for norm, order in (("l1", 1), ("l2", 2), ("linf", np.inf)):
        before = np.linalg.norm(pairs[:, None] - pairs[None], ord=order, axis=2)
        after = np.linalg.norm((moved[:, None] - moved[None]).astype(float), ord=order, axis=2)
        added = float(lattice.added_sensitivity(norm=norm, dimensions=2))
        assert (after - before).max() <= added
        assert (after - before).max() >= 0.8 * added


def test_added_sensitivity_scales_with_grid_and_dimensions() -> None:
    assert Lattice(3).added_sensitivity(norm="l1", dimensions=5) == Fraction(5, 8)
    assert Lattice(3).added_sensitivity(norm="linf", dimensions=5) == Fraction(1, 8)
    root = Lattice(3).added_sensitivity(norm="l2", dimensions=5)
    assert root**2 >= Fraction(5, 64) > (root - Fraction(1, 2**34)) ** 2


@pytest.mark.parametrize("exponent", [1001, -1001, 1.5, True, None])
def test_wrong_exponent_is_refused(exponent: object) -> None:
    with pytest.raises(InvalidParameterError, match="exponent must be"):
        Lattice(exponent)  # type: ignore[arg-type]


@pytest.mark.parametrize("bounds", [(2, 1), (float("nan"), 1), (0, float("inf")), ("0", 1), (True, 2)])
def test_wrong_bounds_are_refused(bounds: tuple[object, object]) -> None:
    with pytest.raises(InvalidParameterError, match=r"lower must|upper must"):
        Lattice.for_bounds(*bounds)  # type: ignore[arg-type]


def test_wrong_norm_precision_and_dimensions_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="norm must be"):
        Lattice(0).added_sensitivity(norm="l3")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="dimensions must be"):
        Lattice(0).added_sensitivity(norm="l1", dimensions=0)
    with pytest.raises(InvalidParameterError, match="precision must be"):
        Lattice.for_bounds(0, 1, precision=60)

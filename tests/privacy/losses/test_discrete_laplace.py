"""The curve against the enumerated law, on the line and on small vectors."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, DiscreteLaplaceLoss, LaplaceLoss, Sensitivity, of_clipped_sum, of_count
from deniable.privacy.losses.discrete_laplace import shift_delta

scales = st.fractions(min_value=Fraction(1, 5), max_value=20, max_denominator=30)


def enumerated(scale: Fraction, shift: int, epsilon: Fraction) -> mpmath.mpf:
    """Sum of (p(y - shift) - e^epsilon p(y))_+ with 40 digits; what is left out is below 10^-40."""
    with mpmath.workdps(50):
        b = mpmath.mpf(scale.numerator) / scale.denominator
        q = mpmath.exp(-1 / b)
        weight = lambda k: (1 - q) / (1 + q) * q ** abs(k)  # noqa: E731
        factor = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        reach = shift + int(100 * b) + 2
        return mpmath.fsum(max(weight(y - shift) - factor * weight(y), 0) for y in range(0, reach))


@given(scales, st.integers(0, 6), st.fractions(0, 1, max_denominator=50))
def test_the_curve_of_one_coordinate_is_the_enumerated_sum(scale: Fraction, shift: int, share: Fraction) -> None:
    epsilon = share * shift / scale
    found = shift_delta(scale, shift, epsilon)
    with mpmath.workdps(50):
        truth = enumerated(scale, shift, epsilon)
        assert mpmath.mpf(found.lower) * (1 - mpmath.mpf(10) ** -35) <= truth
        assert truth <= mpmath.mpf(found.upper) + mpmath.mpf(10) ** -38
    assert found.width <= 3e-15 * found.upper


def vector_delta(scale: float, change: tuple[int, ...], epsilon: float) -> float:
    """Enumeration over a box that misses less than 10^-9."""
    k = np.arange(-int(25 * scale) - 3, int(25 * scale) + 4 + max(map(abs, change)))
    p, q = np.array([1.0]), np.array([1.0])
    for c in change:
        law = lambda x: np.tanh(1 / (2 * scale)) * np.exp(-np.abs(x) / scale)  # noqa: E731
        p, q = np.outer(p, law(k - c)).ravel(), np.outer(q, law(k)).ravel()
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize(("rows", "groups"), [(1, 2), (2, 2), (1, 3)])
@pytest.mark.parametrize("scale", [1, 2])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_no_vector_of_the_class_exceeds_the_upper_end(rows: int, groups: int, scale: int, share: float) -> None:
    loss = DiscreteLaplaceLoss(scale, of_count(rows=rows, groups=groups, relation=AddRemove))
    epsilon = share * float(loss.pure_epsilon)
    worst = max(vector_delta(scale, change, epsilon) for change in itertools.product(range(rows + 1), repeat=groups))
    found = loss.delta(epsilon)
    assert found.lower - 1e-8 <= worst <= found.upper


def test_the_bound_for_vectors_is_below_randomised_response() -> None:
    from deniable.privacy import PureLoss

    loss = DiscreteLaplaceLoss(4, of_count(rows=1, groups=3, relation=AddRemove))
    assert loss.delta("0.3").upper < PureLoss(loss.pure_epsilon).delta("0.3").lower


def test_one_coordinate_is_sharp_and_the_charge_exact() -> None:
    loss = DiscreteLaplaceLoss("29/3", of_clipped_sum(lower=-3, upper=7, rows=2, groups=1, relation=AddRemove))
    assert loss.delta("0.4").width < 1e-15
    assert loss.charge().epsilon == Fraction(14 * 3, 29)
    assert loss.epsilon(0).contains(Fraction(42, 29))


def test_fine_lattices_approach_the_continuous_law() -> None:
    loss = DiscreteLaplaceLoss(10**9, of_clipped_sum(lower=0, upper=10**9, rows=1, groups=1, relation=AddRemove))
    assert loss.delta("0.3").upper == pytest.approx(LaplaceLoss(1).delta("0.3").upper, rel=1e-8)


def test_a_change_that_is_no_whole_number_is_rounded_down() -> None:
    """Integers move by whole numbers, so a bound of 5/2 is a bound of 2."""
    reach = Sensitivity(l1=Fraction(5, 2), l2_squared=Fraction(25, 4), linf=Fraction(5, 2), relation=AddRemove)
    assert DiscreteLaplaceLoss(4, reach).pure_epsilon == Fraction(1, 2)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="scale must be > 0"):
        DiscreteLaplaceLoss(0, of_count(rows=1, groups=1, relation=AddRemove))
    with pytest.raises(InvalidParameterError, match="of_count"):
        DiscreteLaplaceLoss(1, 1)  # type: ignore[arg-type]

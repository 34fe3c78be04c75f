"""The search against costs that are known in closed form."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.privacy.calibration.search import Domain, best_setting, closer_setting

ANY = Domain(lower=Fraction(1, 10**12), upper=Fraction(10**12), digits=6)
COUNTS = Domain(lower=Fraction(1), upper=Fraction(10**12), digits=None)


def power(exponent: float, at: float) -> Callable[[Fraction, float], float]:
    """ln(cost / target) of a cost that is a power of the setting and meets its target at `at`."""
    return lambda setting, tolerance: exponent * math.log(float(setting) / at)


@given(
    st.floats(-3, 3).filter(lambda exponent: abs(exponent) > 0.2),
    st.floats(1e-6, 1e6),
    st.sampled_from([1e-1, 1e-3, 1e-4]),
)
def test_a_power_is_met_from_the_private_side(exponent: float, at: float, tolerance: float) -> None:
    domain = Domain(lower=ANY.lower, upper=ANY.upper, digits=8)
    found = best_setting(power(exponent, at), domain, tolerance)
    assert -tolerance <= power(exponent, at)(found, tolerance) <= 0


@given(st.floats(1, 1e9), st.floats(0.3, 2))
def test_the_largest_count_is_found(at: float, exponent: float) -> None:
    found = best_setting(power(exponent, at), COUNTS, 1e-3)
    assert found.denominator == 1
    assert power(exponent, at)(found, 0) <= 0 < power(exponent, at)(found + 1, 0)


@given(st.floats(1e-4, 1e4), st.booleans())
def test_a_step_without_a_slope_is_found_by_halving(at: float, upward: bool) -> None:
    def excess(setting: Fraction, tolerance: float) -> float:
        return -math.inf if (setting >= at) == upward else math.inf

    found = best_setting(excess, ANY, 1e-3)
    assert found == ANY.nearest(math.log(at), upward=upward) or float(found) == pytest.approx(at, rel=1e-4)
    assert excess(found, 0) < 0


def test_the_first_trials_are_coarse_and_the_answer_is_judged_finely() -> None:
    asked: list[tuple[Fraction, float]] = []

    def excess(setting: Fraction, tolerance: float) -> float:
        asked.append((setting, tolerance))
        return math.log(7.7 / float(setting)) + tolerance / 3  # what a coarse trial adds to the cost

    found = best_setting(excess, ANY, 1e-4)
    assert (found, 1e-4) in asked
    assert {width for _, width in asked} == {0.05, 1e-4}
    assert sum(width == 1e-4 for _, width in asked) <= 3
    assert float(found) == pytest.approx(7.7, rel=1e-3)


def test_an_integer_is_refined_by_a_few_fine_trials() -> None:
    asked: list[tuple[Fraction, float]] = []

    def excess(setting: Fraction, tolerance: float) -> float:
        asked.append((setting, tolerance))
        return math.log(float(setting) / 277.9)

    assert closer_setting(excess, COUNTS, 1e-4, Fraction(276)) == 277
    assert {width for _, width in asked} == {1e-4}
    assert len(asked) <= 6
    assert closer_setting(excess, COUNTS, 1e-9, Fraction(277)) == 277


def test_nothing_outside_the_domain_is_tried() -> None:
    domain = Domain(lower=Fraction(1, 10**12), upper=Fraction(1), digits=6)
    asked: list[Fraction] = []

    def excess(setting: Fraction, tolerance: float) -> float:
        asked.append(setting)
        return math.log(setting / 5)

    assert best_setting(excess, domain, 1e-3) == 1  # even the largest is private
    assert max(asked) <= 1


def test_one_possible_setting_is_taken_if_it_is_private() -> None:
    only = Domain(lower=Fraction(3), upper=Fraction(3), digits=None)
    assert best_setting(power(1, 4), only, 1e-3) == 3
    with pytest.raises(InvalidParameterError, match="no setting from 3 to 3"):
        best_setting(power(1, 2), only, 1e-3)


def test_a_cost_that_never_meets_its_target_is_an_error() -> None:
    with pytest.raises(InvalidParameterError, match="no setting"):
        best_setting(lambda setting, tolerance: 1.0, ANY, 1e-3)
    with pytest.raises(InvalidParameterError, match="no setting"):
        best_setting(lambda setting, tolerance: math.inf, COUNTS, 1e-3)
    with pytest.raises(InvalidParameterError, match="no setting"):
        best_setting(lambda setting, tolerance: 1 + 1 / float(setting), ANY, 1e-3)

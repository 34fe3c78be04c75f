"""Laws made from points of a curve: on the right side everywhere, in both directions, and in compositions."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.privacy import GaussianLoss
from deniable.privacy.pld.accountant import RepeatedPair, composed_epsilon
from deniable.privacy.pld.curve_law import exp_epsilon_grid, heights_above, heights_around, law_above, law_below
from deniable.privacy.pld.law import FiniteLaw

GAUSSIAN = GaussianLoss(2)


def upper(epsilon: Fraction) -> float:
    return GAUSSIAN.statement.curve(epsilon).upper


def lower(epsilon: Fraction) -> float:
    return GAUSSIAN.statement.curve(epsilon).lower


def curve_of(law: FiniteLaw, odds: float) -> float:
    """The curve of a finite law at x, summed over its atoms."""
    atoms = law.atoms()
    assert atoms is not None
    return law.infinite + float(np.maximum(atoms.p - odds * atoms.q, 0).sum())


@pytest.fixture(scope="module")
def laws() -> tuple[FiniteLaw, FiniteLaw]:
    odds = exp_epsilon_grid(upper, None, 200)
    above, around = heights_above(upper, odds), heights_around(lower, upper, odds)
    return law_above(above, above), law_below(around, around)


@pytest.mark.parametrize("epsilon", [-3.0, -1.0, -0.1, 0.0, 0.05, 0.3, 1.0, 2.0, 4.0])
def test_the_laws_enclose_a_gaussian_in_both_directions(laws: tuple[FiniteLaw, FiniteLaw], epsilon: float) -> None:
    above, below = laws
    x, truth = math.exp(epsilon), GAUSSIAN.delta(abs(epsilon)).upper
    if epsilon < 0:
        truth = 1 - x + x * truth
    assert curve_of(below, x) <= truth * (1 + 1e-12)
    assert truth <= curve_of(above, x) * (1 + 1e-12)
    assert curve_of(above, x) <= truth * (1 + 0.06)
    assert curve_of(below, x) >= truth * (1 - 0.3)


@pytest.mark.parametrize("count", [3, 100])
def test_compositions_enclose_the_exact_one(laws: tuple[FiniteLaw, FiniteLaw], count: int) -> None:
    exact = (GAUSSIAN * count).epsilon("1e-6")
    high, low = (composed_epsilon([[RepeatedPair(law, count)]], Fraction(1, 10**6), 1e-3) for law in laws)
    assert low.lower <= exact.upper
    assert exact.lower <= high.upper
    assert high.upper - low.lower <= 8e-3 * exact.upper


def test_a_twin_through_the_points_themselves_is_not_below(laws: tuple[FiniteLaw, FiniteLaw]) -> None:
    """The chords of a convex curve are above it: without the kinks the lower law would not be lower."""
    assert curve_of(laws[0], math.exp(0.317)) > GAUSSIAN.delta(0.317).upper


def exact_curve(p: list[int], q: list[int]) -> Callable[[Fraction], float]:
    total = sum(p), sum(q)
    return lambda epsilon: float(
        sum(max(a / total[0] - math.exp(epsilon) * b / total[1], 0) for a, b in zip(p, q, strict=True))
    )


masses = st.lists(st.integers(1, 20), min_size=4, max_size=4)


@given(masses, masses, st.floats(-3, 3))
def test_pairs_that_are_not_symmetric_are_enclosed(p: list[int], q: list[int], epsilon: float) -> None:
    there, back = exact_curve(p, q), exact_curve(q, p)
    sides = []
    for curve in (there, back):
        high = lambda e, curve=curve: curve(e) * (1 + 1e-12)  # noqa: E731
        low = lambda e, curve=curve: curve(e) * (1 - 1e-12)  # noqa: E731
        odds = exp_epsilon_grid(high, Fraction(4), 40)
        sides.append((heights_above(high, odds), heights_around(low, high, odds)))
    truth = there(epsilon)  # type: ignore[arg-type]
    x = math.exp(epsilon)
    assert curve_of(law_above(sides[0][0], sides[1][0]), x) >= truth * (1 - 1e-9) - 1e-12
    assert curve_of(law_below(sides[0][1], sides[1][1]), x) <= truth * (1 + 1e-9) + 1e-12

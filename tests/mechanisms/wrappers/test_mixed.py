"""Mixtures with public weights, and why weights may not depend on the data."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms import Gaussian, Laplace
from deniable.mechanisms.wrappers import Mixed
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, of_count
from tests.mechanisms.wrappers.laws import noisy

REACH = of_count(rows=1, groups=1, relation=AddRemove)
FINE, COARSE = Laplace(scale=Fraction(2)), Laplace(scale=Fraction(20))


def test_the_loss_is_the_mean_of_the_deltas() -> None:
    """Inventory 30: delta is at most p d1 + (1 - p) d2."""
    loss = Mixed(parts=(("1/4", FINE), ("3/4", COARSE))).privacy_loss(REACH)  # type: ignore[arg-type]
    for epsilon in (0, 0.02, 0.3):
        deltas = [part.privacy_loss(REACH).delta(epsilon).upper for part in (FINE, COARSE)]
        assert loss.delta(epsilon).upper == pytest.approx(deltas[0] / 4 + 3 * deltas[1] / 4, rel=1e-6)


def test_weights_that_depend_on_the_data_break_the_guarantee() -> None:
    """Fine noise on tables with a count of 0, coarse noise on others: both 0.5-DP, the choice is not.

    One outcome far away has a loss above 9, and weights given as a function are refused.
    """
    chances = [noisy(part, count) for part, count in ((FINE, 0), (COARSE, 1))]
    assert FINE.privacy_loss(REACH).pure_epsilon == Fraction(1, 2)
    assert math.log(chances[1][225] / chances[0][225]) > 9
    with pytest.raises(UnprovedError, match="depend on the data"):
        Mixed(parts=((lambda count: count == 0, FINE), (lambda count: count != 0, COARSE)))  # type: ignore[arg-type]


def test_parts_are_drawn_with_their_weights() -> None:
    """Noise-free parts would tell: 30,000 draws within six standard deviations of 1/6, 1/3, 1/2."""
    weights = [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]
    mechanism = Mixed(parts=tuple((weight, FINE) for weight in weights))
    counts = np.bincount(mechanism._drawn(30_000, DeterministicBits(3)), minlength=3)
    for weight, count in zip(weights, counts, strict=True):
        assert abs(count - 30_000 * weight) < 6 * math.sqrt(30_000 * weight * (1 - weight))


def test_a_release_is_that_of_one_part() -> None:
    quiet = Laplace(scale=Fraction(1, 1000))
    found = Mixed(parts=((Fraction(1), quiet),)).release([5, 6])
    assert found.value.tolist() == [5, 6]
    assert found.safe


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((("1/2", FINE),), "sum to 1"),
        (((0, FINE), (1, COARSE)), "weight"),
        ((FINE, COARSE), "pairs"),
        ((), "sum to 1"),
        (((1, "laplace"),), "at once"),
    ],
)
def test_parts_are_checked(parts: tuple[object, ...], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Mixed(parts=parts)  # type: ignore[arg-type]


def test_parts_for_different_budgets_are_charged_with_the_larger() -> None:
    mixed = Mixed(parts=(("1/2", FINE), ("1/2", Gaussian(sigma_squared=Fraction(400)))))  # type: ignore[arg-type]
    loss = mixed.privacy_loss(REACH)
    assert loss.charge().rho == FINE.privacy_loss(REACH).rho
    assert loss.charge().epsilon is None

"""The bound on the divergences of Skellam noise against sums over its law."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import special

from deniable.privacy import AddRemove, PrivacyLoss, Replace
from deniable.privacy.losses.integer_noise import of_one_integer
from deniable.privacy.losses.skellam import skellam_statement
from deniable.privacy.sensitivity.vectors import of_ball_sum


def divergence(variance: Fraction, shift: int, order: int) -> float:
    """Of one noisy integer and the same moved by `shift`, summed over all numbers of a chance above 1e-250."""
    span = np.arange(-2000, 2001)
    mass = special.ive(np.abs(span), float(variance))  # I_k(v) exp(-v)
    mass, moved = mass[:-shift], mass[shift:]
    kept = (mass > 1e-250) & (moved > 1e-250)
    terms = np.exp(order * np.log(mass[kept]) - (order - 1) * np.log(moved[kept]))
    assert terms[[0, -1]].max() < 1e-40
    return float(np.log(terms.sum()) / (order - 1))


def test_the_bound_is_above_the_law_and_one_for_a_tenth_less_noise_is_needed() -> None:
    least = np.inf
    for variance, shift, order in product([Fraction(1, 2), Fraction(3), Fraction(40)], [1, 2, 5], [2, 3, 8]):
        exact, reach = divergence(variance, shift, order), of_one_integer(shift, AddRemove)
        bound, twin = (
            skellam_statement(variance * more, reach).divergence(order).upper for more in (1, Fraction(11, 10))
        )
        assert exact <= bound
        least = min(least, twin / exact)
    assert least < 0.98


def test_coordinates_add_up_and_units_that_are_replaced_move_twice_as_far() -> None:
    """(3, 4) is a change of norm 5: its divergence is below the bound for every vector of that norm."""
    for order in (2, 5):
        exact = divergence(Fraction(30), 3, order) + divergence(Fraction(30), 4, order)
        reach = of_ball_sum(radius=5, dimensions=2, rows=1, relation=AddRemove)
        assert exact <= skellam_statement(30, reach).divergence(order).upper <= exact * 1.25
    double = of_ball_sum(radius=5, dimensions=1, rows=1, relation=Replace)
    assert skellam_statement(30, double) == skellam_statement(30, of_one_integer(10, Replace))


def test_it_comes_near_to_gaussian_noise_on_a_fine_lattice() -> None:
    """Ten steps of noise multiplier 8: rho = 10/128, whose conversion is 1.6 at 1e-5 or so."""
    reach = of_ball_sum(radius=1000, dimensions=50, rows=1, relation=AddRemove)
    loss = skellam_statement(8000**2, reach, releases=10)
    assert loss.divergence(8).upper == pytest.approx(8 * 10 / 128, rel=1e-4)
    assert 1.4 < PrivacyLoss(loss).epsilon("1e-5").upper < 1.8

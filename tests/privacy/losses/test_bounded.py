"""The worst pair of bounded losses, against a linear programme and published curves."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.privacy import PureLoss
from deniable.privacy.losses.bounded import bounded_delta, bounded_law


@pytest.mark.parametrize(("most", "least"), [("1", "1"), ("1/2", "3/2"), ("4", "1/10")])
def test_the_worst_pair_of_bounded_losses(most: str, least: str) -> None:
    """Its law gives its curve, and a linear programme over pairs with such losses finds nothing above."""
    from scipy.optimize import linprog

    a, b = Fraction(most), Fraction(least)
    law = bounded_law(float(a), float(b))
    losses = np.linspace(-float(b), float(a), 41)
    for epsilon in (0.0, 0.3):
        stated = bounded_delta(a, b, Fraction(str(epsilon))).upper
        tails = law.above(np.array([epsilon]))
        assert float(tails.p[0] - math.exp(epsilon) * tails.q[0]) == pytest.approx(stated, rel=1e-12)
        gains = np.maximum(1 - np.exp(epsilon - losses), 0)  # per mass of P at each loss; Q has mass p exp(-loss)
        found = linprog(-gains, A_eq=[np.ones(41), np.exp(-losses)], b_eq=[1, 1], bounds=(0, None))
        assert -found.fun == pytest.approx(stated, rel=1e-7)


def test_equal_ends_are_randomised_response() -> None:
    for epsilon in (Fraction(0), Fraction(1, 3), Fraction(7, 8)):
        assert bounded_delta(Fraction(7, 8), Fraction(7, 8), epsilon) == PureLoss("7/8").delta(epsilon)


def test_masses_sum_to_one_and_have_their_losses() -> None:
    atoms = bounded_law(2.0, 0.25).atoms()
    assert atoms is not None
    assert atoms.p.sum() == pytest.approx(1, abs=1e-15)
    assert atoms.q.sum() == pytest.approx(1, abs=1e-15)
    assert np.log(atoms.p / atoms.q) == pytest.approx([-0.25, 2.0])

import math
from fractions import Fraction

import pytest

from deniable.privacy import ConcentratedLoss, GaussianLoss


def test_golden_values() -> None:
    """golden.md G21 and G23."""
    assert ConcentratedLoss("0.5").epsilon("1e-5").upper == pytest.approx(4.7283869849433139, rel=1e-6)
    assert ConcentratedLoss("2.63").epsilon("1e-10").upper == pytest.approx(17.430584487345112315, rel=1e-6)


def test_the_gaussian_mechanism_is_one_of_them() -> None:
    assert ConcentratedLoss("1/2").delta(2).lower == GaussianLoss(1).delta(2).lower
    assert ConcentratedLoss("1/2").delta(2).upper > GaussianLoss(1).delta(2).upper


def test_the_edges() -> None:
    assert ConcentratedLoss(0).epsilon(0).upper == 0
    assert ConcentratedLoss(1).epsilon(0).lower == math.inf
    assert ConcentratedLoss(1).charge().rho == 1
    assert ConcentratedLoss(1).charge().epsilon is None
    assert repr(ConcentratedLoss("0.5")) == "ConcentratedLoss('1/2')"
    assert (ConcentratedLoss("0.25") * 2).rho == Fraction(1, 2)

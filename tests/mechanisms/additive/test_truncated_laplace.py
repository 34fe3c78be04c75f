"""Noise with a bound: calibration to a pair, the density that is printed wrongly, bad input."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace, TruncatedLaplace
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Sensitivity, of_count
from deniable.privacy.constructors import DiscreteTruncatedLaplaceLoss, TruncatedLaplaceLoss

COUNT = of_count(rows=1, groups=1, relation=AddRemove)


@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "1e-6"), ("2", "1e-3"), ("0.01", "1/2"), ("3", "1e-12")])
@pytest.mark.parametrize("rows", [1, 7])
def test_the_bound_is_the_least_integer_that_is_private(epsilon: str, delta: str, rows: int) -> None:
    reach = of_count(rows=rows, groups=1, relation=AddRemove)
    found = TruncatedLaplace.calibrated(reach, epsilon=epsilon, delta=delta)
    assert found.scale == Fraction(rows) / Fraction(epsilon)
    assert Fraction(found.privacy_loss(reach).delta(epsilon).upper) <= Fraction(delta)
    if found.bound > rows:
        below = DiscreteTruncatedLaplaceLoss(found.scale, found.bound - 1, reach)
        assert Fraction(below.delta(epsilon).lower) > Fraction(delta)


def test_the_density_of_the_notes_has_no_mass_and_no_tau() -> None:
    """E19: density e^(-|z|/tau)/(2 tau) on |z| <= tau has mass 1 - 1/e. With the mass put right, tau is
    scale ln(1 + (e^epsilon - 1)/(2 delta)) = 25.3792287 at epsilon 1/2, delta 10^-6, and delta comes out as stated."""
    assert 1 - math.exp(-1) == pytest.approx(0.6321, abs=1e-4)
    real = TruncatedLaplaceLoss.for_target("1/2", "1e-6")
    assert float(real.statement.bound) == pytest.approx(25.3792287, abs=1e-7)
    assert real.delta("1/2").upper == pytest.approx(1.0000e-6, rel=1e-4)
    found = TruncatedLaplace.calibrated(COUNT, epsilon="1/2", delta="1e-6")
    assert found.scale == 2
    assert abs(found.bound - 25.3792287) <= 1  # the integers need about as much


def test_the_same_tau_serves_a_vector() -> None:
    """Inventory 65: the l1 sensitivity alone decides the calibration."""
    vector = Sensitivity(l1=3, l2_squared=3, linf=1, relation=AddRemove, coordinates=3)
    scalar = of_count(rows=3, groups=1, relation=AddRemove)
    pair = {"epsilon": 1, "delta": "1e-6"}
    assert TruncatedLaplace.calibrated(vector, **pair) == TruncatedLaplace.calibrated(scalar, **pair)


def test_no_answer_is_further_off_than_the_bound() -> None:
    mechanism = TruncatedLaplace(scale=50, bound=20)
    noisy = mechanism.release(np.full(100_000, 7), bits=DeterministicBits(1)).value
    assert (noisy.min(), noisy.max()) == (7 - 20, 7 + 20)
    assert mechanism.half_width(1 - 1e-12) == 20
    assert mechanism.standard_deviation() < Laplace(scale=50).standard_deviation()


@pytest.mark.parametrize("delta", [0, -1, 1, "much", float("nan")])
def test_wrong_delta_is_refused(delta: object) -> None:
    with pytest.raises(InvalidParameterError, match="delta must be"):
        TruncatedLaplace.calibrated(COUNT, epsilon=1, delta=delta)


@pytest.mark.parametrize(
    "given",
    [{"scale": 0}, {"scale": "1e400"}, {"scale": Fraction(2**58)}, {"bound": 0}, {"bound": 1.5}, {"bound": 2**63}],
)
def test_bad_parameters_are_refused_before_anything_is_spent(given: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError, match=f"{next(iter(given))} must be"):
        TruncatedLaplace(**{"scale": 1, "bound": 5, **given})


def test_a_bound_below_the_sensitivity_has_no_loss() -> None:
    with pytest.raises(InvalidParameterError, match="reveal the unit"):
        TruncatedLaplace(scale=1, bound=2).privacy_loss(of_count(rows=3, groups=1, relation=AddRemove))

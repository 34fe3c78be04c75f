"""Group privacy of releases: E08."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Gaussian, Laplace
from deniable.mechanisms.wrappers import Grouped
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, ApproximateLoss, of_count

REACH = of_count(rows=1, groups=1, relation=AddRemove)


def test_a_group_costs_its_size_times_epsilon() -> None:
    loss = Grouped(base=Laplace(scale=Fraction(10)), size=4).privacy_loss(REACH)
    assert loss.charge().epsilon == Fraction(4, 10)


def test_delta_grows_by_more_than_the_size_of_the_group() -> None:
    """E08: for groups of 5 delta(5 epsilon) of fine Gaussian noise exceeds 5 delta, and is below the right bound."""
    mechanism = Gaussian(sigma_squared=Fraction(120))
    one = mechanism.privacy_loss(REACH)
    delta = one.delta("0.5").lower
    five = Grouped(base=mechanism, size=5).privacy_loss(REACH).delta("2.5")
    assert five.lower > 5 * delta
    assert five.upper < one.delta("0.5").upper * math.expm1(2.5) / math.expm1(0.5)
    assert ApproximateLoss("0.5", "1e-6").group(5).charge().delta == pytest.approx(1.724e-5, rel=1e-3)


def test_the_release_is_that_of_the_mechanism() -> None:
    base = Laplace(scale=Fraction(10))
    found = Grouped(base=base, size=4).release([1, 2], bits=DeterministicBits(1))
    assert np.array_equal(found.value, base.release([1, 2], bits=DeterministicBits(1)).value)


def test_the_size_is_checked() -> None:
    with pytest.raises(InvalidParameterError, match="size"):
        Grouped(base=Laplace(scale=Fraction(10)), size=0)
    with pytest.raises(InvalidParameterError, match="size must be <= 10000"):  # as far as its loss is proved
        Grouped(base=Laplace(scale=Fraction(10)), size=10_001)

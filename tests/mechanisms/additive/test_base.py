"""What additive noise does with integers, whatever its law."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import BoundedLaplace, Gaussian, Laplace, Snapping, Staircase, TruncatedLaplace
from deniable.mechanisms.base import WorstCase
from deniable.noise.bits import SECURE, DeterministicBits
from deniable.privacy import AddRemove, Sensitivity, of_count

LIMIT = 2**63 - 1


@pytest.mark.parametrize(
    "exact",
    [
        np.array([0.5, 1.0]),
        np.array([np.nan]),
        [1, 2.0],
        [True, False],
        np.array(["1"]),
        np.array([1, 2.5], dtype=object),
        np.array([True], dtype=object),
        [None],
    ],
)
def test_anything_but_integers_is_refused_without_naming_a_value(exact: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"exact must hold integers, got an array of \S+\. Put") as caught:
        Laplace(scale=1).release(exact)
    assert "2.5" not in str(caught.value)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64, object])
def test_every_integer_type_gives_the_same_release(dtype: type) -> None:
    exact = np.array([[1, 2, 100]]).astype(dtype)
    noisy = Laplace(scale=3).release(exact, bits=DeterministicBits(5))
    assert noisy.value.dtype == np.int64
    assert noisy.value.shape == (1, 3)
    assert np.array_equal(noisy.value, Laplace(scale=3).release([[1, 2, 100]], bits=DeterministicBits(5)).value)


def test_lists_of_large_integers_of_either_sign_are_integers() -> None:
    noisy = Laplace(scale=1).release([2**63, -1, 2**70], bits=DeterministicBits(3)).value
    assert all(abs(int(a) - b) < 100 for a, b in zip(noisy, [2**63, -1, 2**70], strict=True))


def test_a_scalar_stays_a_scalar() -> None:
    assert Laplace(scale=1).release(7, bits=SECURE).value.shape == ()


def test_sums_beyond_64_bits_are_exact() -> None:
    exact = np.array([2**100, -(2**90), 5], dtype=object)
    noisy = Laplace(scale=10).release(exact, bits=DeterministicBits(1)).value
    assert noisy.dtype == object
    assert all(abs(int(a) - int(b)) < 1000 for a, b in zip(noisy, exact, strict=True))


@pytest.mark.parametrize("sign", [1, -1])
def test_noise_at_the_edge_of_64_bits_does_not_wrap(sign: int) -> None:
    exact = np.full(64, sign * LIMIT)
    noisy = Laplace(scale=2**40).release(exact, bits=DeterministicBits(2)).value
    assert noisy.dtype == object
    assert all(abs(int(value) - sign * LIMIT) < 2**50 for value in noisy)
    assert any(int(value) * sign > LIMIT for value in noisy)


def test_a_test_stream_makes_the_release_unsafe() -> None:
    assert not Laplace(scale=1).release([1], bits=DeterministicBits(0)).safe
    assert Laplace(scale=1).release([1]).safe


def test_outcomes_are_sums_of_entries() -> None:
    case = WorstCase(
        mechanism=Laplace(scale="1/1000"),  # no noise to speak of
        sensitivity=of_count(rows=3, groups=2, relation=AddRemove),
        exact=(3, 0),
        neighbour=(0, 1),
    )
    exact, neighbour = case.outcomes(5, bits=DeterministicBits(0))
    assert exact.tolist() == [3] * 5
    assert neighbour.tolist() == [1] * 5


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(scale=3),
        Gaussian(sigma_squared=9),
        TruncatedLaplace(scale=3, bound=20),
        Staircase(rate=1, step=3, centre=1),
        BoundedLaplace(scale=3, bounds=(0, 30)),
        Snapping(scale=3, bound=30),
    ],
    ids=lambda mechanism: mechanism.kind,
)
def test_levels_are_read_alike(mechanism: Any) -> None:
    """Text was refused by some, and a float was the binary number beside what its text says."""
    wanted = mechanism.half_width(Fraction(19, 20))
    for level in (0.95, "0.95", "19/20", Decimal("0.95"), np.float32(0.95), np.float64(0.95)):
        assert mechanism.half_width(level) == wanted
    assert mechanism.half_width(0) <= wanted
    for wrong in (1, -0.1, "word", None, True, np.nan, [0.95]):
        with pytest.raises(InvalidParameterError, match="level must be"):
            mechanism.half_width(wrong)
    with pytest.raises(InvalidParameterError, match=r"half_width takes no levl\. Did you mean level"):
        mechanism.half_width(levl=0.5)


def test_what_no_unit_moves_has_a_loss_of_zero_with_any_noise() -> None:
    still = Sensitivity(l1=0, l2_squared=0, linf=0, relation=AddRemove)
    for mechanism in (Laplace(scale=3), Gaussian(sigma_squared=9), Snapping(scale=3, bound=30)):
        assert mechanism.privacy_loss(still).delta(0).upper == 0


@pytest.mark.parametrize("noise", [Laplace(scale=Fraction(7, 2)), Gaussian(sigma_squared=Fraction(20)),
    TruncatedLaplace(scale=Fraction(3), bound=9), Staircase(rate=Fraction(1), step=4, centre=2)], ids=repr)  # fmt: skip
@pytest.mark.parametrize("level", ["0.5", "0.9", "0.99"])
def test_a_half_width_is_missed_on_both_sides_together_as_seldom_as_said(noise: Any, level: str) -> None:
    """By the masses of the law, and by no less: one step nearer it is missed more often."""
    width, miss = noise.half_width(level), 1 - float(level)
    inside = [float(noise._mass(abs(k))) for k in range(-width, width + 1)]
    assert 1 - sum(inside) <= miss + 1e-12
    assert 1 - sum(inside[1:-1]) > miss - 1e-12

"""The precision test against numpy's noise, where it succeeds, and against ours, where it must not."""

from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable.attacks.implementation import addable, distinguish_by_precision, grain, read_precision
from deniable.attacks.implementation.precision import judge_exclusions
from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from tests.attacks.implementation.ours import group_sums

DICE = np.random.default_rng(20)
ALL, NONE = np.ones(4, dtype=bool), np.zeros(4, dtype=bool)


def test_grain_is_the_denominator() -> None:
    """Second route: the denominators of the same doubles as fractions."""
    outputs = DICE.normal(size=50) * 2.0 ** DICE.integers(-60, 2, size=50)
    expected = [1 - Fraction(float(output)).denominator.bit_length() for output in outputs]
    assert grain(outputs).tolist() == expected
    assert grain([6, -8, 0, 5e-324]).tolist() == [1, 3, 1024, -1074]


@pytest.mark.parametrize("noise", ["laplace", "normal"])
def test_more_than_a_quarter_of_numpy_noise_is_too_fine_for_the_neighbour(noise: str) -> None:
    """Published: the predicate "multiple of 2^-53" fails for over 1/4 around 0 and never around 1; 3% at scale 10.

    20,000 draws: the share is within 0.012 with probability 1 - 1e-4.
    """
    draws = getattr(DICE, noise)(size=20_000)
    assert np.mean(grain(draws) < -53) > 0.24
    assert np.mean(grain(draws + 1) < -53) == 0
    assert 0.01 < np.mean(grain(10 * draws) < -53) < 0.04
    first, second = draws[:2000], 1 + draws[2000:4000]
    result = distinguish_by_precision(first, second, centers=(0, 1))
    assert result.success.lower > 0.6
    assert result.facts is not None
    assert result.facts["outputs of the second input that the first cannot give"] == "0.0%"


def test_a_sum_is_addable_from_its_own_center() -> None:
    """No false verdict: c + n is always found possible for c, at all sizes of either."""
    centers = DICE.normal(size=300) * 2.0 ** DICE.integers(-40, 40, size=300)
    noise = DICE.normal(size=300) * 2.0 ** DICE.integers(-40, 40, size=300)
    assert all(addable([center + one], center)[0] for center, one in zip(centers, noise, strict=True))


def test_what_is_not_addable_has_no_addend() -> None:
    """Second route: all doubles n that are candidates, around -1, are tried, and none gives 3/4 of 2^-52."""
    near = -1 + np.ldexp(np.arange(-64.0, 64), -53)
    assert not np.any(1 + near == 0.75 * 2.0**-52)
    assert not addable([0.75 * 2.0**-52], 1.0)[0]
    assert addable([0.75 * 2.0**-52], 0.0)[0]


def test_numbers_rounded_to_decimals_are_no_evidence() -> None:
    rounded = np.round(DICE.laplace(size=300), 3)
    assert not read_precision(rounded).succeeded
    assert np.mean(grain(rounded) < -53) > 0.05  # the bare predicate would accuse them


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_private_sums_give_nothing_away(delta: float | None) -> None:
    first, second = group_sums(0, delta=delta), group_sums(1, delta=delta)
    result = distinguish_by_precision(first, second, centers=(0, 1))
    assert result.success.value == result.baseline
    assert not read_precision(np.concatenate([first, second])).succeeded


@pytest.mark.parametrize("mechanism", [dn.mechanisms.Laplace(scale=2), dn.mechanisms.Gaussian(sigma_squared=4)])
def test_our_mechanisms_give_nothing_away(mechanism: dn.mechanisms.Mechanism) -> None:
    first, second = (mechanism.release([secret] * 500, bits=DeterministicBits(secret)).value for secret in (0, 1))
    assert not distinguish_by_precision(first, second, centers=(0, 1)).succeeded


@pytest.mark.parametrize(("given", "centers"), [([], (0, 1)), ([np.nan], (0, 1)), ([1.5], (0,))])
def test_nothing_to_read_is_refused(given: list[float], centers: tuple[float, ...]) -> None:
    with pytest.raises(InvalidParameterError, match=r"outputs must|centers must"):
        read_precision(given, centers=centers)


@pytest.mark.parametrize(
    ("first", "second", "right"),
    [
        ((ALL, NONE), (NONE, ALL), 8),
        ((ALL, ALL), (ALL, ALL), 4),  # nothing is excluded: the baseline
        ((NONE, ALL), (ALL, NONE), 0),  # wrong exclusions are wrong answers
        ((ALL, np.array([True, True, False, False])), (ALL, ALL), 6),  # 2 + 4, not 2 + 2
    ],
)
def test_exclusions_name_the_input(first: tuple[np.ndarray, ...], second: tuple[np.ndarray, ...], right: int) -> None:
    """By hand; what both can give names the input that leaves more of it."""
    result = judge_exclusions("Test", first, second, {})  # type: ignore[arg-type]
    assert (result.success.right, result.baseline) == (right, 0.5)
    assert result.succeeded == (right == 8)

"""Uniform integers: the law, the words that are refused, the limits."""

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.noise import uniform
from deniable.noise.bits import DeterministicBits
from tests.noise.streams import ScriptedBits


def test_integers_are_uniform_and_remainders_of_a_wider_range_are_not() -> None:
    """Chi-square, false alarm 1e-6; the twin draws remainders of numbers below 16, which favours those below 4."""
    counts = np.bincount(uniform.sample(np.full(60_000, 6), bits=DeterministicBits(1)), minlength=6)
    assert stats.chisquare(counts).pvalue > 1e-6
    broken = np.bincount(uniform.sample(np.full(60_000, 16), bits=DeterministicBits(1)) % 6, minlength=6)
    assert stats.chisquare(broken).pvalue < 1e-12


def test_words_above_the_largest_multiple_are_drawn_again() -> None:
    """2^64 = 1 mod 3, so exactly the last word is refused; 2^64 = 0 mod 4, so none is."""
    assert uniform.sample(np.array([3]), bits=ScriptedBits([2**64 - 1, 7])).tolist() == [1]
    assert uniform.sample(np.array([3]), bits=ScriptedBits([2**64 - 2])).tolist() == [2]
    assert uniform.sample(np.array([4]), bits=ScriptedBits([2**64 - 1])).tolist() == [3]


def test_each_limit_has_its_own_range_and_shape_is_kept() -> None:
    limits = np.array([[1, 2], [2**62, 2**63 - 1]])
    found = uniform.sample(limits, bits=DeterministicBits(2))
    assert found.shape == (2, 2)
    assert (found >= 0).all()
    assert (found < limits).all()
    assert found[0, 0] == 0
    assert uniform.sample(np.array([2**63], dtype=np.uint64), bits=ScriptedBits([2**63 - 1]))[0] == 2**63 - 1


@pytest.mark.parametrize(
    "limits", [np.array([0]), np.array([-1]), np.array([1.0]), [3], np.array([2**63 + 1], dtype=np.uint64)]
)
def test_wrong_limits_are_refused(limits: object) -> None:
    with pytest.raises(InvalidParameterError, match="limits must be"):
        uniform.sample(limits)  # type: ignore[arg-type]


def test_one_limit_for_all() -> None:
    """The twin of the first test, for `below`; 2^64 = 1 mod 3, so exactly the last word is refused."""
    counts = np.bincount(uniform.below(6, size=60_000, bits=DeterministicBits(2)), minlength=6)
    assert stats.chisquare(counts).pvalue > 1e-6
    broken = np.bincount(uniform.below(16, size=60_000, bits=DeterministicBits(2)) % 6, minlength=6)
    assert stats.chisquare(broken).pvalue < 1e-12
    assert uniform.below(3, size=1, bits=ScriptedBits([2**64 - 1, 7])).tolist() == [1]
    assert uniform.below(2**63, bits=ScriptedBits([2**64 - 1])) == 2**63 - 1
    assert uniform.below(1, size=(2, 3)).tolist() == [[0] * 3] * 2


@pytest.mark.parametrize("limit", [0, 2**63 + 1, 2.0, True])
def test_a_wrong_limit_for_all_is_refused(limit: object) -> None:
    with pytest.raises(InvalidParameterError, match="limit must be"):
        uniform.below(limit)  # type: ignore[arg-type]


def test_words_that_agree_are_drawn_again() -> None:
    """The first three would leave two orders unlike the others."""
    assert uniform.permutation(3, bits=ScriptedBits([4, 4, 1, 3, 1, 2])).tolist() == [1, 2, 0]
    drawn = [tuple(uniform.permutation(3, bits=bits)) for bits in [DeterministicBits(3)] for _ in range(6000)]
    assert stats.chisquare(np.unique(drawn, axis=0, return_counts=True)[1]).pvalue > 1e-6

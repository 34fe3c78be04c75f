"""Skellam draws against their law in mpmath, word by word and as a whole."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.noise import skellam
from deniable.noise.bits import DeterministicBits
from tests.noise.goodness import ALARM, p_value
from tests.noise.streams import ScriptedBits

VARIANCES = [Fraction(1, 20), Fraction(7, 3), Fraction(900)]


def sizes(variance: Fraction, most: int) -> list[mp.mpf]:
    """P(|X| <= k) for k = 0, ..., most, by Bessel functions: 90 digits."""
    with mp.workdps(90):
        v = mp.mpf(variance.numerator) / variance.denominator
        masses = [mp.exp(-v) * mp.besseli(k, v) for k in range(most + 1)]
        return [masses[0] + 2 * mp.fsum(masses[1 : k + 1]) for k in range(most + 1)]


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_draws_are_skellam_and_of_no_other_variance(variance: Fraction) -> None:
    draws = skellam.sample(variance=variance, size=300_000, bits=DeterministicBits(1))

    def cdf(mean: float, k: np.ndarray) -> np.ndarray:
        return stats.skellam.cdf(k, mean, mean)

    half, reach = float(variance) / 2, 6 * float(variance) ** 0.5 + 3
    assert p_value(draws, lambda k: cdf(half, k), reach) > ALARM
    for twin in (0.7, 1.3):
        assert p_value(draws, lambda k, twin=twin: cdf(half * twin, k), reach) < ALARM


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_a_word_at_a_threshold_is_decided_by_the_words_after_it(variance: Fraction) -> None:
    """The threshold T of size k, times 2^128: the draw is k below it, and k + 1 from there on."""
    for k, chance in enumerate(sizes(variance, 4)):
        with mp.workdps(90):
            place = int(mp.floor(chance * mp.mpf(2) ** 128))
        for near, size in ((place - 1, k), (place + 1, k + 1)):
            for signs, sign in ((0, 1), (2**64 - 1, -1)):
                script = ScriptedBits([near >> 64, signs, near & (2**64 - 1)])
                assert skellam.sample(variance=variance, size=1, bits=script).tolist() == [sign * size]
                assert script.used == 3
            assert skellam._exactly(skellam.refine.Prefix(near, 128), variance, ScriptedBits([])) == size


def test_the_farthest_words_are_drawn_too() -> None:
    """128 ones and some zeros: the least size that leaves less than 2^-128."""
    variance = Fraction(7, 3)
    with mp.workdps(90):
        wanted = next(k for k, chance in enumerate(sizes(variance, 60)) if 1 - chance < mp.mpf(2) ** -128)
    ones = 2**64 - 1
    assert skellam.sample(variance=variance, size=1, bits=ScriptedBits([ones, 0, ones, 0])).tolist() == [wanted]
    assert wanted > 25


def test_shapes_and_what_is_refused() -> None:
    assert skellam.sample(variance=2).shape == ()
    assert skellam.sample(variance=2, size=(2, 3)).shape == (2, 3)
    for bad in (0.5, 0, Fraction(1, 2**21), 2**26 + 1):
        with pytest.raises(InvalidParameterError, match="variance"):
            skellam.sample(variance=bad)

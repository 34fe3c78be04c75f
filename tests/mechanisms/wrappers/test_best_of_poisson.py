"""The best of a Poisson number of runs."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace
from deniable.mechanisms.wrappers import BestOfPoisson
from deniable.noise.bits import DeterministicBits
from tests.mechanisms.wrappers.laws import poisson

BASE = Laplace(scale=Fraction(2))


@pytest.mark.parametrize("mean", [Fraction(1, 3), Fraction(1, 2), Fraction(7, 2), Fraction(12)])
def test_numbers_of_runs_follow_their_law(mean: Fraction) -> None:
    """20,000 numbers, each count within six standard deviations; a mean that is a fifth larger is rejected."""
    counts = np.bincount(BestOfPoisson(base=BASE, mean=mean)._runs(20_000, DeterministicBits(2)), minlength=60)

    def fits(law: BestOfPoisson) -> bool:
        chances = poisson(law, counts.size)
        return bool((np.abs(counts - 20_000 * chances) <= 6 * np.sqrt(20_000 * chances) + 2).all())

    assert fits(BestOfPoisson(base=BASE, mean=mean))
    assert not fits(BestOfPoisson(base=BASE, mean=mean * Fraction(6, 5)))


@pytest.mark.parametrize("mean", [0, -1, 10**7])
def test_the_mean_is_checked(mean: int) -> None:
    with pytest.raises(InvalidParameterError, match="mean"):
        BestOfPoisson(base=BASE, mean=Fraction(mean))

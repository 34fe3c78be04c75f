"""Poisson samples: secret, and stated under add/remove."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms import Laplace
from deniable.mechanisms.wrappers import PoissonSampled
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace, of_count

MECHANISM = PoissonSampled(base=Laplace(scale=Fraction(1)), rate=Fraction(1, 10))


def test_a_sample_costs_less() -> None:
    loss = MECHANISM.privacy_loss(of_count(rows=1, groups=1, relation=AddRemove))
    assert float(loss.pure_epsilon or 0) == pytest.approx(math.log1p(0.1 * math.expm1(1)))


def test_poisson_sampling_is_refused_under_replace() -> None:
    with pytest.raises(UnprovedError, match="replace"):
        MECHANISM.privacy_loss(of_count(rows=1, groups=1, relation=Replace))


def test_each_unit_joins_with_the_rate_independently() -> None:
    """200,000 samples of two units: three counts within six standard deviations."""
    samples = MECHANISM._samples(2, 200_000, DeterministicBits(2))
    for found, chance in ((samples[:, 0], 0.1), (samples[:, 1], 0.1), (samples.all(axis=1), 0.01)):
        assert abs(found.mean() - chance) < 6 * math.sqrt(chance * (1 - chance) / 200_000)


def test_outcomes_are_independent_of_their_place() -> None:
    """Both halves of 100,000 outcomes have the same mean up to six standard deviations."""
    found = MECHANISM.outcomes((50, 50), 100_000, bits=DeterministicBits(3)).astype(np.float64)
    first, second = np.split(found, 2)
    assert abs(first.mean() - second.mean()) < 6 * found.std() * math.sqrt(2 / 50_000)
    assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 6 / math.sqrt(100_000)


@pytest.mark.parametrize("rate", [0, 1, 2, -1])
def test_the_rate_is_checked(rate: int) -> None:
    with pytest.raises(InvalidParameterError, match="rate"):
        PoissonSampled(base=Laplace(scale=Fraction(1)), rate=Fraction(rate))

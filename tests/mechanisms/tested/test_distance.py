from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Gaussian, Laplace
from deniable.mechanisms.base import NO_ANSWER
from deniable.mechanisms.tested import StableSelection
from deniable.mechanisms.tested.distance import least_margin, of_steps, tail
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Replace


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(20)])
@pytest.mark.parametrize("margin", [-1, 0, 7])
def test_the_tail_is_that_of_the_noise(scale: Fraction, margin: int) -> None:
    """Summed term by term; never below the truth."""
    k = np.arange(-3000, 3001)
    mass = np.exp(-np.abs(k) / float(scale))
    truth = mass[k > margin].sum() / mass.sum()
    assert float(tail(scale, margin)) == pytest.approx(truth, rel=1e-10)
    assert tail(scale, margin) >= truth * (1 - 1e-12)


@pytest.mark.parametrize("threshold", [690, 745, 10**6])
def test_a_threshold_that_never_fails_has_a_loss_all_the_same(threshold: int) -> None:
    reach = of_steps(1, Replace)
    loss = StableSelection(test=Laplace(scale=1), threshold=threshold).privacy_loss(reach)
    assert 0 < loss.failure <= Fraction(1, 10**298)


@pytest.mark.parametrize("delta", ["0.6", "0.3", "1e-6", "1e-12"])
def test_the_margin_is_the_least(delta: str) -> None:
    scale = Fraction(5, 2)
    margin = least_margin(scale, delta)
    assert tail(scale, margin) <= Fraction(delta)
    assert margin == 0 or tail(scale, margin - 1) > Fraction(delta)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="delta must be > 0"):
        least_margin(Fraction(1), 0)
    with pytest.raises(InvalidParameterError, match="Laplace noise"):
        StableSelection(test=Gaussian(sigma_squared=1), threshold=3)
    for threshold in (-1, 2.5, True):
        with pytest.raises(InvalidParameterError, match="threshold"):
            StableSelection(test=Laplace(scale=1), threshold=threshold)


def test_steps_are_a_sensitivity_in_all_norms() -> None:
    reach = of_steps(3, Replace)
    assert (reach.l1, reach.l2_squared, reach.linf, reach.relation) == (3, 9, 3, Replace)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(20)])
def test_no_answer_is_as_likely_as_its_sum_says(scale: Fraction) -> None:
    """Term by term, on both sides of the threshold, and by 100,000 draws: six deviations, one seed in 10^8."""
    k = np.arange(-3000, 3001)
    mass = np.exp(-np.abs(k) / float(scale))
    mechanism = StableSelection(test=Laplace(scale=scale), threshold=7)
    for distance in (0, 6, 7, 8, 30):
        truth = mass[k <= 7 - distance].sum() / mass.sum()
        assert mechanism.no_answer(distance=distance) == pytest.approx(truth, rel=1e-10, abs=1e-300)
        drawn = mechanism.outcomes((distance, 0), 100_000, bits=DeterministicBits(1))
        assert (drawn == NO_ANSWER).mean() == pytest.approx(truth, abs=6 * np.sqrt(truth / 100_000) + 1e-4)
    assert mechanism.no_answer(distance=10**6) <= 1e-290
    with pytest.raises(InvalidParameterError, match="distance must be"):
        mechanism.no_answer(distance=-1)

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.mechanisms.smooth import SmoothLaplace, SmoothQuantile, SmoothStudentT, smooth_bound
from deniable.mechanisms.smooth.base import LEAST_BOUND
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, of_count

NOISE = SmoothStudentT.calibrated(epsilon=1, bounds=(0, 100))


@given(local=st.lists(st.integers(0, 2**40), min_size=1, max_size=50), beta=st.fractions("1/1000", 3))
def test_the_bound_is_the_discounted_maximum(local: list[int], beta: Fraction) -> None:
    truth = max([float(LEAST_BOUND), *(a * math.exp(-float(beta) * k) for k, a in enumerate(local))])
    found = smooth_bound(local, beta=beta)
    assert float(found) == pytest.approx(truth, rel=1e-7)
    assert found >= max(local[0], LEAST_BOUND)


@given(local=st.lists(st.integers(0, 2**60), min_size=2, max_size=50), beta=st.fractions("1/1000", 3))
def test_rounding_keeps_the_bound_smooth(local: list[int], beta: Fraction) -> None:
    """A neighbour's A_k lie between A_(k-1) and A_(k+1): the extreme ones are the list without its first entry, and
    the list with its first entry twice."""
    rising = np.maximum.accumulate(local)
    here = smooth_bound(rising, beta=beta)
    for there in (smooth_bound(rising[1:], beta=beta), smooth_bound(np.append(rising[:1], rising), beta=beta)):
        assert abs(math.log(here / there)) <= float(beta) * (1 + 1e-15)


def test_a_statistic_of_any_kind_brings_its_own_local_sensitivities() -> None:
    answer = NOISE.release([40, 0, 0, 1], bits=DeterministicBits(1))
    assert not answer.safe
    assert answer.value is not None
    assert 0 <= answer.value <= 100
    assert NOISE.release(np.array([40, 0])).safe
    assert NOISE.privacy_loss(of_count(rows=2, groups=1, cells=1, relation=AddRemove)).pure_epsilon == 2


def test_a_statistic_outside_the_bounds_is_cut_to_them() -> None:
    """Its sensitivity is then at most the width of the bounds."""
    assert NOISE._measured([500, 7, 2**63 - 1]) == NOISE._measured([100, 7, 100])
    assert smooth_bound([2**62 + 1, -1], beta=Fraction(1)) == smooth_bound([2**62, 0], beta=Fraction(1))
    with pytest.raises(InvalidParameterError, match="local must hold at least one local sensitivity"):
        smooth_bound([], beta=Fraction(1))


@pytest.mark.parametrize("exact", [[40], [[40, 1]], [40.0, 1.0]])
def test_an_input_of_another_shape_is_refused_without_showing_it(exact: list[object]) -> None:
    with pytest.raises(InvalidParameterError) as error:
        NOISE.release(exact)
    assert "40" not in str(error.value)


def test_beta_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="shift of 0"):
        SmoothStudentT(epsilon=1, degrees=1, beta=1, bounds=(0, 1))
    with pytest.raises(InvalidParameterError, match="less epsilon"):
        SmoothStudentT(epsilon=10**6, degrees=1, beta=1, bounds=(0, 1))
    with pytest.raises(InvalidParameterError, match="2\\^-20"):
        SmoothStudentT(epsilon=1, degrees=1, beta="1e-7", bounds=(0, 1))


def test_a_statistic_needs_noise() -> None:
    with pytest.raises(InvalidParameterError, match="SmoothNoise"):
        SmoothQuantile(noise="cauchy", quantile="1/2")


def test_the_standard_deviation_is_that_of_the_scaled_law() -> None:
    """200,000 draws, to 2 %: the deviation of their variance is about 0.5 % for tails of 40 degrees of freedom."""
    noise = SmoothStudentT.calibrated(epsilon=1, degrees=40, bounds=(-(10**6), 10**6))
    drawn = noise.draws(Fraction(0), Fraction(1000), 200_000, bits=DeterministicBits(1))
    assert noise.standard_deviation(1000) == pytest.approx(float(drawn.std()), rel=0.02)
    assert NOISE.standard_deviation("1/2") == math.inf
    with pytest.raises(InvalidParameterError, match="bound must be"):
        NOISE.standard_deviation(0)


def test_guesses_that_no_smooth_bound_reaches_are_refused() -> None:
    """10^400 was a raw OverflowError, and 10^-400 of Cauchy noise not a number."""
    light = SmoothLaplace.calibrated(epsilon=1, delta="1e-6", bounds=(0, 1))
    for noise in (NOISE, light):
        for guess in (10**400, Fraction(1, 10**400), 2**62 + 1):
            with pytest.raises(InvalidParameterError, match=r"bound must be (in|at most)"):
                noise.standard_deviation(guess)
    for guess in (LEAST_BOUND, 2**62):
        assert light.standard_deviation(guess) == pytest.approx(math.sqrt(2) * float(guess / light.shift))
        assert NOISE.standard_deviation(guess) == math.inf

"""The rough picture is near the truth where the truth is known; its edges are what the bounds need."""

import math
from fractions import Fraction

import pytest

from deniable.privacy.pld.laws import LaplaceLaw, NormalLaw, randomized_response_law
from deniable.privacy.pld.pilot import Pilot, span
from deniable.privacy.sampling import SampledLaw


def test_a_gaussian_has_its_cumulants() -> None:
    """K(t) = mu^2 t (t + 1) / 2 for the sum of 100 steps of mu = 1/10."""
    found = Pilot([NormalLaw(0.1)], [100]).cumulants(3.0)
    assert found.value == pytest.approx(6.0, rel=1e-3)
    assert found.mean == pytest.approx(3.5, rel=1e-3)
    assert found.variance == pytest.approx(1.0, rel=1e-2)


def test_a_gaussian_has_its_chernoff_bound() -> None:
    """K - t epsilon + ln of the greatest weight, least near t = epsilon - 1/2 for mu = 1; above the true delta."""
    pilot = Pilot([NormalLaw(0.1)], [100])
    best, bound = pilot.chernoff(4.3771781)  # delta = 1e-5 (accounting notes)
    assert best == pytest.approx(4.0, abs=0.4)
    assert math.log(1e-5) < bound < math.log(1e-5) + 2.5
    assert 4.3771781 < pilot.epsilon_at(1e-5) < 4.9


def test_a_smaller_tilt_is_taken_for_a_heavy_tail() -> None:
    """Sampled steps have two modes at the best tilt: the window there is many times as wide as at a smaller one."""
    pilot = Pilot([SampledLaw(NormalLaw(1 / 1.1), Fraction(855, 100_000))], [38])
    best, bound = pilot.chernoff(1.2654)
    taken = pilot.tilt(1.2654, bound, 10.0)
    assert taken < 0.8 * best
    assert pilot.cumulants(taken).variance < pilot.cumulants(best).variance / 20
    assert pilot.tilt(1.2654, bound, 0.0) == best


def test_two_point_laws_tilt_to_their_ends() -> None:
    pilot = Pilot([randomized_response_law(0.5)], [4])
    assert pilot.cumulants(80.0).mean == pytest.approx(2.0, rel=1e-9)
    assert pilot.cumulants(80.0).variance > 0


def test_the_reach_covers_what_it_says() -> None:
    """N(3.5, 1) after tilting by 3: 1e-12 is beyond 7.0 standard deviations; Chernoff needs 7.43."""
    start, end, rise, fall = Pilot([NormalLaw(0.1)], [100]).reach(3.0, 1e-12)
    assert 10.5 < end < 11.2
    assert -4.2 < start < -3.5
    assert rise > 0
    assert fall > 0


def test_a_span_leaves_out_no_more_than_it_may() -> None:
    low, high = span(NormalLaw(1.0), 1e-9, 1e-6)
    assert 6.49 < high < 7.2
    assert -4.7 < low < -4.2
    assert span(LaplaceLaw(0.5), 1e-9, 1e-6) == (-0.5, 0.5)

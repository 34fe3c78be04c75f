"""The rough picture is near the truth where the truth is known; its edges are what the bounds need."""

import math

import pytest

from deniable.privacy.laws import LaplaceLaw, NormalLaw, randomized_response_law
from deniable.privacy.pilot import Pilot, span


def test_a_gaussian_has_its_cumulants() -> None:
    """K(t) = mu^2 t (t + 1) / 2 for the sum of 100 steps of mu = 1/10."""
    found = Pilot([NormalLaw(0.1)], [100]).cumulants(3.0)
    assert found.value == pytest.approx(6.0, rel=1e-3)
    assert found.mean == pytest.approx(3.5, rel=1e-3)
    assert found.variance == pytest.approx(1.0, rel=1e-2)


def test_a_gaussian_has_its_tilts() -> None:
    """epsilon = 4.3771781 at delta = 1e-5 (accounting notes); the tilt is epsilon - 1/2."""
    pilot = Pilot([NormalLaw(0.1)], [100])
    assert pilot.tilt_for_delta(1e-5) == pytest.approx(3.877, rel=2e-3)
    assert pilot.tilt_for_epsilon(4.3771781) == pytest.approx(3.877, rel=2e-3)
    assert pilot.log_delta(3.8771781) == pytest.approx(math.log(1e-5), abs=0.02)


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

"""The rough picture is near the truth where the truth is known; its edges are what the bounds need."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.privacy.amplification.sampling.sampled_law import SampledLaw
from deniable.privacy.notions.gaussian_dp import gaussian_delta
from deniable.privacy.pld.laws import LaplaceLaw, NormalLaw, randomized_response_law
from deniable.privacy.pld.pilot import Pilot, span


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


def test_the_first_guess_is_near_the_answer() -> None:
    """Exact for normal losses; 1,000 sampled steps: epsilon(1e-5) = 1.828236 (certified to 1e-6)."""
    pilot = Pilot([NormalLaw(0.1)], [100])
    assert pilot.epsilon_at(1e-5) == pytest.approx(4.3771781, rel=0.01)
    assert pilot.log_delta_at(4.3771781) == pytest.approx(math.log(1e-5), abs=0.1)
    sampled = Pilot([SampledLaw(NormalLaw(1.0), Fraction(1, 100))], [1000])
    assert sampled.epsilon_at(1e-5) == pytest.approx(1.828236, rel=0.01)
    assert sampled.log_delta_at(1.828236) == pytest.approx(math.log(1e-5), abs=0.1)
    assert pilot.epsilon_at(1.0) == 0.0


def test_the_tilt_with_the_shortest_window_is_taken() -> None:
    """Sampled steps have two modes at the best tilt; without room for rounding the best one is taken, or nearly so."""
    pilot = Pilot([SampledLaw(NormalLaw(1 / 1.1), Fraction(855, 100_000))], [38])
    best, bound = pilot.chernoff(1.2654)
    assert pilot.tilt(1.2654, bound, 0.0) == pytest.approx(best, rel=0.5)
    taken = pilot.tilt(1.2654, bound, 10.0)
    assert pilot.cumulants(taken).variance < 1.01 * pilot.cumulants(best).variance


def test_losses_that_are_cut_are_those_above() -> None:
    pilot = Pilot([NormalLaw(1.0), randomized_response_law(3.0)], [1, 2])
    cut = pilot.cut(np.array([0.01, 0.0]))
    assert cut.cumulants(5.0).value < pilot.cumulants(5.0).value - 1
    assert pilot.cut(np.zeros(2)).cumulants(1.0) == pilot.cumulants(1.0)


def test_one_jump_is_the_curve_of_a_single_loss() -> None:
    """Two steps of mu = 1: twice delta(2) = 0.0209; its slope by a difference."""
    pilot = Pilot([NormalLaw(1.0)], [2])
    found, steepness = pilot.one_jump(2.0)
    truth = [2 * gaussian_delta(Fraction(1), Fraction(e)).upper for e in ("2", "2.01")]
    assert found == pytest.approx(truth[0], rel=0.05)
    assert steepness == pytest.approx(math.log(truth[0] / truth[1]) / 0.01, rel=0.1)
    assert pilot.one_jump(700.0) == (0.0, math.inf)


def test_two_point_laws_tilt_to_their_ends() -> None:
    pilot = Pilot([randomized_response_law(0.5)], [4])
    assert pilot.cumulants(80.0).mean == pytest.approx(2.0, rel=1e-9)
    assert pilot.cumulants(80.0).variance > 0


def test_a_span_leaves_out_no_more_than_it_may() -> None:
    low, high = span(NormalLaw(1.0), 1e-9, 1e-6)
    assert 6.49 < high < 7.2
    assert -4.7 < low < -4.2
    assert span(LaplaceLaw(0.5), 1e-9, 1e-6) == (-0.5, 0.5)

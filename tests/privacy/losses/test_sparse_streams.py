"""Events of the sparse vector technique: their probabilities by quadrature and by simulation, and what they bound."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deniable.noise.bits import DeterministicBits
from deniable.numbers.balls import certified
from deniable.privacy.losses.sparse_streams import Event, EventStreams, streams

GRID = np.linspace(-80.0, 80.0, 8001)
BOTH = frozenset({-1, 1})


def above(place: float, scale: float) -> np.ndarray:
    away = (GRID - place) / scale
    return np.where(away > 0, np.exp(-np.maximum(away, 0)) / 2, 1 - np.exp(np.minimum(away, 0)) / 2)


def by_transcripts(event: Event, world: int, threshold: float, question: float) -> float:
    """Every sequence of answers of a few questions, each by quadrature over the threshold's noise."""
    low = above(float(event.level) + world * event.moved, question)
    high = above(float(event.high) + world * event.moved_high, question)
    total = np.zeros(GRID.size)
    for answers in itertools.product((False, True), repeat=event.asked):
        if (sum(answers) < event.above) is not event.counted:
            total += math.prod((low if answer else 1 - low for answer in answers), start=np.ones(GRID.size))
    density = np.exp(-np.abs(GRID) / threshold) / (2 * threshold)
    return float((density * total * high**event.last).sum() * (GRID[1] - GRID[0]))


@given(
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(-16, 16),
    st.integers(0, 2),
    st.booleans(),
    st.sampled_from([-1, 1]),
)
@settings(max_examples=25)
def test_probabilities_are_those_of_all_transcripts(
    asked: int, least: int, level: int, last: int, counted: bool, moved: int
) -> None:
    assume(least <= asked)
    place = Fraction(level, 8)
    event = Event(asked, least, place, 0 if counted else last, -place / 2, counted, moved, -moved)
    known = streams((Fraction(2), Fraction(3)), 3, BOTH)
    for world in (0, 1):
        truth = by_transcripts(event, world, 2.0, 3.0)
        found = certified(lambda world=world: known.chance(event, world))  # type: ignore[misc]
        assert found.upper == pytest.approx(truth, rel=2e-4, abs=1e-6)
        assert found.width <= 1e-12
        assert known._both(event)[world] == pytest.approx(truth, rel=1e-2, abs=1e-6)


def test_fresh_noise_on_the_threshold_would_be_seen() -> None:
    """A twin in which every question has a threshold of its own: two answers are independent, and less often alike."""
    known = streams((Fraction(2), Fraction(1)), 1, BOTH)
    two, one = (Event(asked, 1, Fraction(0), 0, Fraction(0), False, 1, 0) for asked in (2, 1))
    together, alone = (certified(lambda event=event: known.chance(event, 0)).upper for event in (two, one))  # type: ignore[misc]
    assert together > 1.1 * alone**2


@pytest.mark.parametrize("answers", [1, 4])
@pytest.mark.parametrize("ways", [BOTH, frozenset({-1}), frozenset({1})])
def test_the_bound_is_that_of_a_valid_stream(answers: int, ways: frozenset[int]) -> None:
    known = EventStreams((Fraction(2), Fraction(5)), answers, ways)
    for event in known.events:
        assert abs(event.moved) == 1
        assert abs(event.moved_high) <= 1
        assert event.moved in ways
        assert event.moved_high in {0, *ways}
        assert event.above <= answers
        assert event.last in {0, answers}
        assert event.last == 0 or event.above == 1
    deltas = [known.delta(Fraction(epsilon)) for epsilon in (0, Fraction(1, 10), Fraction(1, 2), 5)]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[0] > 0.02
    assert deltas[-1] == 0.0


def test_the_law_is_that_of_one_event() -> None:
    law = streams((Fraction(2), Fraction(5)), 2, BOTH).law()
    atoms = law.atoms()
    assert atoms.p.sum() == pytest.approx(1, rel=1e-12)
    assert np.allclose(np.log(atoms.p / atoms.q), atoms.losses, rtol=1e-12)
    assert law.lowest < 0 < law.highest <= 0.5 + 2 * 2 / 5


def test_extreme_scales_have_a_law() -> None:
    assert streams((Fraction(1, 1000), Fraction(1, 1000)), 1, BOTH).delta(Fraction(1000)) == 0.0
    assert streams((Fraction(1, 1000), Fraction(1, 1000)), 1, BOTH).law().highest == 0.0
    assert 0 < streams((Fraction(10**6), Fraction(10**6)), 5000, BOTH).law().highest < 0.01


def test_a_simulated_technique_stops_as_often_as_stated() -> None:
    """2^15 sessions, of 8 questions at -1 with a scale of 2 and 3; false alarms below 1e-6 (five standard errors).

    The twin has half the threshold's noise, and is caught: its distance is more than ten standard errors.
    """
    words = DeterministicBits(7).words(9 * 2**15).reshape(2**15, 9)
    uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54
    noise = np.where(uniform < 0.5, np.log(2 * uniform), -np.log(2 - 2 * uniform))
    event = Event(8, 1, Fraction(-1), 0, Fraction(0), False, 1, 0)
    stated = certified(lambda: streams((Fraction(2), Fraction(3)), 1, BOTH).chance(event, 0)).upper
    error = math.sqrt(stated * (1 - stated) / 2**15)
    for scale, right in ((2.0, True), (1.0, False)):
        quiet = np.all(-1 + 3 * noise[:, 1:] < scale * noise[:, :1], axis=1)
        assert (abs(float(quiet.mean()) - stated) < 5 * error) is right

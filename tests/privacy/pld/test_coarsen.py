"""Laws on a coarser grid against the exact curve of the fine one; twins that only round losses are caught."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.privacy.pld.coarsen import coarser_above, coarser_below
from deniable.privacy.pld.law import Floats

STEP = 2.0**-7


def curve(masses: Floats, step: float, epsilons: Floats) -> Floats:
    """E max(0, 1 - exp(epsilon - L)) for masses at step * (0, 1, ...)."""
    losses = step * np.arange(masses.size)
    gains = np.maximum(-np.expm1(epsilons[:, None] - losses), 0.0)
    return np.asarray(gains @ masses)


def between(masses: Floats, factor: int) -> tuple[Floats, Floats, Floats]:
    """Lower, true and upper curve at many thresholds, on and off the grids."""
    epsilons = np.concatenate((STEP * np.arange(-2, masses.size + 2), np.linspace(-0.5, STEP * masses.size, 301)))
    lower, upper = coarser_below(masses, STEP, factor), coarser_above(masses, STEP, factor)
    assert lower.size == upper.size == masses.size // factor + 1
    assert lower.min() >= 0
    coarse = STEP * factor
    return curve(lower, coarse, epsilons), curve(masses, STEP, epsilons), curve(upper, coarse, epsilons)


@given(
    st.lists(st.one_of(st.just(0.0), st.floats(1e-12, 1.0)), min_size=4, max_size=64).filter(lambda w: sum(w) > 0),
    st.sampled_from([2, 4, 8, 16]),
)
@settings(max_examples=300, deadline=None)
def test_any_law_lies_between_its_coarser_ones(weights: list[float], factor: int) -> None:
    masses = np.zeros(-(-len(weights) // factor) * factor)
    masses[: len(weights)] = weights
    lower, truth, upper = between(masses, factor)
    room = 1e-12 * masses.sum()
    assert np.all(lower <= truth + room)
    assert np.all(truth <= upper + room)


@pytest.mark.parametrize("factor", [4, 16])
def test_smooth_laws_lose_little_on_either_side(factor: int) -> None:
    """Of second order: the coarse step is 1/16 and 1/4 of the standard deviation."""
    places = STEP * np.arange(512)
    masses = np.exp(-((places - 2.0) ** 2) / (2 * 0.5**2))
    masses /= masses.sum()
    lower, truth, upper = between(masses, factor)
    width = (STEP * factor) ** 2
    assert np.max(upper - truth) < 0.15 * width
    assert np.max(truth - lower) < 0.15 * width


def test_a_twin_that_rounds_every_loss_to_the_nearest_is_on_the_wrong_side() -> None:
    places = STEP * np.arange(512)
    masses = np.exp(-((places - 2.0) ** 2) / (2 * 0.1**2))
    nearest = np.zeros(33)
    np.add.at(nearest, np.rint(np.arange(512) / 16).astype(int), masses)
    epsilons = np.linspace(0.0, 4.0, 301)
    truth, found = curve(masses, STEP, epsilons), curve(nearest, 16 * STEP, epsilons)
    assert np.any(found < truth * (1 - 1e-3))
    assert np.any(found > truth * (1 + 1e-3))

"""Laws from points of a curve: above the points, and no higher than their chords."""

import numpy as np
import pytest

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import LossLaw
from deniable.privacy.pld.laws import NormalLaw
from deniable.privacy.pld.points import law_of_points


def curve(law: LossLaw, losses: Floats) -> Floats:
    found = law.above(losses)
    return np.asarray(found.p + law.infinite - np.exp(losses) * found.q)


@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_the_law_has_the_curve_of_the_points(mu: float) -> None:
    losses = 1e-3 * np.sinh(np.linspace(0, np.arcsinh(1e3 * 8 * mu), 4000))
    heights = curve(NormalLaw(mu), losses)
    law = law_of_points(losses, heights)
    found = curve(law, losses[:-1])
    assert np.all(found >= heights[:-1] * (1 - 1e-12))
    assert np.all(found <= heights[:-1] * (1 + 1e-9) + 1e-12)
    middle = (losses[1:] + losses[:-1]) / 2
    assert np.all(curve(law, middle) >= curve(NormalLaw(mu), middle) * (1 - 1e-12))


def test_points_that_are_not_convex_are_lowered_to_their_hull() -> None:
    losses = np.linspace(0, 4, 41)
    heights = curve(NormalLaw(1.0), losses)
    bent = heights.copy()
    bent[5::4] *= 1.3
    law = law_of_points(losses, np.minimum.accumulate(bent))
    found = curve(law, losses[:-1])
    assert np.all(found >= heights[:-1] * (1 - 1e-12))
    assert np.all(found <= bent[:-1] * (1 + 1e-12))
    assert found[5] < bent[5] * 0.95


def test_too_few_points_are_seen() -> None:
    """A twin that joins the tops of every other point is above the curve by more than rounding."""
    losses = np.linspace(0, 4, 11)
    law = law_of_points(losses, curve(NormalLaw(1.0), losses))
    middle = losses[:-1] + 0.2
    assert np.all(curve(law, middle) > curve(NormalLaw(1.0), middle) * 1.001)

"""Planar Laplace noise: its law, and what floats decide against balls."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import dblquad

from deniable.errors import InvalidParameterError
from deniable.noise import planar, refine
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(7)


def draws(count: int, scale: int, *, place: tuple[float, float] = (0.0, 0.0)) -> np.ndarray:
    return planar.sample(locations=np.tile(place, (count, 1)), scale=Fraction(scale), step=Fraction(1), bits=BITS)


def test_radius_and_angle_have_their_laws() -> None:
    """Kolmogorov-Smirnov at 1e-4, false alarms 1 in 10^4 each; the scale times 0.97 is rejected."""
    x, y = draws(60_000, 2**30).T / 2**30
    radius = np.hypot(x, y)
    assert stats.kstest(radius, stats.gamma(2).cdf).pvalue > 1e-4
    assert stats.kstest(np.arctan2(y, x), stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-4
    assert stats.kstest(radius / 0.97, stats.gamma(2).cdf).pvalue < 1e-4


def test_cells_have_the_integral_of_the_density() -> None:
    """Chi-square over 9 cells and the rest, false alarms 1 in 10^4; places off the grid included."""
    found = draws(40_000, 1, place=(0.25, -0.5))
    cells = [(i, j) for i in range(-1, 2) for j in range(-2, 1)]
    chances = [
        dblquad(lambda y, x: np.exp(-np.hypot(x, y)) / (2 * np.pi), i - 0.75, i + 0.25, j, j + 1)[0] for i, j in cells
    ]
    counts = [int((found == cell).all(axis=1).sum()) for cell in cells]
    expected = np.array([*chances, 1 - sum(chances)]) * len(found)
    assert stats.chisquare([*counts, len(found) - sum(counts)], expected).pvalue > 1e-4


@pytest.mark.parametrize(("unit", "scale"), [(2.0**-50, Fraction(2**20, 3)), (2.0**-20, Fraction(5))])
def test_floats_and_balls_decide_alike(unit: float, scale: Fraction) -> None:
    """Also for places so far away that a float in steps is off by 2^-6, with which two of the draws would go wrong."""
    words = DeterministicBits(1).words(3 * 300).reshape(3, -1)
    places, step = DeterministicBits(2).words(600).reshape(300, 2) * unit, Fraction(1, 7)

    class Given(DeterministicBits):
        def words(self, count: int) -> np.ndarray:
            return words.ravel()

    indices, counts = planar._some(places, scale / step, step, Given(0))
    for i in range(300):
        prefixes = [refine.Prefix(int(words[j, i]) ^ ((j < 2) << 63), 64) for j in range(3)]
        exact = planar.exactly(prefixes, [Fraction(float(side)) / step for side in places[i]], scale / step, BITS)
        assert (exact is not None) == counts[i]
        assert exact is None or exact == tuple(indices[i])


def test_a_draw_on_the_edge_of_a_cell_takes_more_bits() -> None:
    """(a, b) near the origin and u near 0 or 1 are beyond floats, and still give an answer."""
    for first, last in [(2**63, 0), (2**63, 2**64 - 1), (2**63 + 1, 5)]:
        prefixes = [refine.Prefix(first, 64), refine.Prefix(2**63, 64), refine.Prefix(last, 64)]
        assert planar.exactly(prefixes, [Fraction(0), Fraction(1, 2)], Fraction(5), DeterministicBits(3)) is not None


@pytest.mark.parametrize(
    ("scale", "step"), [(Fraction(2**41), Fraction(1)), (Fraction(1), 1.0), (Fraction(0), Fraction(1))]
)
def test_what_cannot_be_drawn_is_refused(scale: Fraction, step: Fraction) -> None:
    with pytest.raises(InvalidParameterError):
        planar.sample(locations=np.zeros((1, 2)), scale=scale, step=step)

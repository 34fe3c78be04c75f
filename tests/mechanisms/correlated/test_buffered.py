"""Buffered correlations: exact arithmetic, the charge for rounding, and settings that are refused."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms.correlated import Buffered, Uses
from tests.mechanisms.correlated.test_base import mixed


def test_a_reach_without_the_charge_for_rounding_is_exceeded() -> None:
    """The twin: on a coarse lattice, rounding alone moves the integers beyond the sensitivity of the real matrix."""
    correlation, worst = Buffered(scales=(0.3, 0.1), decays=(0.5, 0.9)), 0.0
    uses = Uses(steps=7, dimensions=1, lattice=1)
    norm = np.linalg.norm([1.0, *(0.3 * 0.5 ** np.arange(6) + 0.1 * 0.9 ** np.arange(6))])

    class Coarse(Buffered):
        def fine(self, uses: Uses) -> int:
            return 1

    coarse = Coarse(scales=correlation.scales, decays=correlation.decays)
    for seed in range(200):
        base = np.random.default_rng(seed).integers(-4, 5, (7, 1))
        moved = base.copy()
        moved[0] += 1
        worst = max(
            worst, float(np.linalg.norm(np.ravel(mixed(coarse, moved, uses)) - np.ravel(mixed(coarse, base, uses))))
        )
    assert norm < worst <= coarse.sensitivity(uses)


@pytest.mark.parametrize("buffers", [2, 4, 8])
def test_buffers_that_are_not_needed_are_left_out(buffers: int) -> None:
    """With few uses far apart one or two buffers are best, and all others are those that forget nothing."""
    for steps, times, separation in ((4, 2, 3), (6, 4, 5), (6, 3, 2), (16, 4, 5), (23, 4, 5), (100, 5, 12)):
        uses = Uses(steps=steps, times=times, separation=separation, dimensions=1000)
        made = Buffered.best(uses, buffers=buffers)
        assert made.sensitivity(uses) > 0
        assert made.errors(uses)[0] <= 1.002 * Buffered.best(uses, buffers=1).errors(uses)[0]


@pytest.mark.parametrize("decay", [0.3, 0.9, 1 - 2**-10, 1 - 2**-20])
def test_rounding_stays_within_its_charge_however_slowly_buffers_forget(decay: float) -> None:
    """Against rationals, near the largest numbers that are let in; the twin keeps whole buffers alone."""
    made, uses = Buffered(scales=(0.5, 0.25), decays=(0.6, decay)), Uses(steps=300, dimensions=1, lattice=2**20)
    totals = np.random.default_rng(1).integers(-(2**20), 2**20, 300)
    exact, plain = [Fraction(0)] * 2, np.zeros(2)
    carried, worst, twin = made.blank(uses), 0.0, 0.0
    for step, total in enumerate(totals.tolist(), start=1):
        known = total * made.fine(uses) + sum(Fraction(s) * b for s, b in zip(made.scales, exact, strict=True))
        found = int(made.mixed(np.array([total]), carried, step, uses)[0])
        worst = max(worst, abs(float(found - known)))
        whole = total * made.fine(uses) + round(float(np.array(made.scales) @ plain))
        twin = max(twin, abs(float(whole - known)))
        exact = [Fraction(d) * b + total * made.fine(uses) for d, b in zip(made.decays, exact, strict=True)]
        exact = [Fraction(round(b * 2**80), 2**80) for b in exact]
        plain = np.rint(np.array(made.decays) * plain) + total * made.fine(uses)
    charged = made._rounding(uses) / (2 * math.sqrt(300))
    assert worst <= charged < 2
    assert twin > worst


def test_rows_that_buffers_cannot_hold_are_refused() -> None:
    slow = Buffered(scales=(0.1,), decays=(1 - 2**-30,))
    with pytest.raises(InvalidParameterError, match="fewer steps"):
        slow.sensitivity(Uses(steps=10**7, dimensions=10**6))
    uses = Uses(steps=10**6, dimensions=1000)
    assert Buffered.best(uses, buffers=4).sensitivity(uses) > 0

"""Buffers of whole numbers: against rationals, without a largest sum, and without a horizon."""

import math
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from scipy.signal import lfilter

from deniable.errors import InvalidParameterError
from deniable.mechanisms.correlated import NoiseCorrelation, Tree, Triangular, Uses, WholeBuffered
from deniable.mechanisms.correlated.whole import LASTING_STEPS
from tests.mechanisms.correlated.test_base import mixed


@pytest.mark.parametrize("decay", [0.3, 1 - 2**-20])
def test_released_integers_are_those_of_rationals_to_half_a_part(decay: float) -> None:
    made, uses = WholeBuffered(scales=(0.5, 0.25), decays=(0.6, decay)), Uses(steps=200, dimensions=1, lattice=1)
    totals = [int(each) << 70 for each in np.random.default_rng(1).integers(-(2**40), 2**40, 200)]
    exact, carried = [Fraction(0)] * 2, made.blank(uses)
    for step, total in enumerate(totals, start=1):
        known = total * made.fine(uses) + sum(Fraction(s) * b for s, b in zip(made.scales, exact, strict=True))
        released = int(made.mixed(np.array([total], dtype=object), carried, step, uses)[0])
        assert abs(released - known) <= made._rounding(uses) / (2 * math.sqrt(200))
        exact = [Fraction(d) * b + total * made.fine(uses) for d, b in zip(made.decays, exact, strict=True)]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_no_unit_moves_the_integers_farther_than_stated(times: int) -> None:
    """All patterns and signs of 12 steps, of the numbers that are used; the worst comes within 1% of the statement."""
    uses = Uses(steps=12, dimensions=1, times=times, separation=3, lattice=2**12)
    for correlation in (
        WholeBuffered.best(uses, buffers=2),
        Tree(),
        Triangular.square_root(uses),
        Triangular.best(uses, windows=[4]),
    ):
        still = np.concatenate([np.ravel(part) for part in mixed(correlation, np.zeros((12, 1), dtype=object), uses)])
        worst = 0.0
        for count in range(1, times + 1):
            for steps in combinations(range(12), count):
                if any(later - step < 3 for step, later in pairwise(steps)):
                    continue
                for signs in product((1, -1), repeat=count):
                    moved = np.zeros((12, 1), dtype=object)
                    moved[list(steps), 0] = [sign * uses.lattice for sign in signs]
                    change = np.concatenate([np.ravel(part) for part in mixed(correlation, moved, uses)]) - still
                    worst = max(worst, float(np.linalg.norm(change.astype(float))))
        stated = correlation.sensitivity(uses)
        assert worst <= stated
        slack = 1.12 if isinstance(correlation, Triangular) and times > 1 else 1.01
        assert worst >= stated / slack


def test_one_participation_is_not_enough_for_many() -> None:
    many = Uses(steps=12, dimensions=1, times=3, separation=3, lattice=1)
    for correlation in (WholeBuffered.best(many, buffers=2), Tree(), Triangular.square_root(many)):
        single = Uses(steps=12, dimensions=1, lattice=1)
        assert correlation.sensitivity(many) > 1.5 * correlation.sensitivity(single)


def test_a_million_steps_have_the_error_of_the_aim() -> None:
    """Square root: 5.4639; aim 5.52 (reference of continual release)."""
    uses = Uses(steps=10**6, dimensions=1, lattice=1)
    made = WholeBuffered.best(uses, buffers=6)
    assert made.errors(uses)[0] == pytest.approx(5.4698, abs=1e-3)
    assert made.sensitivity(uses) / made.fine(uses) <= 1.001 * made._norm(uses)


def test_without_a_horizon_variances_stay_within_half_of_the_optimum() -> None:
    """Against the square root for each number of steps: below 1.5 times its variance from 64 steps to 2^22."""
    made = WholeBuffered.lasting()
    uses = Uses(steps=2**22, dimensions=1, lattice=1)
    norm = made._norm(Uses(steps=LASTING_STEPS, dimensions=1))
    variances = (made.spreads(uses) * norm) ** 2
    optima = np.cumsum(np.cumprod(np.append(1, 1 - 1 / (2 * np.arange(1, 2**22)))) ** 2) ** 2
    ratios = variances / optima
    assert ratios[63:].max() < 1.5
    assert ratios.max() < 3.7  # the first step pays for all that may come
    assert (ratios[np.array([2**k for k in range(6, 22)]) - 1] > 1.2).all()  # no bounded strategy in disguise


def test_spreads_are_those_of_the_written_out_matrix() -> None:
    uses = Uses(steps=60, dimensions=1, lattice=1)
    made = WholeBuffered.best(uses, buffers=3)
    column = np.array([1, *(np.array(made.scales) @ np.array(made.decays)[:, None] ** np.arange(59))])
    inverse = np.cumsum(lfilter([1], column, np.eye(1, 60)[0]))  # diagonals of A C^-1
    dense = np.array([[inverse[t - s] if t >= s else 0 for s in range(60)] for t in range(60)])
    assert made.spreads(uses) == pytest.approx(np.linalg.norm(dense, axis=1), rel=1e-12)
    weekly = dense - np.vstack([np.zeros((7, 60)), dense[:-7]])
    assert made.spreads(uses, window=7) == pytest.approx(np.linalg.norm(weekly, axis=1), rel=1e-12)
    assert NoiseCorrelation.spreads(made, uses, window=7) == pytest.approx(made.spreads(uses, window=7), rel=1e-12)


def test_streaming_equals_the_dense_inverse() -> None:
    """2,000 steps: A C^-1 w by the stream and by a linear filter agree to 1e-12."""
    uses = Uses(steps=2000, dimensions=1, lattice=1)
    made = WholeBuffered.best(uses, buffers=4)
    released = np.random.default_rng(2).normal(size=2000) * made.fine(uses)
    public = made.blank_public(uses)
    steps = enumerate(released, start=1)
    sums = np.cumsum([made.unmixed(np.array([one]), public, step, uses)[0] for step, one in steps])
    column = np.array([1, *(np.array(made.scales) @ np.array(made.decays)[:, None] ** np.arange(1999))])
    known = np.cumsum(lfilter([1], column, released / made.fine(uses)))
    assert sums == pytest.approx(known, rel=1e-12, abs=1e-12 * np.abs(known).max())


@pytest.mark.parametrize(("scales", "decays"), [((2**-50,), (0.5,)), ((0.5,), (1.0,)), ((9.0,), (0.5,))])
def test_buffers_that_cannot_be_held_are_refused(scales: tuple[float], decays: tuple[float]) -> None:
    with pytest.raises(InvalidParameterError):
        WholeBuffered(scales=scales, decays=decays)

"""Correlated noise: exact mixing, sensitivities by brute force, errors by simulation and published values."""

from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Gaussian
from deniable.mechanisms.correlated import Banded, Buffered, NoiseCorrelation, Tree, Uses
from deniable.mechanisms.correlated.base import Stream
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace

BITS = DeterministicBits(1)
USES = Uses(steps=13, dimensions=3, times=3, separation=4, lattice=2**16)
KINDS = [
    Banded(coefficients=(1, 0.5, 0.375, 0.3)),
    Banded(coefficients=(1, -0.5)),
    Buffered(scales=(0.3, 0.1), decays=(0.5, 0.9)),
    Tree(),
]


class Still(Gaussian):
    """No noise: what is left is the arithmetic."""

    def _noise(self, shape: tuple[int, ...], bits: Any) -> Any:
        return np.zeros(shape, dtype=np.int64)


def mixed(correlation: NoiseCorrelation, totals: np.ndarray, uses: Uses) -> list[np.ndarray]:
    """The integers of all steps."""
    carried = correlation.blank(uses)
    return [correlation.mixed(total, carried, step, uses) for step, total in enumerate(totals, start=1)]


@pytest.mark.parametrize("correlation", KINDS)
def test_without_noise_the_sums_come_back(correlation: NoiseCorrelation) -> None:
    totals = np.random.default_rng(0).integers(-(2**18), 2**18, (13, 3))
    stream = Stream(correlation, Still(sigma_squared=Fraction(1)), USES)
    found = np.array([stream.add(total, bits=BITS) for total in totals])
    assert found == pytest.approx(totals, abs=8 if isinstance(correlation, Buffered) else 1e-6)
    with pytest.raises(InvalidParameterError, match="all 13 steps"):
        stream.add(totals[0], bits=BITS)


@pytest.mark.parametrize(("times", "separation"), [(1, 1), (2, 3), (3, 2), (4, 1)])
@pytest.mark.parametrize("correlation", KINDS)
def test_no_row_moves_the_integers_farther_than_stated(
    correlation: NoiseCorrelation, times: int, separation: int
) -> None:
    """All sets of steps and all signs, for seven steps of one number; the worst set comes near the stated reach."""
    uses = Uses(steps=7, dimensions=1, times=times, separation=separation, lattice=2**16)
    base = np.random.default_rng(1).integers(-(2**20), 2**20, (7, 1))
    still, worst = np.concatenate([part.ravel() for part in mixed(correlation, base, uses)]), 0.0
    for count in range(1, times + 1):
        for steps in combinations(range(7), count):
            if any(later - step < separation for step, later in pairwise(steps)):
                continue
            for signs in product((1, -1), repeat=count):
                moved = base.copy()
                moved[list(steps), 0] += np.array(signs) * uses.lattice
                change = np.concatenate([part.ravel() for part in mixed(correlation, moved, uses)]) - still
                worst = max(worst, float(np.linalg.norm(change)))
    assert worst <= correlation.sensitivity(uses)
    assert worst >= correlation.sensitivity(uses) * 0.99


@pytest.mark.parametrize("correlation", KINDS)
def test_sums_beyond_any_range_are_cut_and_bring_no_two_farther_apart(correlation: NoiseCorrelation) -> None:
    near, far = np.full((3, 3), 2**57), np.full((3, 3), 2**57)
    far[0] += USES.lattice
    one, other = (np.concatenate([part.ravel() for part in mixed(correlation, each, USES)]) for each in (near, far))
    assert np.linalg.norm((one - other).astype(np.float64)) <= 2 * correlation.sensitivity(USES)


@pytest.mark.parametrize("correlation", KINDS)
def test_errors_are_those_of_runs(correlation: NoiseCorrelation) -> None:
    """4000 runs of 13 steps side by side: the root mean square is within 2%, five of its standard errors."""
    uses = Uses(steps=13, dimensions=4000, lattice=2**16)
    noise = Fraction(correlation.sensitivity(uses), uses.lattice * correlation.fine(uses))
    stream = correlation.stream(noise, uses)
    sums = np.cumsum([stream.add(np.zeros(4000, dtype=np.int64), bits=BITS) for _ in range(13)], axis=0)
    found = np.sqrt((sums**2).mean(axis=1)) / uses.lattice
    assert (found.max(), np.sqrt((found**2).mean())) == pytest.approx(correlation.errors(uses), rel=0.03)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Banded(coefficients=(0.5, 1)),
        lambda: Banded(coefficients=()),
        lambda: Buffered(scales=(1,), decays=(1,)),
        lambda: Buffered(scales=(9,), decays=(0.5,)),
        lambda: Uses(steps=0, dimensions=1),
        lambda: Tree().privacy_loss(Fraction(1, 10**9), Uses(steps=2, dimensions=1), AddRemove),
    ],
)
def test_what_is_no_correlation_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidParameterError):
        wrong()


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_without_bands_the_loss_is_that_of_all_steps(relation: Any) -> None:
    uses = Uses(steps=16, dimensions=2, times=4, separation=4)
    loss = Banded(coefficients=(1.0,)).privacy_loss(Fraction(3), uses, relation)
    mu = 2 / 3 if relation is AddRemove else 4 / 3
    assert float(loss.mu_squared) == pytest.approx(mu**2, rel=1e-4)

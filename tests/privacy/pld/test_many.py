"""Ten thousand random questions: certified bounds against convolutions in non-negative numbers of extended precision.

The convolutions add and multiply only, so that their relative error is below 1e-12; no bound may miss them by more.
"""

import numpy as np
import pytest

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import FiniteLaw
from deniable.privacy.pld.search import Aim, CurveBounds, RepeatedPair, Search, _Effort

THRESHOLDS = 100
ROOM = 1e-12


def random_law(generator: np.random.Generator, step: float) -> tuple[FiniteLaw, Floats, int]:
    """A law on a lattice; its masses under P at step * (first, first + 1, ...)."""
    size = int(generator.integers(2, 7))
    masses = generator.exponential(1.0, size) * 10.0 ** generator.uniform(-4, 0, size)
    masses[1:-1][generator.random(size - 2) < 0.2] = 0.0
    failed = float(generator.choice([0.0, 0.0, 1e-13, 1e-4]))
    masses *= (1 - failed) / masses.sum()
    first = 1 - size  # low enough for Q to be a probability, up to what has no loss under P
    while float((masses * np.exp(-step * (first + np.arange(size)))).sum()) > 1:
        first += 1
    losses = step * (first + np.arange(size))
    present = masses > 0
    q = masses * np.exp(-losses)
    law = FiniteLaw(losses[present], masses[present], q[present], infinite=failed, vanishing=1 - float(q.sum()))
    law.spacing = step
    return law, masses, first


def power(masses: Floats, count: int) -> np.ndarray:
    result, square = np.ones(1, dtype=np.longdouble), masses.astype(np.longdouble)
    while count:
        result = np.convolve(result, square) if count & 1 else result
        count >>= 1
        square = np.convolve(square, square) if count else square
    return result


def questions(seed: int) -> tuple[Search, Floats, Floats]:
    """A composition, thresholds, and the truth at each."""
    generator = np.random.default_rng(seed)
    step = float(2.0 ** generator.integers(-9, 0))
    total, place, left, parts = np.ones(1, dtype=np.longdouble), 0, 0.0, []
    for _ in range(int(generator.integers(1, 4))):
        law, masses, first = random_law(generator, step)
        count = int(generator.choice([1, 2, 7, 40, 150]))
        parts.append(RepeatedPair(law, count))
        total, place = np.convolve(total, power(masses, count)), place + first * count
        left += count * np.log1p(-law.infinite)
    losses = step * (place + np.arange(total.size)).astype(np.longdouble)
    likely = np.cumsum(total[::-1])[::-1]
    last = int(np.searchsorted(-likely, -1e-14)) - 1
    low, high = losses[min(int(np.searchsorted(-likely, -0.9 * likely[0])), last)], losses[last]
    thresholds = np.sort(generator.uniform(float(low), float(high), THRESHOLDS))
    thresholds[::10] = step * np.round(thresholds[::10] / step)  # at losses, too
    gains = np.maximum(-np.expm1(np.minimum(thresholds[:, None] - losses, 0)), 0)
    return Search(parts), thresholds, (gains @ total - np.expm1(left)).astype(np.float64)


def bounds_of(search: Search, epsilon: float, delta: float) -> CurveBounds:
    """Bounds that aim at one of the thresholds, with as little effort as they need."""
    relative, found = 1e-2, None
    while found is None:
        found = search.bounds(Aim(epsilon, max(delta, 1e-14), 1e-2), _Effort.of(relative))
        relative *= 10
    return found


@pytest.mark.parametrize(("lattice", "compositions"), [(True, 85), (False, 20)])
def test_ten_thousand_random_deltas_lie_between(lattice: bool, compositions: int) -> None:
    narrow = 0
    for seed in range(compositions):
        search, thresholds, truth = questions(seed + 1000 * lattice)
        search.lattice *= lattice
        aimed = THRESHOLDS // 2 + seed % 40
        bounds = bounds_of(search, float(thresholds[aimed]), float(truth[aimed]))
        below, above = (np.array([side(float(e)) for e in thresholds]) for side in (bounds.below, bounds.above))
        assert np.all(below <= truth * (1 + ROOM))
        assert np.all(above >= truth * (1 - ROOM))
        narrow += int(above[aimed] - below[aimed] <= 0.1 * above[aimed])
    assert narrow > 0.7 * compositions  # the bounds are not true for want of saying anything


def test_a_twin_whose_sides_are_exchanged_is_caught() -> None:
    missed = 0
    for seed in range(10):
        search, thresholds, truth = questions(seed)
        search.lattice = 0.0
        bounds = bounds_of(search, float(thresholds[60]), float(truth[60]))
        missed += bounds.above(float(thresholds[60])) > truth[60] * (1 + ROOM)
        missed += bounds.below(float(thresholds[60])) < truth[60] * (1 - ROOM)
    assert missed > 10

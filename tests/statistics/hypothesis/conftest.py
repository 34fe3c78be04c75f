"""How often a test rejects, and the bounds that tell a right test from a wrong one."""

from collections.abc import Callable

import numpy as np
import pytest

from deniable.noise.bits import DeterministicBits
from deniable.statistics.hypothesis.base import HypothesisTest

RUNS = 200
LEVEL = 0.1
# A test of this level rejects more often for one seed in a million: 20 of 200 expected, standard deviation 4.2.
MOST = 0.21

Make = Callable[[np.random.Generator], object]


@pytest.fixture
def rejections() -> Callable[[HypothesisTest, Make], float]:
    """The share of RUNS data sets on which a test rejects at LEVEL."""

    def share(test: HypothesisTest, make: Make) -> float:
        rng = np.random.default_rng(7)
        found = [test(make(rng), bits=DeterministicBits(seed))["p_value"][0] for seed in range(RUNS)]
        return float((np.array(found) <= LEVEL).mean())

    return share

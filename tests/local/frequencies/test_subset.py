"""Subset selection."""

import math

import numpy as np
import pytest

from deniable.local import SubsetSelection
from deniable.noise.bits import DeterministicBits


@pytest.mark.parametrize(("values", "epsilon", "chosen"), [(10, 1, 3), (100, 2, 12), (5, 6, 1)])
def test_sets_have_the_best_size(values: int, epsilon: int, chosen: int) -> None:
    protocol = SubsetSelection(values=values, epsilon=epsilon)
    assert protocol.chosen == round(values / (math.exp(epsilon) + 1)) or chosen == 1 == protocol.chosen
    reports = protocol.encode(np.zeros(500, dtype=int), bits=DeterministicBits(1))
    assert (np.bitwise_count(reports).sum(axis=1) == protocol.chosen).all()


def test_the_variance_is_that_of_its_formula() -> None:
    protocol = SubsetSelection(values=10, epsilon=1)
    e = math.e
    p, q = 3 * e / (3 * e + 7), (2 * 3 * e + 7 * 3) / (9 * (3 * e + 7))
    assert float(protocol.variance(people=1)) == pytest.approx(q * (1 - q) / (p - q) ** 2, rel=1e-8)

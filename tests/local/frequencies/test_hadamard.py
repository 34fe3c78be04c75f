"""Hadamard response."""

import numpy as np
import pytest
from scipy.linalg import hadamard

from deniable.local import HadamardResponse
from deniable.noise.bits import DeterministicBits


def test_supports_are_those_of_a_hadamard_matrix() -> None:
    protocol = HadamardResponse(values=11, epsilon=1)
    reports = protocol.encode(np.arange(11).repeat(30), bits=DeterministicBits(1))
    agree = (hadamard(16)[1:12][:, reports.ravel()] == 1).sum(axis=1)
    assert (protocol.supports(reports) == agree).all()


def test_the_variance_is_the_closed_form() -> None:
    """((e + 1)/(e - 1))^2 - f at every share f, for epsilon = 1; of a population, - f^2."""
    found = HadamardResponse(values=9, epsilon=1).variance([0, 0.5, 1], people=1)
    assert found == pytest.approx([4.682694, 4.182694, 3.682694], abs=1e-5)

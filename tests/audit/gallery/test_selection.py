"""Choices beside published numbers and a simulation of each program."""

import math

import numpy as np
import pytest

from deniable.audit.gallery import GALLERY
from tests.audit.gallery.judging import epsilon


def test_numbers_of_the_errata() -> None:
    assert epsilon("PATE votes with Laplace noise") == pytest.approx(0.9129886230103702, rel=1e-12)  # E45, G47
    assert epsilon("exponential noisy max with half of its noise") == pytest.approx(2.0)  # E18
    assert epsilon("exponential mechanism for convex risk") == pytest.approx(1.980, abs=6e-3)  # E27, n = 100
    assert math.exp(-0.4 * 1866) == 0.0  # E57


def test_the_laws_are_those_of_the_programs() -> None:
    """Within 5 standard errors of a simulation; the twin has 0.7 of the noise."""
    generator, runs = np.random.default_rng(4), 200_000
    error = 5 * 0.5 / math.sqrt(runs)
    for share, same in ((1.0, True), (0.7, False)):
        votes = np.array([9, 10])[:, None] + share * generator.laplace(0, 2, (2, runs))
        law = GALLERY["PATE votes with Laplace noise"].law((9, 10))[True]
        assert (abs((votes[0] > votes[1]).mean() - law.lower) < error) == same  # type: ignore[union-attr]
        largest = (share * generator.laplace(0, 20, (5, runs))).max(axis=0) < 10
        printed = GALLERY["noisy max that prints its value"].law((-210,) * 5)[True]  # below -200: noise below 10
        assert (abs(largest.mean() - printed.lower) < error) == same  # type: ignore[union-attr]

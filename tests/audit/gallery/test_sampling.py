"""Sampled mechanisms beside published numbers and a simulation."""

import math

import numpy as np
import pytest

from deniable.audit import hockey_stick
from deniable.audit.gallery import GALLERY
from tests.audit.gallery.judging import epsilon, probability


def test_numbers_of_the_errata() -> None:
    assert epsilon("Poisson sampling under replace") == pytest.approx(0.430555, abs=1e-6)  # E11
    assert probability("no step on an empty batch", True) == pytest.approx(0.01024)  # E59
    assert probability("no step on an empty batch", True, neighbour=True) == pytest.approx(0.004096)
    assert epsilon("no step on an empty batch") == pytest.approx(0.916, abs=1e-3)
    one = GALLERY["fixed batches accounted as Poisson"]
    odds = str(math.exp(1.515))
    assert float(hockey_stick(one.law(1), one.law(0), exp_epsilon=odds)) == pytest.approx(0.128, abs=5e-4)  # E69
    size = GALLERY["division by the drawn batch size"]
    excess = float(hockey_stick(size.law(size.neighbour), size.law(size.data), exp_epsilon=str(math.exp(0.1))))
    assert 0.19 < excess <= 0.2330  # E58, and cells of the output lose a little


def test_division_by_the_drawn_size_as_simulated() -> None:
    """Each cell within 5 standard errors; the twin divides by the expected size."""
    generator, runs = np.random.default_rng(5), 100_000
    batch = generator.binomial(2, 0.6, runs)
    noise = np.abs(generator.normal(0, 50, runs))
    law = GALLERY["division by the drawn batch size"].law(2)
    chances = [sum(float(getattr(law[cell], "lower", law[cell])) for cell in range(upper)) for upper in range(1, 9)]
    for divided, same in ((np.maximum(batch, 1), True), (np.full(runs, 1.2), False)):
        shares = [((batch > 0) & (noise / divided < 10 * upper)).mean() for upper in range(1, 9)]
        assert np.allclose(shares, chances, atol=5 * 0.5 / math.sqrt(runs)) == same

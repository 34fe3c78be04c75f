"""Gaussian noise beside published deltas and the curves of `privacy`."""

import math

import pytest

from deniable.audit import hockey_stick
from deniable.audit.gallery import GALLERY
from deniable.privacy import GaussianLoss


def test_the_deltas_are_those_of_the_errata() -> None:
    def delta(name: str, odds: str) -> float:
        one = GALLERY[name]
        return float(hockey_stick(one.law(one.data), one.law(one.neighbour), exp_epsilon=odds))

    assert delta("classical Gaussian noise at epsilon 20", "485165195.41") == pytest.approx(1.53e-3, rel=4e-3)  # E20
    assert delta("Gaussian noise as printed in a tutorial", "2.718281828") == pytest.approx(0.975, abs=2e-3)  # E22
    one = "discrete Gaussian noise calibrated as continuous"
    assert delta(one, "2.718281828459045") == pytest.approx(0.042812, abs=1e-6)  # E92
    assert delta(one, "1.6487212707001282") == pytest.approx(0.129357, abs=1e-6)
    assert GaussianLoss(noise_multiplier="1.414213562").delta(1).upper < 0.04


def test_votes_have_the_noise_multiplier_of_two_counts() -> None:
    """E46: sqrt 2 / 20 and not 1 / 20; one event cannot show more than the whole curve."""
    found = GALLERY["PATE votes with Gaussian noise"].audit()
    true = GaussianLoss(noise_multiplier=20 / math.sqrt(2))
    assert found.epsilon <= true.epsilon(found.delta).upper * 1.000001

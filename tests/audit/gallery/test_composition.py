"""Compositions beside published numbers and the exact curves of `privacy`."""

import math
from fractions import Fraction as F

import numpy as np
import pytest

from deniable.audit import measure_exactly
from deniable.audit.gallery import GALLERY
from deniable.privacy import RandomizedResponseLoss
from tests.audit.gallery.judging import epsilon, probability


def test_the_exact_curve_of_the_responses_is_that_of_privacy() -> None:
    """A second route: the accountant composes what the gallery counts."""
    for name, truth, count in (
        ("advanced composition by its first term", F(622, 1000), 200),
        ("advanced composition with the root of 8", F(731, 1000), 400),
    ):
        composed = (RandomizedResponseLoss(truth=truth) * count).epsilon("1e-6")
        assert epsilon(name) == pytest.approx(composed.lower, rel=1e-3)
        assert epsilon(name) <= composed.upper


def test_each_step_of_the_chain_keeps_its_claim() -> None:
    law = GALLERY["group privacy with t delta"].law
    steps = measure_exactly(law, [(0, 1), (1, 2)], epsilon=1, delta="0.01")
    assert not steps.violated
    assert probability("group privacy with t delta", True) == pytest.approx(0.01 * (1 + math.e), rel=1e-5)  # E08


def test_running_again_is_selection_on_noise() -> None:
    """The law beside a simulation of the program; both are wrong together once in 10^6 seeds."""
    generator = np.random.default_rng(2)
    noise = generator.geometric(0.5, (6, 200_000)) - generator.geometric(0.5, (6, 200_000))  # ratio 1/2
    never = (noise.max(axis=0) < 1).mean()
    assert never == pytest.approx(probability("run again until there is a result", "none"), abs=5 / 200_000**0.5 / 2)

"""Noise of many questions: the mechanisms' own noise, the crossing, and reconstruction by all subset counts."""

import itertools
import math

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.limits import noise_of_questions
from deniable.mechanisms import Gaussian, Laplace
from deniable.privacy import Replace, Sensitivity


def test_noise_is_that_of_the_mechanisms() -> None:
    noise = noise_of_questions(100, rows=1000, epsilon=1, delta="1e-6")
    reach = Sensitivity(l1=100, l2_squared=100, linf=1, relation=Replace, coordinates=100)
    gaussian = Gaussian.calibrated(reach, epsilon=1, delta="1e-6")
    assert noise.gaussian == pytest.approx(math.sqrt(gaussian.sigma_squared))
    assert noise.laplace == pytest.approx(math.sqrt(2) * float(Laplace.calibrated(reach, epsilon=1).scale))
    assert noise.floor < noise.gaussian


def test_the_root_wins_after_a_few_dozen_questions() -> None:
    """Item 227: k / epsilon against sqrt(k ln(1 / delta)) / epsilon."""
    found = {k: noise_of_questions(k, rows=10**4, epsilon=1, delta="1e-6") for k in (1, 4, 16, 64, 10_000)}
    assert found[4].laplace < found[4].gaussian
    assert found[16].laplace > found[16].gaussian
    assert found[10_000].gaussian / found[64].gaussian == pytest.approx(math.sqrt(10_000 / 64), rel=0.01)
    assert found[10_000].laplace / found[64].laplace == pytest.approx(10_000 / 64)


def test_answers_from_randomized_response_are_above_what_reconstruction_allows() -> None:
    """Ten bits, each kept with e^epsilon / (1 + e^epsilon): the largest error of all subset counts, 200 runs."""
    rows, random, secret = 10, np.random.default_rng(2), np.array([0, 1] * 5)
    subsets = np.array(list(itertools.product((0, 1), repeat=rows)))
    for epsilon in (0.5, 1.0, 2.0):
        keep = 1 / (1 + math.exp(-epsilon))
        flips = random.random((200, rows)) > keep
        answers = subsets @ (np.where(flips, 1 - secret, secret)).T
        errors = np.abs(answers - (subsets @ secret)[:, None]).max(axis=0)
        floor = noise_of_questions(5, rows=rows, epsilon=epsilon, delta="1e-6").reconstruction
        assert floor < errors.mean() < 4 * floor


def test_pure_privacy_has_no_gaussian_noise() -> None:
    with pytest.raises(InvalidParameterError, match="delta"):
        noise_of_questions(5, rows=10, epsilon=1, delta=0)

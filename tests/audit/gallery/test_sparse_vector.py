"""Sparse vector techniques beside the suprema of the errata and a simulation."""

import numpy as np
import pytest

from deniable.audit.gallery import GALLERY, sparse_vector
from tests.audit.gallery.judging import epsilon, names, probability


def test_losses_approach_the_suprema_of_the_errata() -> None:
    """E64; streams of nine answers come within 6%."""
    assert probability("sparse vector of Stoddard et al.", True) == pytest.approx(0.1967, abs=5e-5)
    assert epsilon("sparse vector of Stoddard et al.") == float("inf")
    for name in names(sparse_vector):
        truth = GALLERY[name].truth or 0.0
        assert truth == float("inf") or epsilon(name) >= 0.94 * truth


def test_the_laws_are_those_of_the_programs() -> None:
    """Within 5 standard errors of 200,000 runs; the twin draws the threshold's noise anew for every answer."""
    generator, runs = np.random.default_rng(7), 200_000
    answers = np.array(GALLERY["sparse vector"].data)[:, None]
    expected = probability("sparse vector", True)
    for thresholds, same in (((1, runs), True), ((9, runs), False)):
        above = answers + generator.laplace(0, 4, (9, runs)) >= generator.laplace(0, 2, thresholds)
        share = (above[8] & ~above[:8].any(axis=0)).mean()
        assert (abs(share - expected) < 5 * (expected / runs) ** 0.5) == same
    value = answers[:7] * 0 + generator.laplace(0, 2, (7, runs))  # the lecture notes: six answers 0 and a printed one
    threshold = generator.laplace(0, 2, runs)
    shown = (value[:6] < threshold).all(axis=0) & (value[6] >= threshold) & (value[6] >= -1) & (value[6] < 0)
    chance = probability("sparse vector of Roth's lecture notes", True)
    law = GALLERY["sparse vector of Roth's lecture notes"].law((0,) * 7)[True]
    assert abs(shown.mean() - law.lower) < 5 * (chance / runs) ** 0.5  # type: ignore[union-attr]

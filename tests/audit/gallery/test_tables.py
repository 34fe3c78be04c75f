"""Facts that leak, and sensitivities beside exhaustive ones."""

import math

import pytest

from deniable.audit import search_sensitivity
from deniable.audit.universe import Universe
from deniable.privacy import Replace
from tests.audit.gallery.judging import epsilon


def test_numbers_of_the_errata() -> None:
    assert epsilon("k-means with ties") == pytest.approx(5 / 2)  # E12: five counts, noise of scale 2
    assert epsilon("k-means on a box") == pytest.approx(5.85 / 2)  # E13
    assert epsilon("histogram with scale epsilon") == pytest.approx(10)
    assert epsilon("change of a group under replace") == pytest.approx(2 * math.log(2))
    assert epsilon("mean with noise for the drawn size") == pytest.approx(5)


def test_the_true_sensitivity_of_a_group_is_found_by_exhaustion() -> None:
    universe = Universe(values=(-1, 0, 1), rows=2, min_rows=2)
    assert search_sensitivity(sum, universe, relation=Replace).l1 == 2

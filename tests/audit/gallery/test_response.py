"""Randomised answers beside their formulas."""

import math

import pytest

from deniable.audit import hockey_stick
from deniable.audit.gallery import GALLERY
from tests.audit.gallery.judging import epsilon


def test_epsilon_is_that_of_the_formula() -> None:
    assert epsilon("randomised response as 4 gamma") == pytest.approx(1.386294, abs=1e-6)  # E03
    assert epsilon("ten answers accounted as two") == pytest.approx(math.log(0.6 * 9 / 0.4))
    assert epsilon("one-hot bits accounted as one") == pytest.approx(math.log((0.8 / 0.2) ** 2))


def test_outputs_that_are_rare_each_tell_all_together() -> None:
    one = GALLERY["pointwise privacy"]
    assert max(one.law(0).values()) <= 0.01  # type: ignore[type-var]
    assert hockey_stick(one.law(0), one.law(1), exp_epsilon=100) == 1

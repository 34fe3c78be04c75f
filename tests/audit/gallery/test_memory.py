"""Kept answers: what was charged for changes beside what they lose."""

import math
from fractions import Fraction

import pytest

from deniable.audit.gallery import GALLERY
from deniable.audit.gallery.memory import kept_bits
from tests.audit.gallery.judging import epsilon, probability


def test_reports_of_one_value_never_differ_and_of_two_values_do() -> None:
    name = "kept bits of a value that changes"
    assert (0, 0, 1) not in kept_bits((0, 0, 0))
    assert probability(name, (0, 0, 1), neighbour=True) == pytest.approx(9 / 16)
    assert epsilon(name) == math.inf
    assert GALLERY[name].audit().violated


def test_noise_on_kept_bits_hides_a_change_for_few_days_alone() -> None:
    """By hand: five zeros, then five ones, by mixtures of one answer for all, and of one for each half."""
    high, low = Fraction(9, 10) ** 5, Fraction(1, 10) ** 5
    stays = high * low  # whichever the answer is, half of the reports are wrong
    changes = (high * 3 / 4 + low / 4) ** 2
    assert epsilon("kept bits, told with noise") == pytest.approx(math.log(changes / stays))
    assert epsilon("kept bits of a value that stays") == pytest.approx(math.log(3))

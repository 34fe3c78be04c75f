"""Arithmetic that betrays: supports of floats, wrapped integers, rounded sums."""

import pytest

from tests.audit.gallery.judging import probability


def test_a_float_sum_moves_further_than_its_rows() -> None:
    assert sum((2.0**53, 3.0)) - 2.0**53 == 4


def test_truncated_noise_as_printed_has_no_mass_to_spare() -> None:
    """E19: the printed density has mass 1 - 1/e; normalised, half of it lies below the neighbour's support."""
    assert probability("truncated Laplace noise as printed", True) == pytest.approx(0.5)

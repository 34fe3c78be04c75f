"""Unary encoding."""

import pytest

from deniable.local import UnaryEncoding


def test_variances_are_those_of_the_literature() -> None:
    """n times the variance at f = 0 and f = 1/2, and of basic RAPPOR at 0: Wang et al. (2017)."""
    assert UnaryEncoding(values=16, epsilon=1).variance([0, 0.5], people=1) == pytest.approx([3.68269, 4.18269], 1e-5)
    symmetric = UnaryEncoding(values=16, epsilon=1, symmetric=True)
    assert float(symmetric.variance(people=1)) == pytest.approx(3.917698, abs=1e-6)  # sqrt(e) / (sqrt(e) - 1)^2

"""Direct response."""

import pytest

from deniable.local import DirectResponse


def test_the_variance_is_that_of_the_literature() -> None:
    """n times the variance at f = 0 for k = 16 and epsilon = 1, (k - 2 + e) / (e - 1)^2: Wang et al. (2017)."""
    assert float(DirectResponse(values=16, epsilon=1).variance(people=1)) == pytest.approx(5.66243, abs=1e-5)


def test_a_report_has_the_bytes_that_its_values_need() -> None:
    assert [DirectResponse(values=k, epsilon=1).width for k in (2, 256, 257, 2**16 + 1)] == [1, 1, 2, 3]

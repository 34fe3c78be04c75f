import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import SmoothQuantile, SmoothStudentT, SmoothTrimmedMean

from .tables import multisets, replaced, smooth_sensitivity

NOISE = SmoothStudentT(epsilon=3, degrees=1, beta="1/2", lower=0, upper=4)


@pytest.mark.parametrize(("size", "trimmed"), [(3, 0), (4, 1), (5, 1), (5, 2)])
def test_the_bound_is_that_of_all_tables_at_all_distances(size: int, trimmed: int) -> None:
    mechanism, domain = SmoothTrimmedMean(noise=NOISE, trimmed=trimmed), range(5)

    def statistic(table: tuple[int, ...]) -> float:
        return float(np.mean(table[trimmed : size - trimmed]))

    truth = smooth_sensitivity(multisets(domain, size), lambda table: replaced(table, domain), statistic, beta=0.5)
    for table, bound in truth.items():
        value, found = mechanism.measured(table)
        assert float(value) == pytest.approx(statistic(table))
        assert float(found) == pytest.approx(bound, rel=1e-8)


def test_with_one_record_left_it_is_the_median() -> None:
    """statistics.md, section 2."""
    rows = np.array([3, 1, 4, 1, 0, 2, 2])
    median = SmoothQuantile(noise=NOISE, quantile="1/2").measured(rows)
    assert SmoothTrimmedMean(noise=NOISE, trimmed=3).measured(rows) == median


def test_trimming_everything_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="Trim fewer"):
        SmoothTrimmedMean(noise=NOISE, trimmed=2).measured([1, 2, 3, 4])
    for trimmed in (-1, 0.5, True):
        with pytest.raises(InvalidParameterError, match="trimmed"):
            SmoothTrimmedMean(noise=NOISE, trimmed=trimmed)

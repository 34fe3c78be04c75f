import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms.smooth import SmoothQuantile, SmoothStudentT, SmoothTrimmedMean
from tests.mechanisms.smooth.laws import rounded
from tests.mechanisms.tables import multisets, replaced, smooth_sensitivity

NOISE = SmoothStudentT(epsilon=3, degrees=1, beta="1/2", bounds=(0, 4))


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


def test_all_neighbours_keep_to_epsilon_and_local_sensitivity_does_not() -> None:
    """Exact laws of all tables of four records; the twin's noise has the scale of the local sensitivity."""
    mechanism, domain = SmoothTrimmedMean(noise=NOISE, trimmed=1), range(5)
    smooth, naive = {}, {}
    for table in multisets(domain, 4):
        value, bound = map(float, mechanism.measured(table))
        local = max(max(table[3] - table[1], table[2] - table[0]) / 2, 0.05)
        smooth[table] = rounded(NOISE, value, bound)[1]
        naive[table] = rounded(NOISE, value, local)[1]
    for laws, low, high in ((smooth, 1.5, 3), (naive, 3.1, 99)):
        losses = [np.abs(np.log(laws[x] / laws[y])).max() for x in laws for y in replaced(x, domain)]
        assert low < max(losses) <= high


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

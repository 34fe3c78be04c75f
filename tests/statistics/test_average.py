import numpy as np
import pytest

from deniable.mechanisms import Laplace
from deniable.noise.bits import DeterministicBits
from deniable.statistics.average import Average, exact_sums
from deniable.statistics.shares import UNIT

BLOCKS = [np.array([[0.0, UNIT]]), np.array([[UNIT / 4]])]
QUIET = Laplace(scale=1)  # of 2^32 steps


def average(size_is_public: bool) -> Average:
    return Average.of(iter(BLOCKS), name="x", mechanism=QUIET, size_is_public=size_is_public, bits=DeterministicBits(1))


def test_the_sums_are_of_shares_and_of_what_they_lack() -> None:
    assert exact_sums(iter(BLOCKS), size_is_public=True) == (3, [5 * UNIT // 4])
    assert exact_sums(iter(BLOCKS), size_is_public=False) == (3, [5 * UNIT // 4, 7 * UNIT // 4])
    assert exact_sums(iter([]), size_is_public=False) == (0, [0, 0])


@pytest.mark.parametrize("size_is_public", [True, False])
def test_the_mean_is_that_of_the_sums(size_is_public: bool) -> None:
    found = average(size_is_public)
    assert found.estimate() == pytest.approx(5 / 12, abs=1e-8)
    assert found.bases == (("x_above",) if size_is_public else ("x_above", "x_below"))
    assert found.count == (3 if size_is_public else None)
    assert [column.name for column in found.columns] == list(found.bases)
    assert found.columns[0].law.standard_deviation() == pytest.approx(QUIET.standard_deviation() / UNIT)


def test_where_noise_hides_the_rows_the_mean_is_near_the_middle() -> None:
    loud = Average(name="x", mechanism=Laplace(scale=100 * UNIT), count=None, noisy=(3.0, 1.0))
    assert abs(loud.estimate() - 0.5) < 0.01
    assert loud.size({"x_above": np.array([3.0]), "x_below": np.array([-9.0])}).tolist() == [0]
    assert Average(name="x", mechanism=QUIET, count=0, noisy=(-3.0,)).estimate() == 0

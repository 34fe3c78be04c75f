import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms.smooth import SmoothLaplace, SmoothLogNormal, SmoothQuantile, SmoothStudentT
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace, of_count
from tests.mechanisms.smooth.laws import rounded
from tests.mechanisms.tables import multisets, replaced, smooth_sensitivity


def quantile(q: str, *, epsilon: object = 3, lower: int = 0, upper: int = 4, beta: object = "1/2") -> SmoothQuantile:
    noise = SmoothStudentT(epsilon=epsilon, degrees=1, beta=beta, bounds=(lower, upper))
    return SmoothQuantile(noise=noise, quantile=q)


def test_the_golden_median() -> None:
    """x = 1..7 on [0, 10], beta = 1/4: S* = 2.8341993164 (statistics.md, section 11), here in millionths."""
    median = quantile("1/2", upper=10**7, beta="1/4")
    value, bound = median.measured(np.arange(1, 8) * 10**6)
    assert value == 4 * 10**6
    assert float(bound) / 1e6 == pytest.approx(2.8341993164, rel=1e-9)


@pytest.mark.parametrize("size", [1, 2, 4, 5])
@pytest.mark.parametrize("q", ["0", "1/2", "9/10", "1/5", "1"])
def test_the_bound_is_that_of_all_tables_at_all_distances(size: int, q: str) -> None:
    """Brute force over every table; an odd and an even number of records."""
    mechanism, domain = quantile(q), range(5)
    rank = max(math.ceil(Fraction(q) * size), 1)
    truth = smooth_sensitivity(
        multisets(domain, size), lambda table: replaced(table, domain), lambda table: table[rank - 1], beta=0.5
    )
    for table, bound in truth.items():
        value, found = mechanism.measured(table)
        assert value == table[rank - 1]
        assert float(found) == pytest.approx(bound, rel=1e-8)


def test_the_local_sensitivity_of_a_median_can_be_the_whole_domain() -> None:
    """E83: x = (0, ..., 0, 10, ..., 10) on [0, 10]; on a bounded domain it is not unbounded."""
    mechanism = quantile("1/2", upper=10)
    value, bound = mechanism.measured([0] * 5 + [10] * 4)
    assert value == 0
    assert mechanism.measured([0] * 4 + [10] * 5)[0] == 10
    assert float(bound) == pytest.approx(10)


def ratio(first: np.ndarray, second: np.ndarray) -> float:
    with np.errstate(divide="ignore"):
        return float(np.abs(np.log(first) - np.log(second)).max())


def test_all_neighbours_keep_to_epsilon_and_local_sensitivity_does_not() -> None:
    """The exact laws of all tables of three records. The naive twin scales the noise with the local sensitivity."""
    mechanism, domain = quantile("1/2", epsilon=1, beta="1/6", upper=6), range(7)
    smooth, naive = {}, {}
    for table in multisets(domain, 3):
        value, bound = map(float, mechanism.measured(table))
        smooth[table] = rounded(mechanism.noise, value, bound)[1]
        naive[table] = rounded(mechanism.noise, value, max(*np.diff(table), 0.05))[1]
    for laws, low, high in ((smooth, 0.5, 1), (naive, 2, math.inf)):
        assert low < max(ratio(laws[x], laws[y]) for x in laws for y in replaced(x, domain)) <= high


def test_all_neighbours_keep_to_delta_with_laplace_noise() -> None:
    """delta at epsilon of the exact laws; with a third of the noise it is exceeded."""
    noise, domain = SmoothLaplace.calibrated(epsilon=2, delta="0.01", bounds=(0, 6)), range(7)
    for size, low, high in ((1.0, 0.0, 0.01), (0.3, 0.01, 1.0)):
        laws = {}
        for table in multisets(domain, 3):
            value, bound = map(float, SmoothQuantile(noise=noise, quantile="1/2").measured(table))
            laws[table] = rounded(noise, value, size * bound)[1]
        excess = [np.maximum(laws[x] - math.exp(2) * laws[y], 0).sum() for x in laws for y in replaced(x, domain)]
        assert low <= max(excess) <= high


def test_all_neighbours_keep_to_rho_with_log_normal_noise() -> None:
    """Rényi divergences of the exact laws; with a sixth of the noise they are exceeded."""
    noise, domain, order = SmoothLogNormal.calibrated(rho=1, bounds=(0, 6)), range(7), 3.0
    for size, low, high in ((1.0, 0.1, order), (1 / 6, order, 99.0)):
        laws = {}
        for table in multisets(domain, 3):
            value, bound = map(float, SmoothQuantile(noise=noise, quantile="1/2").measured(table))
            laws[table] = rounded(noise, value, size * bound)[1]
        moments = [(laws[x] ** order * laws[y] ** (1 - order)).sum() for x in laws for y in replaced(x, domain)]
        assert low <= math.log(max(moments)) / (order - 1) <= high


def test_the_order_of_rows_changes_nothing() -> None:
    median = quantile("1/2", upper=1000)
    rows = np.array([5, 900, 17, 17, 400])
    releases = {
        median.release(rows[order], bits=DeterministicBits(1)).value for order in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1])
    }
    assert len(releases) == 1


def test_add_remove_is_refused() -> None:
    with pytest.raises(UnprovedError, match="See InverseMedian, SmoothMedian"):
        quantile("1/2").privacy_loss(of_count(rows=1, groups=1, cells=1, relation=AddRemove))
    quantile("1/2").privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace))


@pytest.mark.parametrize("q", ["1.5", -1, "half"])
def test_bad_quantiles_are_refused(q: object) -> None:
    with pytest.raises(InvalidParameterError, match="quantile"):
        quantile(q)

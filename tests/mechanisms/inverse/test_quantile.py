import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms.inverse import InverseQuantile
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace, of_count
from tests.mechanisms.inverse.laws import of_inverse_quantile
from tests.mechanisms.inverse.test_gaps import by_gaps
from tests.mechanisms.tables import multisets, replaced

DOMAIN = range(5)


@pytest.mark.parametrize("q", ["1/2", "1/5", "1"])
@pytest.mark.parametrize("smoothing", [0, 1, 9])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_gaps_have_the_length_of_the_definition(q: str, smoothing: int, size: int) -> None:
    """Brute force over all tables."""
    mechanism = InverseQuantile.calibrated(epsilon=2, bounds=(0, 4), smoothing=smoothing, quantile=q)
    for table in multisets(DOMAIN, size):
        assert by_gaps(mechanism, table) == pytest.approx(of_inverse_quantile(mechanism, table)[1], rel=1e-12)


def test_all_neighbours_keep_to_epsilon_and_distances_in_value_do_not() -> None:
    """The twin scores a value by its distance from the median, whose sensitivity is the width of the domain."""
    mechanism = InverseQuantile.calibrated(epsilon=1, bounds=(0, 4))
    tables = multisets(DOMAIN, 3)
    laws = {table: np.log(by_gaps(mechanism, table)) for table in tables}
    naive = {table: -0.5 * np.abs(np.arange(5) - table[1]) for table in tables}
    naive = {table: score - np.log(np.exp(score).sum()) for table, score in naive.items()}
    for law, low, high in ((laws, 0.7, 1.0), (naive, 1.5, 9.0)):
        assert low < max(float(np.abs(law[x] - law[y]).max()) for x in tables for y in replaced(x, DOMAIN)) <= high


def test_one_release_follows_the_same_law_as_many() -> None:
    """Chi-square statistic of 1,000 single releases with 4 degrees of freedom: above 45 for one seed in 10^8."""
    mechanism, bits = InverseQuantile.calibrated(epsilon=2, bounds=(0, 4)), DeterministicBits(1)
    drawn = np.array([mechanism.release((0, 3, 3), bits=bits).value for _ in range(1000)])
    expected = 1000 * of_inverse_quantile(mechanism, (0, 3, 3))[1]
    assert ((np.bincount(drawn, minlength=5) - expected) ** 2 / expected).sum() < 45
    assert ((np.bincount(drawn[drawn > 0], minlength=5) - expected) ** 2 / expected).sum() > 45


def test_the_median_of_many_records_is_close() -> None:
    records = np.arange(100_001)
    answer = InverseQuantile.calibrated(epsilon=1, bounds=(0, 10**9)).release(records, bits=DeterministicBits(1))
    assert abs(answer.value - 50_000) < 50


def test_a_third_of_wild_records_leaves_the_median_among_the_others() -> None:
    """Breakdown: inventory, item 77. A mean of the same records is far out."""
    records = [*range(400, 600), *[10**6] * 100]
    drawn = InverseQuantile.calibrated(epsilon=1, bounds=(0, 10**6)).outcomes(
        tuple(records), 200, bits=DeterministicBits(1)
    )
    assert drawn.min() >= 400
    assert drawn.max() < 600 < np.mean(records)


def test_a_quantile_of_no_record_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="at least one record"):
        InverseQuantile.calibrated(epsilon=1, bounds=(0, 9)).release([])


def test_add_remove_is_refused() -> None:
    mechanism = InverseQuantile.calibrated(epsilon=1, bounds=(0, 9))
    with pytest.raises(UnprovedError, match="not for add/remove"):
        mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=AddRemove))
    assert mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace)).pure_epsilon == 1


def test_the_quantiles_0_and_1_are_the_ends() -> None:
    for quantile, end in ((0, 100), (1, 299)):
        mechanism = InverseQuantile(rate=30, bounds=(0, 1000), quantile=quantile)
        assert abs(mechanism.release(range(100, 300), bits=DeterministicBits(1)).value - end) < 2
    with pytest.raises(InvalidParameterError, match=r"quantile must be in \[0, 1\], got 2"):
        InverseQuantile(rate=3, bounds=(0, 1000), quantile=2)

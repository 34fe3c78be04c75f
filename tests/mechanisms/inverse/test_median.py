from itertools import pairwise

import numpy as np
import pytest

from deniable.errors import UnprovedError
from deniable.mechanisms.inverse import InverseMedian
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace, of_count
from tests.mechanisms.inverse.laws import of_inverse_median
from tests.mechanisms.inverse.test_gaps import by_gaps
from tests.mechanisms.tables import multisets

DOMAIN = range(4)


@pytest.mark.parametrize("smoothing", [0, 1])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_gaps_have_the_length_of_the_definition(smoothing: int, size: int) -> None:
    """Brute force over all tables, records added or removed."""
    mechanism = InverseMedian.calibrated(epsilon=2, bounds=(0, 3), smoothing=smoothing)
    for table in multisets(DOMAIN, size):
        assert by_gaps(mechanism, table) == pytest.approx(of_inverse_median(mechanism, table)[1], rel=1e-12)


def test_one_record_more_keeps_to_epsilon_from_the_empty_table_on() -> None:
    mechanism = InverseMedian.calibrated(epsilon=1, bounds=(0, 3))
    laws = {table: np.log(by_gaps(mechanism, table)) for size in range(6) for table in multisets(DOMAIN, size)}
    pairs = [(x, tuple(sorted((*x, value)))) for x in laws if len(x) < 5 for value in DOMAIN]
    assert 0.7 < max(float(np.abs(laws[x] - laws[y]).max()) for x, y in pairs) <= 1
    counted = {x: np.log(np.bincount(x, minlength=4) + 0.1) for x in laws}  # a twin without the mechanism
    assert max(float(np.abs(counted[x] - counted[y]).max()) for x, y in pairs) > 1


def test_a_median_is_closer_the_larger_epsilon() -> None:
    records = np.arange(2001) * 10
    errors = []
    for epsilon in ("0.01", "0.1", 1, 10):
        mechanism = InverseMedian.calibrated(epsilon=epsilon, bounds=(0, 10**6))
        drawn = mechanism.outcomes(tuple(records.tolist()), 100, bits=DeterministicBits(1))
        errors.append(float(np.median(np.abs(drawn - 10_000))))
    assert all(a > b for a, b in pairwise(errors))
    assert mechanism.release([], bits=DeterministicBits(1)).value in range(10**6 + 1)


def test_replace_is_refused() -> None:
    mechanism = InverseMedian.calibrated(epsilon=1, bounds=(0, 9))
    with pytest.raises(UnprovedError, match="add/remove, not for replace"):
        mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace))
    assert mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=AddRemove)).pure_epsilon == 1

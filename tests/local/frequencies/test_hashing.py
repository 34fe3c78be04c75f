"""Local hashing: functions by plain integers, chances of cells."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.local import LocalHashing
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(4)


@pytest.mark.parametrize(
    "protocol", [LocalHashing(values=20, epsilon=1), LocalHashing(values=20, epsilon="0.3", cells=3)]
)
def test_a_hashed_report_is_its_own_cell_as_often_as_stated_whatever_the_function(protocol: Any) -> None:
    """Within five standard errors over 200,000 reports; functions are applied here in Python's integers."""
    reports = protocol.encode(np.full(200_000, 7), bits=BITS)
    assert reports.shape[1] == 9
    words = reports[:, :8].copy().view("<u4").astype(object)
    own = [((int(a) * 7 + int(b)) % 2**32 >> 16) * protocol.cells >> 16 for a, b in words[:20_000]]
    assert (np.array(own) == reports[:20_000, 8]).sum() == protocol.supports(reports[:20_000])[7]
    for value, chance in ((7, protocol.p), (8, protocol.q)):
        error = 5 * math.sqrt(chance * (1 - chance) / 200_000)
        assert protocol.supports(reports)[value] / 200_000 == pytest.approx(float(chance), abs=error)


def test_a_lie_is_every_other_cell_as_often() -> None:
    """Chi-square at level 1e-6: a cell that no lie reaches would have an unbounded loss, and the same supports."""
    protocol = LocalHashing(values=20, epsilon=1, cells=5)
    reports = protocol.encode(np.full(20_000, 7), bits=BITS)
    words = reports[:, :8].copy().view("<u4").astype(object)
    own = np.array([((int(a) * 7 + int(b)) % 2**32 >> 16) * 5 >> 16 for a, b in words])
    drawn = np.bincount((reports[:, 8] - own) % 5, minlength=5)
    chances = [protocol.p, *[(1 - protocol.p) / 4] * 4]
    assert stats.chisquare(drawn, [20_000 * float(chance) for chance in chances]).pvalue > 1e-6


def test_hash_functions_of_wide_words_serve_many_values() -> None:
    protocol = LocalHashing(values=70_000, epsilon=2)
    tally = protocol.supports(protocol.encode(np.full(400, 69_999), bits=BITS))
    assert (protocol.width, int(tally.argmax())) == (17, 69_999)

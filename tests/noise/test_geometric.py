"""The geometric law, and the floor of a real Laplace draw, against their exact laws."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.noise import geometric
from deniable.noise.bits import DeterministicBits
from tests.noise.goodness import ALARM, p_value
from tests.noise.streams import ScriptedBits

SCALES = [Fraction(1, 3), Fraction(29, 3), Fraction(10**9)]


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_draws_are_geometric_and_of_no_other_scale(scale: Fraction) -> None:
    draws = geometric.sample(scale=scale, size=300_000, bits=DeterministicBits(1))
    assert draws.min() >= 0

    def cdf(spread: float, k: np.ndarray) -> np.ndarray:
        return np.where(k < 0, 0.0, -np.expm1(-(k + 1) / spread))

    reach = 9 * float(scale) + 1
    assert p_value(draws, lambda k: cdf(float(scale), k), reach) > ALARM
    for twin in (0.7, 1.3):
        assert p_value(draws, lambda k, twin=twin: cdf(float(scale) * twin, k), reach) < ALARM


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_floor_of_a_real_laplace_number(scale: Fraction) -> None:
    """P[floor(X) <= k] is the distribution function of X at k + 1; the law shifted by one half is the twin."""
    draws = geometric.floored_laplace(scale=scale, size=300_000, bits=DeterministicBits(2))

    def cdf(x: np.ndarray) -> np.ndarray:
        tail = 0.5 * np.exp(-np.abs(x) / float(scale))
        return np.where(x < 0, tail, 1 - tail)

    reach = 9 * float(scale) + 1
    assert p_value(draws, lambda k: cdf(k + 1), reach) > ALARM
    if scale < 100:
        assert p_value(draws, lambda k: cdf(k + 0.5), reach) < ALARM


def test_draws_beyond_64_bits_are_python_ints(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 scales of 2^57 are out of reach of a test, so the Laplace numbers are given."""
    given = np.array([2**70, -(2**70), -1], dtype=object)
    monkeypatch.setattr(geometric.laplace, "sample", lambda **_: given)
    assert geometric.sample(scale=1).tolist() == [2**70, 2**70 - 1, 0]
    floors = geometric.floored_laplace(scale=1, bits=ScriptedBits([0, 2**63, 2**64 - 1])).tolist()
    assert floors == [2**70, -(2**70), -1]


def test_size_gives_the_shape() -> None:
    assert geometric.sample(scale=2).shape == ()
    assert geometric.floored_laplace(scale=2, size=(2, 3)).shape == (2, 3)


def test_a_float_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="scale must be"):
        geometric.sample(scale=0.5)  # type: ignore[arg-type]


def test_a_share_is_a_polya_number_and_shares_add_up_to_a_geometric_one() -> None:
    """Chi-square at level 1e-6; shares of twice as many parts are refused."""
    scale, runs = Fraction(8), 20_000
    drawn = geometric.shares(scale=scale, parts=3, size=(3, runs), bits=DeterministicBits(4))
    for tally, shape, right in ((drawn[0], 1 / 3, True), (drawn[0], 1 / 6, False), (drawn.sum(axis=0), 1, True)):
        law = stats.nbinom(shape, -math.expm1(-1 / 8)).pmf(np.arange(40))
        found = np.append(np.bincount(tally, minlength=40)[:40], np.count_nonzero(tally >= 40))
        assert (stats.chisquare(found, runs * np.append(law, 1 - law.sum())).pvalue > 1e-6) == right

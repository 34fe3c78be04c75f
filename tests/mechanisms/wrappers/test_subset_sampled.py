"""Samples of a fixed size: uniform, secret, and stated under replace."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms import Laplace
from deniable.mechanisms.wrappers import SubsetSampled
from deniable.noise.bits import Bits, DeterministicBits
from deniable.privacy import AddRemove, Replace, of_count

BASE = Laplace(scale=Fraction(1))
MECHANISM = SubsetSampled(base=BASE, size=2, population=5)


def test_a_sample_costs_less() -> None:
    loss = MECHANISM.privacy_loss(of_count(rows=1, groups=1, relation=Replace, cells=1))
    assert float(loss.pure_epsilon or 0) == pytest.approx(math.log1p(0.4 * math.expm1(1)))


def test_a_fixed_size_is_refused_under_add_remove() -> None:
    with pytest.raises(UnprovedError, match="add/remove"):
        MECHANISM.privacy_loss(of_count(rows=1, groups=1, relation=AddRemove))


def test_every_set_comes_alike() -> None:
    """Chi-square of 20,000 sets of two out of five; a correct one fails for one seed in a million."""
    samples = MECHANISM._samples(5, 20_000, DeterministicBits(2))
    codes = samples @ (1 << np.arange(5))
    kinds = [(1 << a) + (1 << b) for a, b in combinations(range(5), 2)]
    assert set(codes) == set(kinds)
    assert stats.chisquare([(codes == kind).sum() for kind in kinds]).pvalue > 1e-6


def test_equal_words_are_drawn_again() -> None:
    class Poor(Bits):
        """Words of two bits, so that ties are common."""

        def __init__(self) -> None:
            self._stream = DeterministicBits(4)

        def fill(self, out: NDArray[np.uint64]) -> None:
            self._stream.fill(out)
            out >>= np.uint64(62)

    samples = SubsetSampled(base=BASE, size=1, population=3)._samples(3, 3000, Poor())
    assert (samples.sum(axis=1) == 1).all()
    assert stats.chisquare(samples.sum(axis=0)).pvalue > 1e-6


@pytest.mark.parametrize("values", [{"size": 0}, {"size": 5}, {"population": 0}])
def test_sizes_are_checked(values: dict[str, int]) -> None:
    with pytest.raises(InvalidParameterError):
        SubsetSampled(**({"base": BASE, "size": 2, "population": 5} | values))  # type: ignore[arg-type]


def test_all_units_are_given() -> None:
    with pytest.raises(InvalidParameterError, match="population=5"):
        MECHANISM.release(np.array([1, 2, 3]))

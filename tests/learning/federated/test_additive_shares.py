"""Additive shares: their sums are shares of the sum, and all but one of them are uniform."""

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.learning.federated import joined, split
from deniable.noise.bits import DeterministicBits

VECTORS = np.random.default_rng(5).integers(-(2**20), 2**20, (12, 7))


@pytest.mark.parametrize("width", [2, 4, 8])
def test_sums_of_shares_are_shares_of_the_sum(width: int) -> None:
    """Twelve vectors and two parts of a noise, for three servers, each of whom adds up what it gets."""
    rows = [*(VECTORS % 1000), np.full(7, -3000), np.arange(7)]
    given = [split(row, servers=3, width=width, bits=DeterministicBits(i)) for i, row in enumerate(rows)]
    held = [joined(parts, width=width).astype(f"<i{width}").tobytes() for parts in zip(*given, strict=True)]
    assert joined(held, width=width).tolist() == np.sum(rows, axis=0).tolist()


def test_all_shares_but_one_are_uniform_whatever_the_vector() -> None:
    """Shares but for each one in turn, of 2,000 draws of one number in 16 bits: means of 2^15 within 5 deviations."""
    bits = DeterministicBits(3)
    drawn = [
        [int.from_bytes(part, "little") for part in split(np.array([9]), servers=3, width=2, bits=bits)]
        for _ in range(2000)
    ]
    assert np.abs(np.mean(drawn, axis=0) - 2**15).max() < 5 * 2**16 / (12 * 2000) ** 0.5
    pairs = np.corrcoef(np.array(drawn).T)[np.triu_indices(3, 1)]
    assert np.abs(pairs).max() < 5 / 2000**0.5
    assert ((np.sum(drawn, axis=1) - 9) % 2**16 == 0).all()


def test_shares_of_other_lengths_and_widths_are_refused() -> None:
    for bad in ([], [b"12345678", bytes(16)], [b"1234", b"1234"], ["12345678"], [None]):
        with pytest.raises(InvalidParameterError, match="one length"):
            joined(bad)
    with pytest.raises(InvalidParameterError, match="width"):
        split(VECTORS[0], servers=2, width=3)
    with pytest.raises(InvalidParameterError, match="servers"):
        split(VECTORS[0], servers=1)
    for bad_vector in ([0.5, 1.0], [[1, 2]], 3, [None]):  # floats would lose their last digits
        with pytest.raises(InvalidParameterError, match="integers"):
            split(np.array(bad_vector), servers=2)

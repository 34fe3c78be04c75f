"""Codecs: what comes back, and bytes that nobody packs."""

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.learning.federated import Sign, Top

NOISY = np.random.default_rng(1).integers(-50, 51, 21)


def test_signs_and_the_largest_come_back() -> None:
    assert Sign(steps=3).unpack(Sign(steps=3).pack(NOISY), 21).tolist() == np.where(NOISY >= 0, 3, -3).tolist()
    found = Top(count=4).unpack(Top(count=4).pack(NOISY), 21)
    assert np.count_nonzero(found) == 4
    assert (found[found != 0] == NOISY[found != 0]).all()
    assert np.abs(NOISY[found == 0]).max() <= np.abs(found[found != 0]).min()
    assert Top(count=40).unpack(Top(count=40).pack(NOISY), 21).tolist() == NOISY.tolist()
    assert len(Sign(steps=3).pack(NOISY)) == 3
    assert len(Top(count=4).pack(NOISY)) == 48


def test_places_that_repeat_or_lie_outside_and_wrong_lengths_are_refused() -> None:
    values = np.zeros(2, dtype="<i8").tobytes()
    for places in ([1, 1], [4, 2], [0, 21]):
        with pytest.raises(InvalidParameterError, match="not a valid vector"):
            Top(count=2).unpack(np.array(places, dtype="<u4").tobytes() + values, 21)
    for codec in (Top(count=2), Sign(steps=1)):
        for sent in (b"", b"1" * 23, b"1" * 25):
            with pytest.raises(InvalidParameterError, match="not a valid vector"):
                codec.unpack(sent, 21)


def test_the_largest_entry_without_noise_tells_one_client_from_another() -> None:
    """Erratum E51: top-1 of (1, 0) and of (0, 1) differ with probability 1."""
    assert Top(count=1).pack(np.array([1, 0])) != Top(count=1).pack(np.array([0, 1]))

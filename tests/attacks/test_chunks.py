"""Pieces of work."""

import numpy as np

from deniable.attacks.chunks import stretches


def test_stretches_cover_every_place_once_within_the_limit() -> None:
    dice = np.random.default_rng(0)
    for _ in range(50):
        counts = dice.integers(0, 12, size=dice.integers(0, 30))
        pieces = list(stretches(counts, 10))
        assert [place for start, stop in pieces for place in range(start, stop)] == list(range(len(counts)))
        assert all(counts[start:stop].sum() <= 10 or stop == start + 1 for start, stop in pieces)

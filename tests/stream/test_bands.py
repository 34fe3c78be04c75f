"""Bands that hold for all steps at once."""

from statistics import NormalDist

import numpy as np
import pytest

from deniable.noise.bits import DeterministicBits
from deniable.stream import Counter, StreamPlan
from deniable.stream.bands import band_factor


def test_bands_hold_for_all_steps_as_often_as_stated() -> None:
    """1,000 streams of 30 steps side by side: of 95% bands 928 to 969 hold but once in 1,000 runs (binomial)."""
    facts = {"steps": 30, "rho": "1/2"}
    side = Counter(keys=list(range(1000)), bits=DeterministicBits(7), **facts)
    for _ in range(30):
        side.release()
    totals = side.history()["total"].reshape(30, 1000)
    factor = band_factor(StreamPlan(**facts).chosen(), steps=30, level=0.95, cells=1)
    inside = np.abs(totals) <= factor * side.standard_errors()[:, np.newaxis]
    assert 928 <= inside.all(axis=0).sum() <= 969
    pointwise = np.abs(totals) <= 1.96 * side.standard_errors()[:, np.newaxis]
    assert pointwise.all(axis=0).sum() < 900  # the twin: intervals of single steps are no band
    assert pointwise.mean() == pytest.approx(0.95, abs=0.01)


def test_long_streams_and_many_keys_have_sidaks_bound() -> None:
    made = StreamPlan(steps=5000, keys=["a", "b"], rho=1).chosen()
    known = NormalDist().inv_cdf((1 + 0.9 ** (1 / 10_000)) / 2)
    assert band_factor(made, steps=5000, level=0.9, cells=2) == pytest.approx(known, rel=1e-9)
    assert band_factor(made, steps=50, level=0.9, cells=1) < NormalDist().inv_cdf((1 + 0.9 ** (1 / 50)) / 2)

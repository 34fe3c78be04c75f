import numpy as np
import pytest
from scipy import stats

from deniable.mechanisms.inverse import InverseMedian, InverseQuantile, gaps
from deniable.mechanisms.inverse.gaps import InverseByGaps
from deniable.noise import bernoulli
from deniable.noise.bits import DeterministicBits


def by_gaps(mechanism: InverseByGaps, table: tuple[int, ...]) -> np.ndarray:
    """The law of the values from the gaps of the mechanism."""
    _, length, weight = mechanism._gaps(mechanism._records(table), 2 * len(table) + 1)
    mass = np.repeat(np.exp(-float(mechanism.rate) * length), weight)
    return mass / mass.sum()


def test_gaps_cover_the_domain_once() -> None:
    """Whatever is far: all values have their own len, but those that are far, of which no len is below theirs."""
    for smoothing in (0, 3, 10**9):
        mechanism = InverseMedian.calibrated(epsilon=1, bounds=(-5, 20), smoothing=smoothing)
        records = mechanism._records([0, 0, 7, 20, 99])
        for reach in (1, 2, 3, 11):
            start, length, weight = (each.tolist() for each in mechanism._gaps(records, reach))
            runs = sorted(zip(start, length, weight, strict=True))
            values = np.concatenate([np.arange(first, first + size) for first, _, size in runs])
            assert values.tolist() == list(range(-5, 21))
            told = np.repeat([each for _, each, _ in runs], [size for _, _, size in runs])
            assert np.minimum(mechanism._lengths_at(records, values), reach + 1).tolist() == told.tolist()


@pytest.mark.parametrize("kind", [InverseMedian, InverseQuantile])
@pytest.mark.parametrize("smoothing", [0, 2])
def test_values_far_away_are_as_probable_as_they_should_be(
    kind: type[InverseByGaps], smoothing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Single draws of which most are far away, against the law by all gaps; one seed in a million. The twin takes every
    value that is drawn."""
    monkeypatch.setattr(gaps, "_FAINT", -2.8)
    table, runs = (1, 4, 4, 9, 11, 12, 12), 800
    mechanism = kind.calibrated(epsilon=2, bounds=(0, 14), smoothing=smoothing)
    assert mechanism._farthest_length(len(table)) == 1
    length = mechanism._lengths_at(mechanism._records(table), np.arange(15))
    mass = np.exp(-float(mechanism.rate) * length)
    for seed, fits in ((1, True), (2, False)):
        if not fits:
            monkeypatch.setattr(bernoulli, "sample_enclosed", lambda **_: True)
        bits = DeterministicBits(seed)
        found = np.array([mechanism.release(table, bits=bits).value for _ in range(runs)])
        p = stats.chisquare(np.bincount(found, minlength=15), mass / mass.sum() * runs).pvalue
        assert (p > 1e-6) is np.bool_(fits)


def test_a_million_records() -> None:
    records = np.random.default_rng(5).integers(0, 2**40, 10**6)
    mechanism = InverseQuantile.calibrated(epsilon=1, bounds=(0, 2**40), quantile="1/4")
    value = mechanism.release(records, bits=DeterministicBits(1)).value
    assert value is not None
    assert abs(value / 2**40 - 0.25) < 3e-3


@pytest.mark.parametrize("kind", [InverseMedian, InverseQuantile])
@pytest.mark.parametrize(
    "records", [[7], np.full(100_000, 7), np.repeat([-(2**60), 2**60], 5)], ids=["one", "ties", "far"]
)
def test_ties_and_wide_domains_give_a_value_of_the_domain(records: np.ndarray, kind: type[InverseByGaps]) -> None:
    """statistics.md, trap 1: weights underflow elsewhere."""
    for epsilon in ("1e-9", 1000):
        mechanism = kind.calibrated(epsilon=epsilon, bounds=(-(2**61), 2**61), smoothing=2**61)
        value = mechanism.release(records, bits=DeterministicBits(1)).value
        assert value is not None
        assert -(2**61) <= value <= 2**61

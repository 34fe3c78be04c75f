import numpy as np
import pytest

from deniable.mechanisms import InverseMedian, InverseQuantile
from deniable.mechanisms.instance.gaps import InverseByGaps
from deniable.noise.bits import DeterministicBits


def by_gaps(mechanism: InverseByGaps, table: tuple[int, ...]) -> np.ndarray:
    """The law of the values from the gaps of the mechanism."""
    _, length, weight = mechanism._gaps(table)
    mass = np.repeat(np.exp(-float(mechanism.rate) * length), weight)
    return mass / mass.sum()


def test_gaps_cover_the_domain_once() -> None:
    for smoothing in (0, 3, 10**9):
        mechanism = InverseMedian.calibrated(epsilon=1, lower=-5, upper=20, smoothing=smoothing)
        start, length, weight = mechanism._gaps([0, 0, 7, 20, 99])
        assert start[0] == -5
        assert (weight > 0).all()
        assert start.size == length.size
        assert (start + weight).tolist() == [*start[1:].tolist(), 21]


@pytest.mark.parametrize("kind", [InverseMedian, InverseQuantile])
@pytest.mark.parametrize(
    "records", [[7], np.full(100_000, 7), np.repeat([-(2**60), 2**60], 5)], ids=["one", "ties", "far"]
)
def test_ties_and_wide_domains_give_a_value_of_the_domain(records: np.ndarray, kind: type[InverseByGaps]) -> None:
    """statistics.md, trap 1: weights underflow elsewhere."""
    for epsilon in ("1e-9", 1000):
        mechanism = kind.calibrated(epsilon=epsilon, lower=-(2**61), upper=2**61, smoothing=2**61)
        value = mechanism.release(records, bits=DeterministicBits(1)).value
        assert value is not None
        assert -(2**61) <= value <= 2**61

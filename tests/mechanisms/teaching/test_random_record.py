"""A random record: E61."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import RandomRecord
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Replace, of_count
from tests.mechanisms.teaching.laws import random_record

ONE = of_count(rows=1, groups=1, relation=Replace, cells=1)


@pytest.mark.parametrize(("chance", "delta"), [(Fraction(1), "1/100"), (Fraction(1, 1000), "1/100000")])
def test_one_of_n_records_is_shown_with_total_variation_one_over_n(chance: Fraction, delta: str) -> None:
    """E61: n = 100: 0.01 outright, and delta/100 when released with probability delta; by the law of both tables."""
    mechanism = RandomRecord(population=100, chance=chance)
    laws = [dict(zip(*random_record(mechanism, table), strict=True)) for table in ((1,) + 99 * (0,), 100 * (0,))]
    kinds = {*laws[0], *laws[1]}
    variation = sum(abs(laws[0].get(kind, 0) - laws[1].get(kind, 0)) for kind in kinds) / 2
    assert variation == pytest.approx(float(Fraction(delta)))
    assert mechanism.privacy_loss(ONE).advantage().contains(Fraction(delta))


def test_every_place_is_shown_alike() -> None:
    """10,000 releases of four records: each place within six standard deviations of a quarter."""
    bits, mechanism = DeterministicBits(4), RandomRecord(population=4)
    places = [int(mechanism.release([0, 1, 2, 3], bits=bits).value[0]) for _ in range(10_000)]
    assert np.abs(np.bincount(places, minlength=4) - 2500).max() < 6 * np.sqrt(10_000 * 3 / 16)


def test_the_number_of_records_is_public() -> None:
    mechanism = RandomRecord(population=4)
    with pytest.raises(InvalidParameterError, match="population=4"):
        mechanism.release([1, 2, 3])
    with pytest.raises(InvalidParameterError, match="population=4"):
        mechanism.outcomes((1, 2, 3), 5, bits=DeterministicBits(1))


@pytest.mark.parametrize("values", [{"population": 0}, {"chance": 0}, {"chance": 2}])
def test_parameters_are_checked(values: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        RandomRecord(**({"population": 2} | values))  # type: ignore[arg-type]

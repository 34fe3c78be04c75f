"""Means of vectors by sampled coordinates."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.local import VectorMean, pack, protocol_of, unpack
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(12)


def test_the_greatest_loss_over_all_pairs_of_vectors_is_at_most_epsilon() -> None:
    """Given the place, codes are independent; so probabilities are products over the coordinates that it names."""
    protocol = VectorMean(columns=3, lower=0, upper=1, epsilon=2, sampled=2, steps=2)
    rows = protocol.coordinate.channel(range(3))
    ratios = [max(a / b for a, b in zip(x, y, strict=True)) for x, y in product(rows, rows)]
    assert max(one * other for one, other in product(ratios, ratios)) <= math.exp(2)
    assert float(max(ratios)) ** 2 == pytest.approx(math.exp(2), rel=1e-8)


@pytest.mark.parametrize("sampled", [1, 3])
def test_estimates_variances_and_intervals(sampled: int) -> None:
    """300 runs of 1200 people: means within five standard errors, variances within 45%, 90% intervals cover 84%."""
    protocol = VectorMean(columns=4, lower=-1, upper=1, epsilon=2, sampled=sampled)
    people, runs = 1200, 300
    rows = np.tile([[0.5, 0, -1, 1], [0.1, 0, -1, 0.5]], (people // 2, 1))
    answers = [protocol.estimate(protocol.encode(rows, bits=BITS)) for _ in range(runs)]
    found, truth = np.array([answer["mean"] for answer in answers]), rows.mean(axis=0)
    variance = protocol.variance(rows[:2], people=people)
    assert np.abs(found.mean(axis=0) - truth) / np.sqrt(variance / runs) == pytest.approx(0, abs=5)
    assert found.var(axis=0) == pytest.approx(variance, rel=0.45)
    assert (variance <= protocol.variance(people=people) + 1e-15).all()
    ends = [answer.intervals(0.9)["mean"] for answer in answers]
    assert np.mean([(end.lower <= truth) & (truth <= end.upper) for end in ends], axis=0).min() >= 0.84


def test_coordinates_are_chosen_by_epsilon_and_hostile_rows_are_rows() -> None:
    assert [VectorMean(columns=9, lower=0, upper=1, epsilon=e).sampled for e in (1, 6, 40)] == [1, 2, 9]
    protocol = VectorMean(columns=2, lower=0, upper=1, epsilon=1)
    odd: list[Any] = [[0.5, None], "ab", [1], None, [float("nan"), 10**400]]
    reports = protocol.encode(odd, bits=BITS)
    assert reports.shape == (5, protocol.width)
    assert (unpack(protocol, pack(protocol, reports)) == reports).all()
    assert protocol_of(protocol.to_json()) == protocol
    with pytest.raises(InvalidParameterError, match="no report"):
        protocol.supports(np.full((1, protocol.width), 255, dtype=np.uint8))
    with pytest.raises(InvalidParameterError, match="too large"):
        VectorMean(columns=2**20, lower=0, upper=1, epsilon=1)

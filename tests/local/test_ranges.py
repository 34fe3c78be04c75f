"""Ranges and quantiles by a tree: the estimate against least squares, its variance, intervals, hostile bytes."""

import math
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.local import Collector, RangeProtocol, pack, protocol_of
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(13)


def design(protocol: Any) -> np.ndarray:
    """Rows of nodes, columns of leaves."""
    leaves = protocol.levels[-1].size
    return np.concatenate([np.repeat(np.eye(n.size), leaves // n.size, axis=1) for n in protocol.levels])


@pytest.mark.parametrize(("values", "branching"), [(8, 2), (27, 3), (20, 5)])
def test_the_estimate_is_least_squares_and_its_variance_is_exact(values: int, branching: int) -> None:
    """Against dense linear algebra: minimise the weighted squares with leaves that add up to one."""
    protocol = RangeProtocol(values=values, epsilon=1, branching=branching)
    people = 3000
    reports = protocol.encode(np.arange(people) % values, bits=BITS)
    tally = protocol.supports(reports)
    asked = [(0, values), (0, 3), (2, 7), (5, 6), (values - 3, values)]
    numbers = tally[-len(protocol.levels) :]
    shares, noise, at = [], [], 0
    for level, number in zip(protocol.levels, numbers, strict=True):
        part = tally[at : at + level.size] / number
        shares.append((part - float(level.q)) / float(level.p - level.q))
        noise.append(np.full(level.size, float(level.variance(people=int(number)))))
        at += level.size
    tree, weights = design(protocol), 1 / np.concatenate(noise)
    normal = tree.T @ (weights[:, None] * tree)
    inverse = np.linalg.inv(normal)
    plain = inverse @ (tree.T @ (weights * np.concatenate(shares)))
    one = np.ones(tree.shape[1])
    agreed = plain + inverse @ one * (1 - plain.sum()) / (one @ inverse @ one)
    covariance = inverse - np.outer(inverse @ one, inverse @ one) / (one @ inverse @ one)
    chosen = np.array([(lower <= np.arange(len(one))) & (np.arange(len(one)) < upper) for lower, upper in asked])
    assert protocol.ranges(reports, asked)["count"] == pytest.approx(people * chosen @ agreed)
    assert protocol.estimate(tally, people=people)["count"] == pytest.approx(people * agreed[:values])
    level = np.array([each[0] for each in noise])
    lower, upper = np.array(asked).T
    expected = np.einsum("ij,jk,ik->i", chosen, covariance, chosen)
    assert protocol._range_variance(level, level, lower, upper) == pytest.approx(expected, abs=1e-12)


def test_ranges_and_quantiles_have_no_bias_and_intervals_cover() -> None:
    """200 runs: within five standard errors; 90% intervals cover 83% (3.5 standard errors below) and are not wide."""
    protocol = RangeProtocol(values=60, epsilon=2)
    people, runs = 4000, 200
    values = np.minimum(np.arange(people) * 40 // people, 39)
    asked, chances = [(0, 20), (13, 29), (30, 31), (40, 60)], ["0.1", "0.5", "0.9"]
    truth = np.array([np.count_nonzero((values >= lower) & (values < upper)) for lower, upper in asked])
    places = np.sort(values)[[math.ceil(float(chance) * people) - 1 for chance in chances]]
    tallies = [protocol.supports(protocol.encode(values, bits=BITS)) for _ in range(runs)]
    answers = [protocol.ranges(tally, asked, people=people) for tally in tallies]
    found = np.array([answer["count"] for answer in answers])
    error = found.std(axis=0)
    assert (found.mean(axis=0) - truth) / error * math.sqrt(runs) == pytest.approx(0, abs=5)
    stated = np.sqrt(protocol.variance(*np.array(asked).T, people=people)) * people
    assert error / stated == pytest.approx(1, abs=0.35)  # every value is taken as rare
    ends = [answer.intervals(0.9)["count"] for answer in answers]
    assert np.mean([(end.lower <= truth) & (truth <= end.upper) for end in ends], axis=0).min() >= 0.83
    halves = [protocol.quantiles(tally, chances, people=people) for tally in tallies]
    ends = [half.intervals(0.9)["value"] for half in halves]
    assert np.mean([(end.lower <= places) & (places <= end.upper) for end in ends], axis=0).min() >= 0.83
    assert np.median([half["value"] for half in halves], axis=0) == pytest.approx(places, abs=2)


def test_the_branching_is_the_best_of_some_and_large_levels_are_hashed() -> None:
    protocol = RangeProtocol(values=1000, epsilon=1)
    ends = np.linspace(1, 1000, 40).astype(int)
    for branching in (2, 4, 32):
        other = RangeProtocol(values=1000, epsilon=1, branching=branching)
        assert protocol.variance(0 * ends, ends, people=9).mean() <= other.variance(0 * ends, ends, people=9).mean()
    kinds = [level.kind for level in RangeProtocol(values=2**15, epsilon=1, branching=32).levels]
    assert kinds == ["unary", "unary", "hashing"]


def test_the_wire_carries_them_and_hostile_bytes_are_refused() -> None:
    protocol = RangeProtocol(values=30, epsilon=1)
    assert protocol_of(protocol.to_json()) == protocol
    collector = Collector(protocol)
    collector.add(pack(protocol, protocol.encode([None, -3, 10**30, "x", 7] * 40, bits=BITS)))
    assert len(collector.estimate()) == 30
    bad = protocol.encode([1, 2], bits=BITS)
    bad[0, 0] = 99
    with pytest.raises(InvalidParameterError, match="invalid report"):
        protocol.supports(bad)
    with pytest.raises(InvalidParameterError, match="each of the"):
        protocol.estimate(protocol.encode([1], bits=BITS))
    for wrong in ([(3, 3)], [(0, 31)], []):
        with pytest.raises(InvalidParameterError, match="pairs"):
            protocol.ranges(bad[1:], wrong)
    with pytest.raises(InvalidParameterError, match="values"):
        RangeProtocol(values=1, epsilon=1)

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.order.rows import Rows
from deniable.statistics.order.tree import levels, nodes, rank_errors, rate, recursive, scattered
from tests.statistics.order.test_choice import distances, neighbours


@given(some.sets(some.fractions(0, 1, max_denominator=1000), min_size=1, max_size=40))
def test_the_tree_holds_every_quantile_once_between_those_before_it(found: set[Fraction]) -> None:
    shares = sorted(found)
    tree = nodes(shares)
    assert sorted(node.place for node in tree) == list(range(len(shares)))
    assert max(node.level for node in tree) == levels(len(shares)) - 1
    done = {-1, len(shares)}
    for node in tree:
        assert {node.below, node.above} <= done
        assert node.below < node.place < node.above
        assert 0 <= node.share <= 1
        done.add(node.place)


def test_even_quantiles_are_halves() -> None:
    assert {node.share for node in nodes([Fraction(k, 8) for k in range(1, 8)])} == {Fraction(1, 2)}


def test_equal_rows_are_told_apart_evenly() -> None:
    codes = np.sort(np.repeat([3, 900], 1000))
    fine, digits = scattered(codes.copy(), 2**32, bits=DeterministicBits(1))
    assert digits == 27
    assert np.array_equal(fine >> digits, codes)
    assert np.all(np.diff(fine) >= 0)
    inside = (fine & (2**digits - 1)) / 2**digits
    assert np.abs(np.sort(inside[:1000]) - np.linspace(0, 1, 1000)).max() < 0.07  # Kolmogorov-Smirnov, 10^-4
    same, none = scattered(codes, 2**60, bits=DeterministicBits(1))
    assert same is codes
    assert none == 0


def test_quantiles_increase_and_are_near_the_truth() -> None:
    rows = np.sort(np.random.default_rng(1).integers(0, 10**9, 10_000))
    shares = [Fraction(k, 20) for k in range(1, 20)]
    tree = nodes(shares)
    rates = [rate(node, Fraction(1, 5), rows=1, relation=AddRemove) for node in tree]
    codes, ranks = recursive(Rows(rows), 10**9, tree, rates, bits=DeterministicBits(1))
    assert np.all(np.diff(codes) >= 0)
    assert np.array_equal(ranks, np.searchsorted(rows, codes))
    assert np.abs(ranks - 10_000 * np.array(shares, dtype=np.float64)).max() < 120


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_a_level_has_the_range_that_it_is_charged(relation: Relation) -> None:
    """Brute force: all tables of up to four rows on four points, all first quantiles, the scores of both parts."""
    shares = [Fraction(1, 5), Fraction(1, 2), Fraction(9, 10)]
    first, *parts = nodes(shares)
    epsilon = Fraction(1)
    worst = [0.0, 0.0]
    for one, other in neighbours(4, 4, relation):
        moved = [distances(t, float(first.share) * len(t), 4) for t in (one, other)]
        worst[0] = max(worst[0], float(rate(first, epsilon, rows=1, relation=relation) * np.ptp(moved[0] - moved[1])))
        for z in range(4):  # the first quantile: rows below it to the left, the others to the right
            total = 0.0
            for part, (low, high) in zip(parts, [(0, z), (z, 3)], strict=True):
                left = low == 0 and part is parts[0]
                tables = [[x - low for x in t if (x < z if left else x >= z)] for t in (one, other)]
                scores = [distances(t, float(part.share) * len(t), high - low + 1) for t in tables]
                total += float(rate(part, epsilon, rows=1, relation=relation)) * float(np.ptp(scores[0] - scores[1]))
            worst[1] = max(worst[1], total)
    assert worst[0] == pytest.approx(1)
    assert worst[1] <= 1 + 1e-9
    assert worst[1] > 0.8  # the charge is no waste


def test_several_rows_of_a_unit_share_the_rate() -> None:
    node = nodes([Fraction(1, 2)])[0]
    assert rate(node, Fraction(1), rows=4, relation=AddRemove) == Fraction(1, 4)
    assert rate(node, Fraction(1), rows=4, relation=Replace) == Fraction(1, 8)


@pytest.mark.parametrize(("count", "size"), [(1, 1000), (3, 2000), (15, 5000)])
def test_rank_errors_are_known_before(count: int, size: int) -> None:
    rows = np.arange(size) * 1000 + 500
    shares = [Fraction(k, count + 1) for k in range(1, count + 1)]
    tree = nodes(shares)
    rates = [rate(node, Fraction(1, 4), rows=1, relation=AddRemove) for node in tree]
    wanted = size * np.array(shares, dtype=np.float64)
    errors = np.array(
        [
            recursive(Rows(rows), size * 1000, tree, rates, bits=DeterministicBits(seed))[1] - wanted
            for seed in range(300 // count + 20)
        ]
    )
    # at least 300 errors that hang together in pairs or so: relative standard error about 7%
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(np.sqrt(np.mean(rank_errors(tree, rates, size) ** 2)), rel=0.2)


@pytest.mark.parametrize(("rows", "count"), list(product([0, 1, 3], [1, 7, 40])))
def test_more_quantiles_than_rows_are_answered(rows: int, count: int) -> None:
    tree = nodes([Fraction(k, count + 1) for k in range(1, count + 1)])
    rates = [rate(node, Fraction(1), rows=1, relation=AddRemove) for node in tree]
    codes, _ = recursive(Rows(np.arange(rows)), 100, tree, rates, bits=DeterministicBits(1))
    assert np.all(np.diff(codes) >= 0)
    assert codes.min() >= 0
    assert codes.max() <= 99

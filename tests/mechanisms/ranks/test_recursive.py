from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from deniable.mechanisms.ranks import Points, RecursiveQuantiles
from deniable.privacy import AddRemove, Relation, Replace, of_count
from tests.mechanisms.ranks.laws import distances, neighbours


def made(quantiles: list[Fraction], relation: Relation = AddRemove, rows: int = 1) -> RecursiveQuantiles:
    unit = of_count(rows=rows, groups=1, cells=1, relation=relation)
    return RecursiveQuantiles.calibrated(unit, epsilon=1, quantiles=quantiles, points=4)


@given(some.sets(some.fractions(0, 1, max_denominator=1000), min_size=1, max_size=40))
def test_the_tree_holds_every_quantile_once_between_those_before_it(found: set[Fraction]) -> None:
    shares = sorted(found)
    tree = made(shares).tree
    assert sorted(node.index for node in tree) == list(range(len(shares)))
    assert max(node.level for node in tree) == RecursiveQuantiles.rounds(len(shares)) - 1
    done = {-1, len(shares)}
    for node in tree:
        assert {node.below, node.above} <= done
        assert node.below < node.index < node.above
        assert 0 <= node.quantile <= 1
        done.add(node.index)


def test_even_quantiles_are_halves() -> None:
    assert {node.quantile for node in made([Fraction(k, 8) for k in range(1, 8)]).tree} == {Fraction(1, 2)}


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_a_level_has_the_range_that_it_is_charged(relation: Relation) -> None:
    """Brute force: all tables of up to four rows on four points, all first quantiles, the scores of both parts."""
    shares = [Fraction(1, 5), Fraction(1, 2), Fraction(9, 10)]
    mechanism = made(shares, relation)
    first, *parts = mechanism.tree
    worst = [0.0, 0.0]
    for one, other in neighbours(4, 4, relation):
        moved = [distances(t, float(first.quantile) * len(t), 4) for t in (one, other)]
        worst[0] = max(worst[0], float(mechanism._rate_of(first) * np.ptp(moved[0] - moved[1])))
        for z in range(4):  # the first quantile: rows below it to the left, the others to the right
            total = 0.0
            for part, (low, high) in zip(parts, [(0, z), (z, 3)], strict=True):
                left = low == 0 and part is parts[0]
                tables = [[x - low for x in t if (x < z if left else x >= z)] for t in (one, other)]
                scores = [distances(t, float(part.quantile) * len(t), high - low + 1) for t in tables]
                total += float(mechanism._rate_of(part)) * float(np.ptp(scores[0] - scores[1]))
            worst[1] = max(worst[1], total)
    assert worst[0] == pytest.approx(1)
    assert worst[1] <= 1 + 1e-9
    assert worst[1] > 0.8  # the charge is no waste


def test_several_rows_of_a_unit_share_the_rate() -> None:
    half = [Fraction(1, 2)]
    assert made(half, rows=4).rate == Fraction(1, 4)
    assert made(half, Replace, rows=4).rate == made(half, Replace, rows=4).later * 2 == Fraction(1, 8)


def test_every_level_has_the_loss_of_its_own_rate() -> None:
    """Where the rates are not calibrated, too."""
    mechanism = RecursiveQuantiles(
        rate=Fraction(3), later=Fraction(1, 2), quantiles=(Fraction(1, 4), Fraction(3, 4)), points=Points(4)
    )
    for relation, epsilon in ((AddRemove, Fraction(9, 2) + 1), (Replace, Fraction(6) + 2)):
        unit = of_count(rows=1, groups=1, cells=1, relation=relation)
        assert mechanism.privacy_loss(unit).charge().epsilon == epsilon

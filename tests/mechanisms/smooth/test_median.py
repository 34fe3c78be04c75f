import math
from itertools import combinations_with_replacement

import numpy as np
import pytest

from deniable.errors import UnprovedError
from deniable.mechanisms.smooth import SmoothMedian, SmoothQuantile, SmoothStudentT
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace, of_count

DOMAIN, BETA, LARGEST = (0, 1, 4), 0.4, 9
NOISE = SmoothStudentT(epsilon=3, degrees=1, beta="2/5", bounds=(0, 4))
TABLES = [table for size in range(LARGEST + 1) for table in combinations_with_replacement(DOMAIN, size)]


def changed(table: tuple[int, ...]) -> set[tuple[int, ...]]:
    """One record more or less."""
    less = {table[:i] + table[i + 1 :] for i in range(len(table))}
    return less | {tuple(sorted((*table, value))) for value in DOMAIN}


def median(table: tuple[int, ...]) -> int:
    return (0, *table)[(len(table) + 1) // 2]


def gap(table: tuple[int, ...]) -> int:
    """G of lemma 6."""
    m = (len(table) + 1) // 2
    padded = (0, *table, 4)
    return max(padded[m + 1] - padded[m], padded[m] - padded[max(m - 1, 0)])


def test_no_record_moves_the_median_beyond_its_neighbours_in_order() -> None:
    for table in TABLES:
        assert max(abs(median(table) - median(other)) for other in changed(table)) <= gap(table)


def test_the_bound_is_that_of_all_tables_at_all_distances() -> None:
    """From the definition, for all tables of up to five records; nine are enough to reach all changes that count."""
    mechanism = SmoothMedian(noise=NOISE)
    gaps = {table: gap(table) for table in TABLES}
    for table in (table for table in TABLES if len(table) <= 4):
        reached, edge, best, k = {table}, {table}, float(gaps[table]), 0
        while edge:
            k += 1
            edge = {other for one in edge for other in changed(one) if other in gaps} - reached
            reached |= edge
            best = max([best, *(math.exp(-BETA * k) * gaps[other] for other in edge)])
        value, found = mechanism.measured(table)
        assert value == median(table)
        assert float(found) == pytest.approx(best, rel=1e-8)


def test_the_bound_is_at_most_that_under_replace_for_an_odd_number() -> None:
    """Its windows are among those of lemma 3: replacing a record is removing one and adding one."""
    bits = DeterministicBits(1)
    for size in (1, 3, 7, 101):
        records = (bits.words(size) % 1000).astype(np.int64)
        noise = SmoothStudentT(epsilon=3, degrees=1, beta="1/10", bounds=(0, 1000))
        here = SmoothMedian(noise=noise).measured(records)
        there = SmoothQuantile(noise=noise, quantile="1/2").measured(records)
        assert here[0] == there[0]
        assert there[1] / 3 < here[1] <= there[1]


def test_relations_and_empty_tables() -> None:
    mechanism = SmoothMedian(noise=NOISE)
    assert mechanism.measured([]) == (0, pytest.approx(4))
    assert mechanism.release([], bits=DeterministicBits(1)).value in range(5)
    one = of_count(rows=1, groups=1, cells=1, relation=AddRemove)
    assert mechanism.privacy_loss(one).pure_epsilon == 3
    with pytest.raises(UnprovedError, match="not for replace"):
        mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace))

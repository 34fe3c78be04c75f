"""Finite universes: counts by formula, neighbours by distance, conversions there and back."""

import math
from itertools import combinations

import pytest

from deniable.audit.universe import Neighbouring, Universe, ZeroOut, hamming_distance, norm1_distance
from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, Replace

BAGS = Universe(values=("a", "b", "c"), rows=3)
LISTS = Universe(values=(0, 1, 2), rows=3, ordered=True)


def test_universes_have_the_size_that_a_formula_says() -> None:
    assert BAGS.size == len(list(BAGS.tables())) == math.comb(3 + 3, 3)
    assert LISTS.size == len(set(LISTS.tables())) == 1 + 3 + 9 + 27
    assert list(Universe.of_bits(2).tables()) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def related(one: tuple[object, ...], other: tuple[object, ...], relation: Neighbouring, ordered: bool) -> bool:
    """The definition of neighbours, by distances."""
    if isinstance(relation, ZeroOut):
        if not related(one, other, Replace, ordered):
            return False
        if ordered:
            return any(relation.blank in pair and len(set(pair)) == 2 for pair in zip(one, other, strict=True))
        return one.count(relation.blank) != other.count(relation.blank)
    if relation is Replace:
        same = len(one) == len(other)
        return same and (hamming_distance(one, other) == 1 if ordered else norm1_distance(one, other) == 2)
    if not ordered:
        return norm1_distance(one, other) == 1
    long, short = sorted((one, other), key=len, reverse=True)
    return len(long) == len(short) + 1 and any(long[:i] + long[i + 1 :] == short for i in range(len(long)))


@pytest.mark.parametrize("universe", [BAGS, LISTS], ids=["bags", "lists"])
@pytest.mark.parametrize("kind", [AddRemove, Replace, ZeroOut], ids=str)
def test_pairs_and_neighbours_are_those_of_the_definition(universe: Universe, kind: object) -> None:
    relation = ZeroOut(blank=universe.values[0]) if kind is ZeroOut else kind
    tables = list(universe.tables())
    assert isinstance(relation, Neighbouring.__args__)  # type: ignore[attr-defined]
    expected = {frozenset(pair) for pair in combinations(tables, 2) if related(*pair, relation, universe.ordered)}
    pairs = [frozenset(pair) for pair in universe.pairs(relation)]
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == expected
    for table in tables:
        around = list(universe.neighbours(table, relation))
        assert {frozenset((table, other)) for other in around} == {pair for pair in expected if table in pair}
        assert len(around) == len(set(around))


def test_a_table_is_records_a_histogram_or_bits() -> None:
    for table in BAGS.tables():
        assert BAGS.records(BAGS.histogram(table)) == table
    assert BAGS.histogram("cab") == (1, 1, 1) == BAGS.bits("cab")
    with pytest.raises(InvalidParameterError, match="twice"):
        BAGS.bits("aa")


def test_distances_are_those_of_histograms_and_of_rows() -> None:
    assert norm1_distance("aab", "ab") == 1
    assert norm1_distance("aab", "abb") == 2
    assert hamming_distance("aab", "aba") == 2
    with pytest.raises(InvalidParameterError, match="one length"):
        hamming_distance("ab", "a")


def test_bad_universes_are_refused() -> None:
    for wrong in (
        lambda: Universe(values=(), rows=2),
        lambda: Universe(values=([1],), rows=2),  # type: ignore[arg-type]
        lambda: Universe(values=5, rows=2),  # type: ignore[arg-type]
        lambda: Universe(values=(1, 1), rows=2),
        lambda: Universe(values=(0, 1), rows=40, ordered=True),
        lambda: Universe(values=(0, 1), rows=1, min_rows=2),
        lambda: BAGS.checked("abcd"),
        lambda: BAGS.checked("x"),
        lambda: BAGS.records((1, 1)),
        lambda: list(BAGS.pairs(ZeroOut(blank="x"))),
        lambda: list(BAGS.pairs("replace")),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidParameterError):
            wrong()

"""The formulas against brute force: every admissible contribution of a unit, every pair of them."""

import itertools
from collections.abc import Iterable
from fractions import Fraction

import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, Relation, Replace, Sensitivity, of_clipped_sum, of_count
from deniable.privacy.sensitivity import of_clamped_unit_sum, of_distinct_units, of_spread_sum, of_weights

Vector = tuple[int, ...]


def contributions(*, lower: int, upper: int, rows: int, groups: int, cells: int) -> set[Vector]:
    """What one id can add to the vector of sums: at most `groups` cells with 1 to `rows` clipped values each."""
    sums = {0} | {n for r in range(1, rows + 1) for n in range(r * lower, r * upper + 1)}
    found = set()
    for used in itertools.combinations(range(cells), min(groups, cells)):
        for values in itertools.product(sorted(sums), repeat=len(used)):
            vector = [0] * cells
            for cell, value in zip(used, values, strict=True):
                vector[cell] = value
            found.add(tuple(vector))
    return found


def changes(vectors: set[Vector], relation: Relation, ids: int = 1) -> set[Vector]:
    """All changes of the aggregate between neighbours, when a unit owns `ids` ids."""
    units = {(0,) * len(next(iter(vectors)))}
    for _ in range(ids):
        units = {tuple(map(sum, zip(a, b, strict=True))) for a in units for b in vectors}
    if relation is AddRemove:
        return units
    return {tuple(x - y for x, y in zip(a, b, strict=True)) for a in units for b in units}


def norms(vectors: Iterable[Vector]) -> tuple[int, int, int, int]:
    found = list(vectors)
    return (
        max(sum(map(abs, v)) for v in found),
        max(sum(x * x for x in v) for v in found),
        max(max(map(abs, v)) for v in found),
        max(sum(x != 0 for x in v) for v in found),
    )


def stated(sensitivity: Sensitivity) -> tuple[Fraction, Fraction, Fraction, int | None]:
    return sensitivity.l1, sensitivity.l2_squared, sensitivity.linf, sensitivity.coordinates


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("bounds", [(0, 1), (0, 2), (-1, 2), (-2, -1), (1, 2), (-2, 2)])
@pytest.mark.parametrize(("rows", "groups"), [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3)])
@pytest.mark.parametrize("cells", [1, 2, 3, 4])
def test_clipped_sum_is_exactly_the_brute_force_maximum(
    relation: Relation, bounds: tuple[int, int], rows: int, groups: int, cells: int
) -> None:
    lower, upper = bounds
    vectors = contributions(lower=lower, upper=upper, rows=rows, groups=groups, cells=cells)
    found = of_clipped_sum(lower=lower, upper=upper, rows=rows, groups=groups, relation=relation, cells=cells)
    assert stated(found) == norms(changes(vectors, relation))


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize(
    ("bounds", "groups", "cells", "ids"), [((0, 1), 1, 1, 3), ((0, 1), 1, 3, 2), ((-1, 2), 1, 2, 2)]
)
def test_a_unit_of_several_ids_multiplies_every_norm(
    relation: Relation, bounds: tuple[int, int], groups: int, cells: int, ids: int
) -> None:
    vectors = contributions(lower=bounds[0], upper=bounds[1], rows=1, groups=groups, cells=cells)
    found = of_clipped_sum(
        lower=bounds[0], upper=bounds[1], rows=1, groups=groups, relation=relation, cells=cells, ids=ids
    )
    assert stated(found) == norms(changes(vectors, relation, ids))


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize(("rows", "groups"), [(1, 1), (2, 1), (1, 2)])
def test_many_cells_are_the_worst_case(relation: Relation, rows: int, groups: int) -> None:
    unknown = of_clipped_sum(lower=-1, upper=2, rows=rows, groups=groups, relation=relation)
    enough = contributions(lower=-1, upper=2, rows=rows, groups=groups, cells=2 * groups)
    assert stated(unknown) == norms(changes(enough, relation))


@pytest.mark.parametrize("relation", Relation)
def test_counts_are_sums_of_ones(relation: Relation) -> None:
    for rows, groups, cells in itertools.product((1, 3), (1, 2, 3), (None, 1, 2, 4)):
        count = of_count(rows=rows, groups=groups, relation=relation, cells=cells)
        ones = of_clipped_sum(lower=1, upper=1, rows=rows, groups=groups, relation=relation, cells=cells)
        assert count == ones  # a unit has between 0 and `rows` ones in a cell either way
    assert of_distinct_units(groups=2, relation=relation) == of_count(rows=1, groups=2, relation=relation)


def test_published_examples() -> None:
    """query.md, section 8: integer Laplace scales at epsilon = 1 and 1/5; l2 under zCDP."""
    assert of_count(rows=2, groups=1, relation=AddRemove).l1 == 2
    assert of_count(rows=1, groups=2, relation=AddRemove).l1 == 2
    assert of_count(rows=2, groups=1, relation=AddRemove).l2_squared == 4  # rho = 1/2: sigma = 2
    assert of_count(rows=1, groups=2, relation=AddRemove).l2_squared == 2  # rho = 1/2: sigma = sqrt(2)
    assert of_count(rows=3, groups=1, relation=Replace).l1 == 6
    assert of_count(rows=36, groups=1, relation=AddRemove).l1 * 5 == 180
    assert of_clipped_sum(lower=0, upper=80, rows=36, groups=1, relation=AddRemove).l1 * 5 == 14400


def test_a_single_number_does_not_double_under_replace() -> None:
    assert of_count(rows=3, groups=1, relation=Replace, cells=1).l1 == 3
    assert of_clipped_sum(lower=2, upper=5, rows=1, groups=1, relation=Replace, cells=1).l1 == 5  # 0 rows against one 5
    assert of_clipped_sum(lower=-2, upper=5, rows=1, groups=1, relation=Replace, cells=1).l1 == 7


def test_replace_is_never_below_add_remove() -> None:
    for cells in (None, 1, 2, 5):
        added = of_clipped_sum(lower=-3, upper=7, rows=2, groups=3, relation=AddRemove, cells=cells)
        replaced = of_clipped_sum(lower=-3, upper=7, rows=2, groups=3, relation=Replace, cells=cells)
        assert replaced.l1 >= added.l1
        assert replaced.l2_squared >= added.l2_squared


def test_unit_totals_clipped_once_do_not_grow_with_rows() -> None:
    once = of_clamped_unit_sum(lower=-4, upper=10, groups=2, relation=AddRemove)
    assert (once.l1, once.l2_squared, once.linf) == (20, 200, 10)


def test_scaling_scales_every_norm() -> None:
    half = of_count(rows=2, groups=3, relation=AddRemove) * Fraction(-1, 2)
    assert (half.l1, half.l2_squared, half.linf, half.coordinates) == (3, 3, 1, 3)


def test_integer_aggregates_move_by_whole_numbers() -> None:
    reach = of_clipped_sum(lower=0, upper=Fraction(5, 2), rows=1, groups=2, relation=AddRemove).integral()
    assert (reach.l1, reach.l2_squared, reach.linf) == (5, 12, 2)
    single = of_clipped_sum(lower=0, upper=Fraction(5, 2), rows=1, groups=1, relation=AddRemove).integral()
    assert (single.l1, single.l2_squared, single.linf) == (2, 4, 2)


def test_l2_is_rounded_up() -> None:
    for square in (2, 3, 10**31 + 1, 4):
        l2 = Sensitivity(l1=Fraction(square), l2_squared=Fraction(square), linf=Fraction(1), relation=AddRemove).l2
        assert Fraction(l2) ** 2 >= square
        assert Fraction(l2 * (1 - 3e-16)) ** 2 < square


@pytest.mark.parametrize("relation", Relation)
def test_json_round_trip(relation: Relation) -> None:
    reach = of_clipped_sum(lower=Fraction(-1, 3), upper=2, rows=2, groups=3, relation=relation)
    assert Sensitivity.from_json(reach.to_json()) == reach
    assert Sensitivity.from_json((reach * 2).to_json()) != reach


@pytest.mark.parametrize(
    "changed",
    [
        *({"lower": 2}, {"upper": float("nan")}, {"rows": 0}, {"rows": 1.5}, {"groups": 0}, {"groups": True}),
        *({"cells": 0}, {"ids": 0}, {"relation": "replace"}),
    ],
)
def test_bad_parameters_are_refused(changed: dict[str, object]) -> None:
    good = {"lower": 0, "upper": 1, "rows": 1, "groups": 1, "relation": AddRemove}
    with pytest.raises(InvalidParameterError):
        of_clipped_sum(**{**good, **changed})


def test_impossible_norms_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="no vector has these norms"):
        Sensitivity(l1=Fraction(1), l2_squared=Fraction(4), linf=Fraction(1), relation=AddRemove)
    with pytest.raises(InvalidParameterError, match="fields"):
        Sensitivity.from_json('{"l1": "1"}')


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize(("lower", "upper"), [(0, 1), (-1, 2), (1, 2), (-2, -1)])
@pytest.mark.parametrize(("total_rows", "cells", "ids"), [(1, 3, 1), (2, 1, 1), (2, 3, 1), (3, 2, 1), (2, 2, 2)])
def test_rows_that_may_lie_anywhere(
    relation: Relation, lower: int, upper: int, total_rows: int, cells: int, ids: int
) -> None:
    """All ways to place at most `total_rows` whole rows: no way goes beyond a single cell."""
    vectors = {(0,) * cells}
    for placed in itertools.product(range(cells), repeat=total_rows):
        for values in itertools.product([*range(lower, upper + 1), 0], repeat=total_rows):
            vector = [0] * cells
            for cell, value in zip(placed, values, strict=True):
                vector[cell] += value
            vectors.add(tuple(vector))
    bound = of_spread_sum(lower=lower, upper=upper, total_rows=total_rows, relation=relation, cells=cells, ids=ids)
    l1, l2_squared, linf, _ = norms(changes(vectors, relation, ids))
    assert (bound.l1, bound.l2_squared, bound.linf) == (l1, l2_squared, linf)
    assert bound.coordinates == cells


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize(("steps", "groups", "ids"), [(5, 1, 1), (5, 2, 1), (5, 4, 1), (7, 3, 1), (4, 2, 2)])
def test_weights_that_are_shared_among_the_groups_of_a_unit(
    relation: Relation, steps: int, groups: int, ids: int
) -> None:
    """All vectors of at most steps / sqrt(m) in m of four cells: only roots are rounded."""
    cells, vectors = 4, set()
    for m in range(groups + 1):
        most = int((steps**2 / m) ** 0.5) if m else 0
        for used in itertools.combinations(range(cells), m):
            for values in itertools.product({1, most}, repeat=m):
                vectors.add(tuple(dict(zip(used, values, strict=True)).get(cell, 0) for cell in range(cells)))
    bound = of_weights(steps=steps, groups=groups, relation=relation, ids=ids)
    l1, l2_squared, linf, changed = norms(changes(vectors, relation, ids))
    assert (bound.linf, linf) == (ids * steps, ids * steps)
    assert 0.5 * bound.l1 < l1 <= bound.l1
    assert 0.5 * bound.l2_squared < l2_squared <= bound.l2_squared
    assert bound.coordinates is not None
    assert changed <= bound.coordinates


def test_weights_move_as_far_as_those_of_any_number_of_keys() -> None:
    """steps / sqrt(m) in each of m keys, whose sum is steps sqrt(m): never above what is stated, by less than 1."""
    for steps in (1, 3, 10):
        for groups in range(1, 12):
            found = of_weights(steps=steps, groups=groups, relation=AddRemove, ids=1)
            assert (found.l1 - 1) ** 2 < steps**2 * groups <= found.l1**2
            assert (found.l2_squared, found.linf, found.coordinates) == (steps**2, steps, groups)

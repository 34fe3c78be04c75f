"""Noisy tables of a hierarchy cost what is stated, as measured under the noise that was really drawn."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits, DeterministicBits
from deniable.numbers.arrays import Integers
from deniable.privacy import AddRemove, PrivacyLoss, Relation, Replace
from deniable.synthesis.hierarchy.constraints import Constraints
from deniable.synthesis.hierarchy.plan import HierarchyMeasurements, HierarchyPlan, chain_of
from tests.mechanisms.drawn import drawn_share
from tests.synthesis.hierarchy.trees import CELLS, TREE, cells_of, plan_of

SOME = np.arange(30) % 7
LEVELS = {"all": 1, "state": 2, "county": 4}


def with_unit(cells: list[int]) -> Integers:
    """Counts to which one unit adds a row in each of these cells."""
    return SOME + np.bincount(cells, minlength=30)


def share(plan: HierarchyPlan, relation: Relation, rows: int) -> float:
    """The part of the stated loss that draws spend on the worst of some neighbours."""

    def run(exact: Integers, bits: Bits) -> PrivacyLoss:
        plan.measure(exact, bits)
        return plan.loss

    units = [[0] * rows, [29] * rows, [7] * rows, list(range(rows))]
    pairs = [(SOME, with_unit(cells)) for cells in units]
    if relation is Replace:
        pairs = [(with_unit(one), with_unit(other)) for one in units for other in units if one != other]
    return drawn_share(run, pairs, relation=relation, stated=plan.loss)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("price", [{"epsilon": 3}, {"rho": 2}], ids=str)
@pytest.mark.parametrize("rows", [1, 3])
def test_tables_draw_what_proves_their_loss(relation: Relation, price: dict[str, Any], rows: int) -> None:
    queries = {"total": 1, "sex": "1/3", "cells": 2}
    plan = plan_of(queries=queries, levels=LEVELS, relation=relation, rows=rows, **price)
    assert 0.8 <= share(plan, relation, rows) <= 1 + 1e-12


def test_noise_of_half_the_scale_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    choices = Price.choices
    double = lambda self, *given: choices(self._times(Fraction(4)), *given)  # noqa: E731
    monkeypatch.setattr(Price, "choices", double)
    plan = plan_of(rho=1)
    monkeypatch.setattr(Price, "choices", choices)
    honest = plan_of(rho=1)

    def run(exact: Integers, bits: Bits) -> PrivacyLoss:
        plan.measure(exact, bits)
        return honest.loss

    assert drawn_share(run, [(SOME, with_unit([0]))], relation=AddRemove, stated=honest.loss) > 3


@pytest.mark.parametrize("rho", ["1/3", "2.5562"])
def test_shares_are_rational_and_add_up_to_the_price(rho: str) -> None:
    plan = plan_of(queries={"total": 1, "age": "0.7", "cells": 2}, levels=LEVELS, rho=rho)
    assert sum(sum(row) for row in plan.shares) == 1
    assert plan.shares[1][2] == Fraction(2, 7) * Fraction(20, 37)
    spent = [
        Fraction(noise.privacy_loss(moved).rho or 0)
        for noises, sensitivities in zip(plan.noises, plan.sensitivities, strict=True)
        for noise, moved in zip(noises, sensitivities, strict=True)
        if noise is not None
    ]
    assert sum(spent) <= Fraction(rho)
    assert sum(spent) == pytest.approx(float(Fraction(rho)), rel=1e-3)


def test_levels_without_a_share_are_not_measured() -> None:
    plan = plan_of(levels={"county": 1}, queries={"total": 1, "cells": 0, "sex": 1})
    made = plan.measure(SOME, DeterministicBits(1))
    assert [[each is None for each in row] for row in made.noisy] == [[True] * 3, [True] * 3, [False, True, False]]
    assert np.isinf(plan.variance(0, 0))
    assert np.isfinite(made.estimates(Constraints(TREE, CELLS)).variance(0, (1,))).all()


def test_expected_variances_are_those_of_the_estimates() -> None:
    plan = plan_of(queries={"total": 3, "sex": 1, "cells": 2}, levels=LEVELS)
    made = plan.measure(SOME, DeterministicBits(1)).estimates(Constraints(TREE, CELLS))
    for level in range(3):
        for table in ((), (0,), (0, 1)):
            assert plan.expected.variance(level, table).tolist() == made.variance(level, table).tolist()
    assert plan.expected.variance(0, ())[0] < plan.variance(0, 0)
    assert f"by least squares: total +-{plan.expected.variance(0, ())[0] ** 0.5:.3g}" in str(plan)


def test_tables_are_unbiased_sums_of_the_leaves() -> None:
    """With hardly any noise, each table is the exact one."""
    plan = plan_of(queries={"total": 1, "sex": 1, "cells": 1}, rho=10**6)
    noisy = plan.measure(SOME, DeterministicBits(1)).noisy
    leaves = SOME.reshape(5, 6)[TREE.leaf_order]
    states = TREE.sums(2, leaves)
    assert np.array_equal(noisy[2][2], leaves)
    assert np.array_equal(noisy[1][2], states)
    assert np.array_equal(noisy[1][1], states.reshape(2, 3, 2).sum(axis=1))
    assert noisy[0][0].tolist() == [[SOME.sum()]]  # type: ignore[union-attr]


def test_tables_are_kept_as_text_and_read_again() -> None:
    plan = plan_of(levels={"state": 1, "county": 1})
    made = plan.measure(SOME, DeterministicBits(1))
    again = HierarchyMeasurements.from_text(made.to_text(), plan)
    assert again.to_text() == made.to_text()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"queries": {"total": 0}}, "weight above 0"),
        ({"queries": {"total": -1}}, "weight must be"),
        ({"queries": {"age * sex": 1, "cells": 1}}, "different tables"),
        ({"levels": {"tract": 1}}, "no level 'tract'"),
        ({"levels": {}}, "weight above 0"),
    ],
)
def test_other_shares_are_refused(given: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidParameterError, match=text):
        plan_of(**given)


def test_chains_are_nested() -> None:
    cells = cells_of(2, 3, 4)
    assert chain_of(cells, [(0, 1, 2)], totals=False) == ((0, 1, 2),)
    assert chain_of(cells, [(2,), (0, 1, 2), (), (0,), (0, 2), (1, 2)], totals=False) == ((), (0,), (0, 2), (0, 1, 2))
    assert chain_of(cells_of(), [()], totals=True) == ((),)

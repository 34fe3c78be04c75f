from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable.mechanisms.ranks import JointQuantiles, RecursiveQuantiles, SliceQuantiles
from deniable.mechanisms.ranks.base import SeveralQuantiles
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace, of_count

METHODS: list[type[SeveralQuantiles]] = [RecursiveQuantiles, JointQuantiles, SliceQuantiles]


def made(
    kind: type[SeveralQuantiles],
    relation: Relation = AddRemove,
    *,
    count: int = 3,
    rows: int = 1,
    epsilon: object = 1,
    points: int = 10**6,
) -> SeveralQuantiles:
    unit = of_count(rows=rows, groups=1, cells=1, relation=relation)
    quantiles = [Fraction(place, count + 1) for place in range(1, count + 1)]
    return kind.calibrated(unit, epsilon=epsilon, quantiles=quantiles, points=points)


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("rows", [1, 3])
def test_every_round_costs_the_epsilon_that_it_was_calibrated_for(
    kind: type[SeveralQuantiles], relation: Relation, rows: int
) -> None:
    loss = made(kind, relation, rows=rows).privacy_loss(of_count(rows=rows, groups=1, cells=1, relation=relation))
    assert loss.relations == {relation}
    assert loss.charge().epsilon == kind.rounds(3)


ENOUGH = [(1, 2000, "1/2"), (3, 20_000, 1), (9, 20_000, 2)]
FEW = [(2, 500, "3/2"), (9, 1000, 1), (9, 200, "1/10")]


@pytest.mark.parametrize(
    ("kind", "case"), [*product(METHODS, ENOUGH), *product((RecursiveQuantiles, JointQuantiles), FEW)]
)
def test_errors_in_ranks_are_known_before(kind: type[SeveralQuantiles], case: tuple[int, int, object]) -> None:
    """Evenly spread records, in windows and where they are too few for the rate: 40 draws, within 30 percent."""
    count, size, epsilon = case
    mechanism = made(kind, Replace, count=count, epsilon=epsilon, points=size * 1000)
    records, bits = np.arange(size) * 1000 + 500, DeterministicBits(count)
    wanted = size * np.array(mechanism.quantiles, dtype=np.float64)
    errors = [np.searchsorted(records, mechanism.release(records, bits=bits).value) - wanted for _ in range(40)]
    expected = np.sqrt(np.mean(mechanism.expected_errors(size) ** 2))
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(expected, rel=0.3)


@pytest.mark.parametrize("kind", METHODS)
def test_errors_grow_with_the_rows_of_a_unit_and_are_known_for_any_number_of_records(
    kind: type[SeveralQuantiles],
) -> None:
    one, four = (made(kind, rows=rows, epsilon=3) for rows in (1, 4))
    assert np.all(four.expected_errors(10**6) > 3 * one.expected_errors(10**6))
    assert np.all(one.expected_errors(5) <= 5)
    assert one.is_quick
    assert one.is_steady(10**6)


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**5), Fraction(1), Fraction(10**9)])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_more_quantiles_than_records_are_answered_in_order(
    kind: type[SeveralQuantiles], count: int, epsilon: Fraction, relation: Relation
) -> None:
    mechanism = made(kind, relation, count=40, epsilon=epsilon, points=100)
    codes = mechanism.release(np.arange(count) * 30 + 20, bits=DeterministicBits(1)).value
    assert len(codes) == 40
    assert list(codes) == sorted(codes)
    assert 0 <= codes[0] <= codes[-1] <= 99


def test_names_are_different_words() -> None:
    assert [kind.name for kind in METHODS] == ["recursion", "joint", "slices"]

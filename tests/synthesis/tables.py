"""Tables that the tests of synthesis share: made-up rows, what is measured of them, and what its draws spend."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Integers
from deniable.privacy import AddRemove, PrivacyLoss, Relation, Replace
from deniable.synthesis.domain import Binned, DeclaredDomain, Listed
from deniable.synthesis.measurements import Measuring
from tests.mechanisms.drawn import drawn_share

DOMAIN = DeclaredDomain(
    (
        Listed("ward", "string", ("a", "b", "c")),
        Binned("age", "int64", Fraction(0), Fraction(19), 20),
        Listed("ill", "bool", (False, True)),
    )
)

EXTREMES = ([0, 0, 0], [2, 19, 1], [3, 20, 2], [1, 5, 0])


def rows(count: int) -> Integers:
    """Levels in which age follows ward, and illness follows age."""
    person = np.arange(count)
    ward = person % 3
    age = (6 * ward + (person // 3) % 7) % 20
    return np.stack([ward, age, (age > 9).astype(np.int64)])


def measuring(*, relation: Relation = AddRemove, limit: int = 1, **price: Any) -> Measuring:
    """What is measured of such rows at a price."""
    cost = Price.of(price.get("epsilon"), price.get("delta", 0), price.get("rho"))
    return Measuring(domain=DOMAIN, price=cost, relation=relation, rows=limit, target=price.get("target"))


def drawn_by(plan: Any, some: Integers, extremes: Sequence[Sequence[int]]) -> float:
    """The part of the stated loss that draws spend on the worst of some neighbours.

    Args:
        plan: what is measured of levels, and what it is said to cost.
        some: levels of rows that are in both tables, each of a unit of its own.
        extremes: levels of the rows of one unit more, `plan.rows` equal ones; under replace, of one or the other.
    """
    count = some.shape[1]

    def run(given: tuple[Integers, Any], bits: Bits) -> PrivacyLoss:
        plan.measured_text(*given, bits)
        loss: PrivacyLoss = plan.privacy_loss
        return loss

    def with_unit(row: Sequence[int]) -> tuple[Integers, Any]:
        more = np.repeat(np.array([row]).T, plan.rows, axis=1)
        return np.hstack([some, more]), np.hstack([np.arange(count), np.full(plan.rows, count + 9)])

    pairs = [((some, np.arange(count)), with_unit(row)) for row in extremes]
    if plan.relation is Replace:
        pairs = [(with_unit(one), with_unit(other)) for one in extremes for other in extremes if one != other]
    assert plan.privacy_loss.relations == {plan.relation}
    return drawn_share(run, pairs, relation=plan.relation, stated=plan.privacy_loss)

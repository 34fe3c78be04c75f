"""Tables that the tests of synthesis share: made-up rows, and what is measured of them."""

from fractions import Fraction
from typing import Any

import numpy as np

from deniable.mechanisms.price import Price
from deniable.numbers.arrays import Integers
from deniable.privacy import AddRemove, Relation
from deniable.synthesis.domain import Binned, DeclaredDomain, Listed
from deniable.synthesis.measurements import Measuring

DOMAIN = DeclaredDomain(
    (
        Listed("ward", "string", ("a", "b", "c")),
        Binned("age", "int64", Fraction(0), Fraction(19), 20),
        Listed("ill", "bool", (False, True)),
    )
)


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

"""The laws of what mechanisms for teaching show: records as numbers, each in ten bits, 0 for nothing."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.mechanisms.laws import Law, Weaker

Outcomes = tuple[NDArray[np.int64], NDArray[np.float64]]


def sorted_law(chances: dict[int, float]) -> Outcomes:
    kinds = sorted(kind for kind, chance in chances.items() if chance)
    return np.array(kinds), np.array([chances[kind] for kind in kinds])


def name_and_shame(mechanism: Any, exact: tuple[int, ...]) -> Outcomes:
    """Non-negative records."""
    delta, found = float(mechanism.delta), {}
    for shown in product((0, 1), repeat=len(exact)):
        code = sum((1 + 2 * record) * 1024**place for place, record in enumerate(exact) if shown[place])
        found[code] = delta ** sum(shown) * (1 - delta) ** (len(exact) - sum(shown))
    return sorted_law(found)


def all_or_nothing(mechanism: Any, exact: tuple[int, ...]) -> Outcomes:
    whole = 1 + sum((1 + 2 * record) * 1024**place for place, record in enumerate(exact))
    return sorted_law({0: 1 - float(mechanism.delta), whole: float(mechanism.delta)})


def random_record(mechanism: Any, exact: tuple[int, ...]) -> Outcomes:
    chance = float(mechanism.chance)
    found = {1 + 2 * record: chance * exact.count(record) / len(exact) for record in set(exact)}
    return sorted_law({0: 1 - chance, **found})


LAWS: dict[str, Law] = {
    "name_and_shame": name_and_shame,
    "all_or_nothing": all_or_nothing,
    "random_record": random_record,
}
WEAKER: dict[str, Weaker] = {
    "name_and_shame": lambda mechanism: replace(mechanism, delta=mechanism.delta * Fraction(3, 2)),
    "all_or_nothing": lambda mechanism: replace(mechanism, delta=mechanism.delta * Fraction(3, 2)),
    "random_record": lambda mechanism: replace(mechanism, chance=mechanism.chance * Fraction(3, 2)),
}

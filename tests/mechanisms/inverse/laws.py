"""The laws of inverse sensitivity mechanisms, by trying all tables."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.mechanisms.laws import Law, Weaker
from tests.mechanisms.tables import multisets


def of_lengths(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    mass = np.exp(-float(mechanism.rate) * np.array(exact))
    return np.arange(mechanism.lower, mechanism.upper + 1), mass / mass.sum()


def of_inverse_quantile(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """len by trying all tables: the least number of records to replace, for a quantile within `smoothing`."""
    domain = range(mechanism.lower, mechanism.upper + 1)
    rank = math.ceil(mechanism.quantile * len(exact))
    lengths = dict.fromkeys(domain, len(exact) + 1)
    for table in multisets(domain, len(exact)):
        changes = len(exact) - sum((Counter(table) & Counter(exact)).values())
        for t in domain:
            if abs(table[rank - 1] - t) <= mechanism.smoothing:
                lengths[t] = min(lengths[t], changes)
    return of_lengths(mechanism, tuple(lengths[t] for t in domain))


def of_inverse_median(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """len by trying all tables that are larger or smaller by few records: the least number added and removed."""
    domain = range(mechanism.lower, mechanism.upper + 1)
    lengths = dict.fromkeys(domain, len(exact) + 2)
    for size in range(1, 2 * len(exact) + 2):
        for table in multisets(domain, size):
            changes = len(exact) + size - 2 * sum((Counter(table) & Counter(exact)).values())
            for t in domain:
                if abs(table[(size - 1) // 2] - t) <= mechanism.smoothing:
                    lengths[t] = min(lengths[t], changes)
    return of_lengths(mechanism, tuple(lengths[t] for t in domain))


def weaker_rate(mechanism: Any) -> Any:
    return replace(mechanism, rate=mechanism.rate * Fraction(10, 7))


LAWS: dict[str, Law] = {
    "inverse_sensitivity": of_lengths,
    "inverse_median": of_inverse_median,
    "inverse_quantile": of_inverse_quantile,
}
WEAKER: dict[str, Weaker] = {
    "inverse_sensitivity": weaker_rate,
    "inverse_median": weaker_rate,
    "inverse_quantile": weaker_rate,
}
RUNS = dict.fromkeys(LAWS, 80_000)

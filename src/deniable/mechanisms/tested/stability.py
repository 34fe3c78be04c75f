"""Distances to instability: changes before a statistic moves by more than a bound."""

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms.integers import public_bounds
from deniable.mechanisms.records import checked_quantile, clamped_records, rank_of
from deniable.numbers.rationals import Real, positive_integer
from deniable.privacy import Replace


def of_quantile(records: ArrayLike, *, quantile: Real, bound: int, bounds: tuple[int, int]) -> tuple[int, int]:
    """Return the record of rank ceil(quantile n), and its distance to instability.

    The input of `ProposeTestRelease` under replace.

    Args:
        records: secret integers, clamped to the public bounds; entries that are not numbers count as their middle.
        quantile: in [0, 1]; 1/2 is the median.
        bound: the proposed sensitivity, in lattice steps.
        bounds: public (lower, upper) of the records.

    Guarantee: the distance is the exact number of records that have to change until one more change can move the value
        by more than `bound`; n + 1 where that can never be. Proof: docs/theory/mechanisms/tested.md.
    """
    lower, upper = public_bounds("bounds", bounds)
    values = clamped_records(records, lower, upper, relation=Replace)
    rank = rank_of(checked_quantile("quantile", quantile), values.size)
    return int(values[rank - 1]), _distance(values, rank, positive_integer("bound", bound), lower, upper)


def of_interquartile_range(records: ArrayLike, *, bound: int, bounds: tuple[int, int]) -> tuple[int, int]:
    """Return the difference of the quartiles, and its distance to instability.

    Args:
        records: secret integers, clamped to the public bounds.
        bound: the proposed sensitivity, in lattice steps.
        bounds: public (lower, upper) of the records.

    Guarantee: the smaller distance of both quartiles. One change moves them in the same direction, so their difference
        by no more than one of them.
    """
    lower, upper = public_bounds("bounds", bounds)
    values = clamped_records(records, lower, upper, relation=Replace)
    steps = positive_integer("bound", bound)
    ranks = [rank_of(Fraction(quarters, 4), values.size) for quarters in (1, 3)]
    low, high = (int(values[rank - 1]) for rank in ranks)
    return high - low, min(_distance(values, rank, steps, lower, upper) for rank in ranks)


def _distance(values: NDArray[np.int64], rank: int, bound: int, lower: int, upper: int) -> int:
    """Return the least e - s - 1 over windows s <= rank <= e wider than `bound`.

    A window of sorted records is as wide as x_(e) - x_(s).
    """
    padded = np.concatenate([[lower], values, [upper]])
    bound = min(bound, upper - lower)  # which no window exceeds, and whose sums fit into int64
    s = np.arange(rank + 1)
    e = np.maximum(np.searchsorted(padded, padded[: rank + 1] + bound, side="right"), rank)
    widths = (e - s - 1)[e < padded.size]
    return int(widths.min()) if widths.size else values.size + 1

"""Revenues of prices as scores for a private choice, with their true sensitivity.

Noise added to the best price itself may ruin it: with ten buyers who would all pay 7 and no more, the price 7 earns 70
and the price 7.01 earns nothing. A choice among prices by their noisy revenues cannot fall off that cliff.
Source: McSherry, Talwar (2007).
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.integers import MIN_INT64, array_of
from deniable.privacy import Relation, Sensitivity
from deniable.rows import left_out


def revenues(bids: ArrayLike, prices: Sequence[int]) -> NDArray[np.int64]:
    """Return the revenue of each price p: p times the number of bids of at least p.

    They are scores for a selection, monotone under add/remove.

    Args:
        bids: secret; integers in the unit of the prices, one a buyer. Other entries buy nothing.
        prices: the public list to choose from; integers >= 1.

    Raises: InvalidParameterError if bids are not a list, or prices not a list of positive integers.
    """
    grid = _checked(prices)
    array = left_out("bids", bids, lower=MIN_INT64)
    paying = array.size - np.searchsorted(np.sort(array), grid, side="left")
    return np.asarray(grid * paying, dtype=np.int64)


def of_revenues(prices: Sequence[int], *, relation: Relation) -> Sensitivity:
    """Return the sensitivity of the revenues to one buyer.

    Each price's moves by at most that price, under either relation.

    linf is the largest price of the list, and a buyer who pays it attains that.
    """
    grid = [Fraction(int(price)) for price in _checked(prices)]
    return Sensitivity(
        l1=sum(grid, Fraction(0)),
        l2_squared=sum((price * price for price in grid), Fraction(0)),
        linf=max(grid),
        relation=relation,
        coordinates=len(grid),
    )


def _checked(prices: Sequence[int]) -> NDArray[np.int64]:
    grid = array_of("prices", prices)
    if grid.ndim != 1 or not grid.size or grid.dtype.kind not in "iu" or grid.min() < 1 or grid.max() > 2**31:
        raise InvalidParameterError("prices must be a list of integers in [1, 2^31], in a unit such as cents")
    return grid.astype(np.int64)

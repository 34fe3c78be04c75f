"""Calls of user code on private rows, whose errors and shapes stay hidden."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from deniable.rows.silence import silence

Result = TypeVar("Result")
Log = Callable[[BaseException], object]


@silence()
def attempted(function: Callable[..., Result], *given: Any, log: Log | None = None) -> Result | None:
    """Return what the function gives, or None where it fails.

    Whatever it raises may depend on a row.

    Whatever is done to its result that may raise, such as `float(...)`, belongs into the function. A KeyboardInterrupt
    alone comes through, from somebody who does not want to wait.

    Args:
        log: called with the error, for logs that stay where the rows are.

    >>> attempted(int, "7"), attempted(int, "seven")
    (7, None)
    """
    try:
        return function(*given)
    except BaseException as error:  # SystemExit of a script, too
        if type(error) is KeyboardInterrupt:
            raise
        if log is not None:
            attempted(log, error)
        return None


def each_row(
    function: Callable[..., object], *columns: NDArray[Any], width: tuple[int, ...] = ()
) -> NDArray[np.float64]:
    """Return a user's function of every row, zero for a row on which it fails.

    Shape (rows, *width).

    The function is called with all rows at once. Where that fails, or gives another shape, it is called with each row
    alone, so that one row changes no value but its own. It is never called without rows.

    Args:
        function: of `columns`, arrays of as many rows each, row by row; its values have the shape (rows, *width).

    >>> each_row(lambda rows: 1 / rows if rows.all() else 1 / 0, np.array([2.0, 0.0, 4.0])).tolist()
    [0.5, 0.0, 0.25]
    """
    size = len(columns[0])

    def called(first: int, last: int) -> NDArray[np.float64]:
        values = np.array(function(*(column[first:last].copy() for column in columns)), dtype=np.float64)
        if values.shape != (last - first, *width):
            raise ValueError("another shape")
        return values

    whole = attempted(called, 0, size) if size else None
    if whole is not None:
        return whole
    total = np.zeros((size, *width))
    for row in range(size):
        alone = attempted(called, row, row + 1)
        total[row] = 0.0 if alone is None else alone[0]
    return total

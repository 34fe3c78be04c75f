"""Numbers as floats, one column or a table of them; what is not a number is NaN.

A list and a column of objects hold whatever they hold. A column with a type that holds no numbers is refused, which
its type alone decides.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats
from deniable.rows.columns import TypedColumn, array_of, column
from deniable.rows.entries import PLAIN_NUMBERS, Objects, each, number
from deniable.rows.silence import silence
from deniable.rows.tables import grid

_NOT_NUMBERS = "{what} must be numbers, got {kind}. Pass an array, a series or a list of numbers."


@silence()
def numbers(values: object, what: str = "values") -> Floats:
    """Return one column as float64 of shape (rows,); what is not a number is NaN.

    Args:
        values: a list, or one column of numpy, pandas, Polars, Arrow or narwhals.

    Raises: InvalidParameterError if it is not a single column, or has a type that holds no numbers.
    """
    return floats(column(values, what), what)


@silence()
def table(values: object, what: str = "values", *, columns: int) -> tuple[Floats, tuple[str, ...]]:
    """Return several columns as float64 of shape (rows, columns), and their names.

    Args:
        values: a two-dimensional array, a frame, or a list of rows. A row that is not `columns` values is NaN.
        columns: how many there should be. An array or a frame may have others.

    Raises: InvalidParameterError if it is not a table of numbers, or two columns have one name.
    """
    (entries,), names = grid(values, what, columns, lambda given, name: (floats(given, name),))
    return entries, names


@silence()
def whole_numbers(values: object) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    """Return a column of integers clamped to int64, and where it is missing.

    None for columns of other types.
    """
    given = column(values)
    if given.holds != "numbers" or given.values.dtype.kind not in "iu":
        return None
    data = given.values
    if data.dtype == np.uint64:
        data = np.minimum(data, np.uint64(2**63 - 1))
    missing = np.zeros(len(data), dtype=np.bool_) if given.missing is None else given.missing
    return given.spread(data.astype(np.int64, copy=False), 0), given.spread(missing, True)


def dimensions(values: object) -> int:
    """Return 1 for a column or a list, 2 for a table."""
    array = array_of(values)
    return 2 if hasattr(type(values), "columns") else 1 if array is None else array.ndim


def floats(given: TypedColumn, what: str) -> Floats:
    """Return the numbers of a column."""
    if given.holds == "objects":
        parsed = of_entries(given.values)
    elif given.holds == "numbers":
        parsed = given.filled(given.values.astype(np.float64, copy=False), np.nan)
    else:
        parsed = _of_decimals(given, what)
    return given.spread(parsed, np.nan)


def of_entries(entries: Objects) -> Floats:
    """Return each entry as a number.

    All at once where numpy reads every one as `number` does, which their types say.
    """
    if PLAIN_NUMBERS.issuperset(map(type, entries)):
        try:
            return entries.astype(np.float64)
        except OverflowError:  # an int that no float can hold
            pass
    return each(number, entries, float)


def _of_decimals(given: TypedColumn, what: str) -> Floats:
    import pyarrow as pa

    if not pa.types.is_decimal(given.values.type):
        raise InvalidParameterError(_NOT_NUMBERS.format(what=what, kind=given.type))
    doubles = given.values.cast(pa.float64())
    filled: NDArray[Any] = doubles.fill_null(float("nan")).to_numpy(zero_copy_only=False)
    return filled

"""Rows as functions of a user get them: arrays whose type no row decides."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.rows.columns import TypedColumn, array_of, column, described, of_array
from deniable.rows.floats import of_entries, table
from deniable.rows.keys import python
from deniable.rows.silence import silence
from deniable.rows.tables import frame_of

Rows = NDArray[Any]


@silence()
def plain(values: object, what: str = "values", *, columns: int | None = None) -> Rows:
    """Return the rows as an array, of shape (rows,) or as an array came.

    Its type depends on that of the container alone.

    Numbers are float64, with NaN for what is missing; but an array of numpy of whole numbers or booleans, which cannot
    miss one, stays as it is. A list and a column of objects hold numbers. Text is objects, with None; dates and moments
    are those of numpy. A frame of numbers is a table of them, and any other one a table of objects.

    Args:
        columns: how many numbers a row of a list has; None for one that is not a list.
    """
    if columns is not None and isinstance(values, list | tuple):
        return table(values, what, columns=columns)[0]
    array = array_of(values)
    if array is not None and array.ndim > 1:
        return _plain(of_array(array.reshape(-1), what)).reshape(array.shape)
    frame = frame_of(values, what)
    if frame is not None:
        parts = [_plain(column(part.to_native(), what)) for part in frame.iter_columns()]
        if not parts:
            raise InvalidParameterError(f"{what} must have a column")
        mixed = any(part.dtype.kind not in "iufb" for part in parts)
        return np.column_stack([part.astype(object) for part in parts] if mixed else parts)
    if array is not None and not array.ndim:
        raise InvalidParameterError(f"{what} must be rows, got {described(values)}")
    return _plain(column(values, what))


def _plain(given: TypedColumn) -> Rows:
    import pyarrow as pa

    if given.holds == "objects":
        return given.spread(of_entries(given.values), np.nan)
    if given.holds == "numbers":
        if not given.nullable:
            return np.asarray(given.values)
        return given.spread(given.filled(given.values.astype(np.float64), np.nan), np.nan)
    kind = given.values.type
    if pa.types.is_decimal(kind):
        decimals = given.values.cast(pa.float64()).fill_null(float("nan")).to_numpy(zero_copy_only=False)
        return given.spread(decimals, np.nan)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_duration(kind):
        unit = "D" if pa.types.is_date32(kind) else "ms" if pa.types.is_date64(kind) else kind.unit
        dtype = np.dtype(f"{'m' if pa.types.is_duration(kind) else 'M'}8[{unit}]")
        whole = given.values.view(pa.int32()).cast(pa.int64()) if unit == "D" else given.values.view(pa.int64())
        not_a_time = np.iinfo(np.int64).min  # NaT
        return given.spread(whole.fill_null(not_a_time).to_numpy(zero_copy_only=False).view(dtype), "NaT")

    return given.spread(python(given.values), None)

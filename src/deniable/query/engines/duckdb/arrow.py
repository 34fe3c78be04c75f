"""Arrow tables that the engine can read without stumbling over a row."""

from contextlib import suppress

import pyarrow as pa
import pyarrow.compute as pc

from deniable.errors import InvalidParameterError
from deniable.rows import arrow_of

# Moments that fit a timestamp in microseconds, with room to spare: years before 290,000 on either side.
LARGEST_SECOND = 9_000_000_000_000


def readable(table: pa.Table) -> pa.Table:
    """Return `table` with missing values where its types do not allow a value.

    Broken text and moments that no calendar holds are such values.
    """
    for index, field in enumerate(table.schema):
        with suppress(InvalidParameterError):  # of a type that no query takes
            column = arrow_of(table.column(index), field.name, None)
            table = table.set_column(index, pa.field(field.name, column.type), column)
        kind = table.schema.field(index).type
        if pa.types.is_nested(kind):
            table = table.set_column(index, field.name, _nested(table.column(index), _fine(kind)))
        elif _fine(kind) != kind:
            table = table.set_column(index, field.name, _in_calendar(table.column(index), kind))
    return table


def _fine(kind: pa.DataType) -> pa.DataType:
    """Return a type with microseconds in place of seconds and milliseconds.

    DuckDB cannot take all values of these.
    """
    match kind:
        case pa.TimestampType() if kind.unit in ("s", "ms"):
            return pa.timestamp("us", kind.tz)
        case pa.DurationType() if kind.unit in ("s", "ms"):
            return pa.duration("us")
        case pa.ListType() | pa.LargeListType() | pa.FixedSizeListType():
            sized = {"list_size": kind.list_size} if isinstance(kind, pa.FixedSizeListType) else {}
            make = pa.large_list if isinstance(kind, pa.LargeListType) else pa.list_
            return make(_fine(kind.value_type), **sized)
        case pa.StructType():
            return pa.struct([each.with_type(_fine(each.type)) for each in kind])
        case pa.MapType():
            return pa.map_(_fine(kind.key_type), _fine(kind.item_type))
    return kind


def _in_calendar(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Moments or durations in microseconds, missing where they are too far away."""
    largest = LARGEST_SECOND * (1 if kind.unit == "s" else 1000)
    ticks = column.cast(pa.int64())
    in_range = pc.and_(pc.greater_equal(ticks, -largest), pc.less_equal(ticks, largest))
    return pc.if_else(in_range, column, pa.scalar(None, kind)).cast(_fine(kind))


def _nested(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return lists and the like as another type of theirs, each row by itself.

    Missing where a value does not fit.
    """
    try:
        return pa.chunked_array([part for chunk in column.chunks for part in _rows(chunk, kind)], kind)
    except pa.ArrowNotImplementedError:  # whatever the rows are
        return pa.nulls(len(column), pa.list_(pa.int8()))


def _rows(array: pa.Array, kind: pa.DataType) -> list[pa.Array]:
    try:
        array.validate(full=True)
        return [array.cast(kind)]
    except pa.ArrowInvalid:
        if len(array) == 1:
            return [pa.nulls(1, kind)]
    half = len(array) // 2  # copies, since a slice would keep the values of all rows
    parts = (range(half), range(half, len(array)))
    return [each for part in parts for each in _rows(array.take(pa.array(part)), kind)]

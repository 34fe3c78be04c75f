"""Arrow tables that the engine can read without stumbling over a row."""

from contextlib import suppress

import pyarrow as pa
import pyarrow.compute as pc

from deniable.errors import InvalidParameterError
from deniable.rows import arrow_of

# Moments that fit a timestamp in microseconds, with room to spare: years before 290,000 on either side.
LARGEST_SECOND = 9_000_000_000_000


def readable(table: pa.Table) -> pa.Table:
    """`table` with missing values for what its types do not allow: broken text, moments that no calendar holds."""
    for place, field in enumerate(table.schema):
        with suppress(InvalidParameterError):  # of a type that no query takes
            found = arrow_of(table.column(place), field.name, None)
            table = table.set_column(place, pa.field(field.name, found.type), found)
        kind = table.schema.field(place).type
        if pa.types.is_timestamp(kind) and kind.unit in ("s", "ms"):
            moments = _in_calendar(table.column(place), kind)
            table = table.set_column(place, pa.field(field.name, moments.type), moments)
    return table


def _in_calendar(column: pa.ChunkedArray, kind: pa.TimestampType) -> pa.ChunkedArray:
    largest = LARGEST_SECOND * (1 if kind.unit == "s" else 1000)
    ticks = column.cast(pa.int64())
    near = pc.and_(pc.greater_equal(ticks, -largest), pc.less_equal(ticks, largest))
    return pc.if_else(near, column, pa.scalar(None, kind)).cast(pa.timestamp("us", kind.tz))

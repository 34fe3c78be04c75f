"""Arrow tables that the engine can read without stumbling over a row."""

import pyarrow as pa
import pyarrow.compute as pc

from deniable.errors import SourceError

# Moments that fit a timestamp in microseconds, with room to spare: years before 290,000 on either side.
LARGEST_SECOND = 9_000_000_000_000


def readable(table: pa.Table) -> pa.Table:
    """`table` with valid text, and with moments that no calendar holds as missing values.

    Raises: SourceError if the table is damaged. The text quotes no value.
    """
    sound = True
    try:
        table.validate(full=True)
    except pa.ArrowInvalid:
        sound = False
    if not sound:
        raise SourceError(
            "the table is damaged: a column holds values that its type does not allow, such as broken text."
        )
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit in ("s", "ms"):
            moments = _in_calendar(table.column(place), field.type)
            table = table.set_column(place, pa.field(field.name, moments.type), moments)
    return table


def _in_calendar(column: pa.ChunkedArray, kind: pa.TimestampType) -> pa.ChunkedArray:
    largest = LARGEST_SECOND * (1 if kind.unit == "s" else 1000)
    ticks = column.cast(pa.int64())
    near = pc.and_(pc.greater_equal(ticks, -largest), pc.less_equal(ticks, largest))
    return pc.if_else(near, column, pa.scalar(None, kind)).cast(pa.timestamp("us", kind.tz))

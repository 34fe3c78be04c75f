"""Reader of private rows, units and keys, from every container that holds them.

What a row is read as depends on that row, and on the type that the container declares. A column without a type (a list,
an array of objects) is read entry by entry, as whatever the caller wants: a number, a whole number, a key, a unit. So
no row decides how another is read, what is raised or warned, or of what type the result is.

| read as      | a column with a type                | an entry without one                    | missing               |
|--------------|-------------------------------------|-----------------------------------------|-----------------------|
| number       | numbers, decimals, booleans; all    | int, float, bool, Decimal, Fraction, or | NULL, NaN, a masked   |
|              | other types are refused             | a scalar of a library that is one       | entry, all else       |
| whole number | the same, to the nearest whole one; | the same                                | the same; without     |
|              | moved to bounds where there are any |                                         | bounds, beyond int64  |
| key          | values of the type, each published  | numbers, text, bytes, dates, times,     | NULL, NaN, NaT, text  |
|              | in one form                         | UUIDs, tuples; 1, 1.0, True are three   | that is none          |
| unit         | as keys                             | as keys, but 1, 1.0, True are one       | as keys               |

An entry is asked for its class, and for `__array__` or `as_py` if it has them; never to be equal, hashed or shown
before it is in its one form. If what it is asked raises, it is missing.
"""

from deniable.rows.attempts import attempted, each_row
from deniable.rows.blocks import plain
from deniable.rows.columns import Container, TypedColumn, array_of, column
from deniable.rows.declared import arrow_of
from deniable.rows.floats import dimensions, numbers, table, whole_numbers
from deniable.rows.keys import codes, distinct, indices_of, labels
from deniable.rows.silence import silence
from deniable.rows.tables import frame_of, without_rows
from deniable.rows.whole import left_out, read, replaced, width

__all__ = [
    "Container",
    "TypedColumn",
    "array_of",
    "arrow_of",
    "attempted",
    "codes",
    "column",
    "dimensions",
    "distinct",
    "each_row",
    "frame_of",
    "indices_of",
    "labels",
    "left_out",
    "numbers",
    "plain",
    "read",
    "replaced",
    "silence",
    "table",
    "whole_numbers",
    "width",
    "without_rows",
]

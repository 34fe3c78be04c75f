"""The one reader of private rows, units and keys, from every container that holds them.

What a row is read as depends on that row, and on the type that the container declares. A column without a type (a list,
an array of objects) is read entry by entry, as whatever the caller wants: a number, a whole number, a key, a unit. So
no row decides how another is read, what is raised or warned, or of what type the result is.
"""

from deniable.rows.blocks import plain
from deniable.rows.columns import Column, array_of, column
from deniable.rows.declared import arrow_of
from deniable.rows.floats import Floats, dimensions, numbers, table, whole_numbers
from deniable.rows.keys import codes, distinct, labels, places_of
from deniable.rows.silence import silence
from deniable.rows.whole import Whole, left_out, read, replaced, width

__all__ = [
    "Column",
    "Floats",
    "Whole",
    "array_of",
    "arrow_of",
    "codes",
    "column",
    "dimensions",
    "distinct",
    "labels",
    "left_out",
    "numbers",
    "places_of",
    "plain",
    "read",
    "replaced",
    "silence",
    "table",
    "whole_numbers",
    "width",
]

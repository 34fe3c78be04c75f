"""Comma-separated values that no spreadsheet or terminal takes for commands."""

import io
from typing import TYPE_CHECKING

from deniable.release.display import printable

if TYPE_CHECKING:
    import pyarrow

_FORMULA = tuple("=+-@＝＋－＠")  # what begins a formula in a spreadsheet, also in full width


def as_csv(table: "pyarrow.Table") -> str:
    """Return the table with a heading.

    Nothing between commas is a missing value, "" an empty text.

    Numbers, dates and truth values are written as they are. Texts and headings are made harmless.
    """
    import pyarrow as pa
    import pyarrow.csv

    columns = [
        pa.array([None if value is None else harmless(value) for value in column.to_pylist()], pa.string())
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        else column
        for column in table.columns
    ]
    buffer = io.BytesIO()
    names = [harmless(name) for name in table.column_names]
    pyarrow.csv.write_csv(pa.Table.from_arrays(columns, names=names), buffer)
    return buffer.getvalue().decode()


def harmless(text: str) -> str:
    """Return the text on one line, safe to open in a spreadsheet.

    An apostrophe stands before what looks like a formula.
    """
    shown = printable(text)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown

"""CSV files, line by line: what stands in one line changes nothing about any other line.

A usual reader lets a quoted field go on over line ends, so one unbalanced quote in one person's line swallows everybody
after it. Here a line is a row, whatever it holds. Every field is text; types are cast where they are used, totally.
"""

import csv
from pathlib import Path

from deniable.errors import SourceError
from deniable.query.backends.duckdb_expression import quoted, text

SEPARATORS = ",;\t|"
NEVER = "\x01"  # separates nothing: the reader gives whole lines


def header_of_csv(path: Path) -> tuple[str, list[str]]:
    """The separator and the column names, from the first line alone: nothing is inferred from private rows.

    Raises: SourceError if the first line is no header of distinct names.
    """
    try:
        with path.open("rb") as file:
            first = file.readline(1_000_000).decode("utf-8-sig").rstrip("\r\n")
    except (OSError, UnicodeDecodeError):
        raise SourceError(f"{str(path)!r} cannot be read as text in UTF-8.") from None
    if "\r" in first:
        raise SourceError(
            f"the lines of {str(path)!r} end in a lone carriage return. Save it with the line ends of Unix."
        )
    separator = max(SEPARATORS, key=first.count)
    names = next(csv.reader([first], delimiter=separator), [])
    if not names or not all(names) or len({name.casefold() for name in names}) < len(names):
        raise SourceError(f"the first line of {str(path)!r} must name every column, each name once in any case.")
    return separator, names


def csv_source(path: Path) -> str:
    """SQL for the rows of the file, all columns as text. An empty or missing field is NULL; extra ones are lost.

    A field may be quoted, with "" for a quote inside; a quoted field ends with its line.
    """
    separator, names = header_of_csv(path)
    lines = (
        f"read_csv({text(str(path))}, delim={text(NEVER)}, quote='', escape='', header=false, skip=1, "
        "columns={'line': 'VARCHAR'}, auto_detect=false, ignore_errors=true, null_padding=true, strict_mode=false)"
    )
    pattern = f'[{separator}](?:"(?:[^"]|"")*"|[^{separator}]*)'
    bare = (
        "lambda field: CASE WHEN length(field) > 2 AND field[2] = '\"' AND field[-1] = '\"' "
        "THEN replace(field[3:-2], '\"\"', '\"') ELSE field[2:] END"
    )
    fields = (
        f"CASE WHEN contains(line, '\"') "
        f"THEN list_transform(regexp_extract_all({text(separator)} || line, {text(pattern)}), {bare}) "
        f"ELSE string_split(line, {text(separator)}) END"
    )
    columns = ", ".join(f"nullif(fields[{place}], '') AS {quoted(name)}" for place, name in enumerate(names, 1))
    return (
        f"(SELECT {columns} FROM (SELECT {fields} AS fields FROM (SELECT rtrim(line, chr(13)) AS line FROM {lines})))"
    )

"""SQL that reads a field of text by its declared type.

By itself, and NULL where it cannot be read.
"""

import re

from deniable.files.declaration import Csv, CsvColumn

SPACES = " \t\xa0\u2009\u202f"  # around numbers and dates, and between thousands
ISO_MOMENT = r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}([.]\d{1,9})?)?([zZ]|[+-]\d{2}(:?\d{2})?)?)?"
STORED = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "real": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}


def text(value: str) -> str:
    """Return a string constant."""
    return "'" + value.replace("'", "''") + "'"


def given(value: str, csv: Csv) -> str:
    """Return the text of a field, NULL if it stands for a missing value."""
    if not csv.null:
        return f"nullif({value}, '')"
    words = ", ".join(text(word) for word in dict.fromkeys(("", *csv.null)))
    return f"CASE WHEN {value} NOT IN ({words}) THEN {value} END"


def cast(value: str, column: CsvColumn, csv: Csv) -> str:
    """Return the value of a field that is given, with the type of its column."""
    match column.type:
        case "integer" | "real":
            return _number(value, column, csv)
        case "boolean":
            word = f"lower(trim({value}))"
            yes, no = (", ".join(text(word.lower()) for word in words) or "''" for words in (csv.true, csv.false))
            return f"CASE WHEN {word} IN ({yes}) THEN true WHEN {word} IN ({no}) THEN false END"
        case "date" | "timestamp":
            return _moment(value, column)
    return value


def number_pattern(csv: Csv, sign: str | None = None, *, whole: bool = False) -> str:
    """Return the regular expression of a number as declared.

    Digits are grouped in threes (or twos) or not at all.
    """
    decimal, thousands = re.escape(csv.decimal), re.escape(csv.thousands)
    digits = "[0-9]+"
    if csv.thousands:
        between = f"[{SPACES}]" if csv.thousands in SPACES else thousands
        digits = f"(?:[0-9]+|[0-9]{{1,3}}(?:{between}[0-9]{{2,3}})*{between}[0-9]{{3}})"
    body = f"{digits}(?:{decimal}0*)?"
    if not whole:
        body = f"(?:(?:{digits}(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity))"
    space = f"[{SPACES}]*"
    mark = "" if sign is None else f"(?:{re.escape(sign.strip())}{space})?"
    after = "" if sign is None else f"(?:{space}{re.escape(sign.strip())})?"
    return f"{space}{mark}[+-]?{space if sign else ''}{mark}{body}{after}{space}"


def _number(value: str, column: CsvColumn, csv: Csv) -> str:
    whole = column.type == "integer"
    bare = value
    kind = STORED[column.type]
    if column.sign is not None:
        bare = f"replace({bare}, {text(column.sign.strip())}, '')"
    if csv.thousands and csv.thousands not in SPACES:
        bare = f"replace({bare}, {text(csv.thousands)}, '')"
    bare = f"translate({bare}, {text(SPACES)}, '')"
    if csv.decimal != ".":
        bare = f"replace({bare}, {text(csv.decimal)}, '.')"
    if whole:  # a cast would round what stands behind the point
        bare = f"split_part({bare}, '.', 1)"
    pattern = text(number_pattern(csv, column.sign, whole=whole))
    careful = f"CASE WHEN regexp_full_match({value}, {pattern}) THEN TRY_CAST({bare} AS {kind}) END"
    if column.sign is not None or csv.thousands:
        return careful
    # Most numbers are plain, and a cast is quicker than an expression; but it also takes 1_000 and 0x1F.
    plain = value if csv.decimal == "." or whole else f"replace({value}, {text(csv.decimal)}, '.')"
    quick = f"TRY_CAST({plain} AS {kind})"
    sure = f"CAST({quick} AS VARCHAR) = {value}"
    if not whole:
        other = "" if plain == value else f" AND NOT contains({value}, '.')"
        sure = f"isfinite({quick}) AND NOT contains({value}, '_'){other}"
    return f"CASE WHEN {sure} THEN {quick} ELSE {careful} END"


def _moment(value: str, column: CsvColumn) -> str:
    kind = STORED[column.type]
    trimmed = f"trim({value}, {text(SPACES)})"
    if column.format is None and column.type == "timestamp":
        moment = f"CASE WHEN regexp_full_match({trimmed}, {text(ISO_MOMENT)}) "
        moment += f"THEN CAST(TRY_CAST({trimmed} AS TIMESTAMPTZ) AS TIMESTAMP) END"
    else:
        form = text(column.format or "%Y-%m-%d")
        moment = f"CAST(coalesce(try_strptime({value}, {form}), try_strptime({trimmed}, {form})) AS TIMESTAMP)"
    # strptime also takes words such as "infinity", and with %Y years of two digits, as those of the first century.
    words = f"lower({trimmed}) IN ('epoch', 'infinity', '+infinity', '-infinity')"
    return f"CASE WHEN year({moment}) >= 1000 AND NOT {words} THEN CAST({moment} AS {kind}) END"

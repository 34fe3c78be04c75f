"""`SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(...)`: the price of a question.

BigQuery and GoogleSQL write it so.

The options say the price, and may set smaller limits on a unit than are declared, never larger ones. So may the
arguments `rows`, `groups` and `total_rows` of a question.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import sqlglot

from deniable.errors import InvalidParameterError, UnsupportedQueryError
from deniable.query.catalog import LARGEST_ROWS, DeclaredTable, changed, did_you_mean

LIMITS = {"rows": "rows", "groups": "groups", "total_rows": "total_rows", "max_groups_contributed": "groups"}
KNOWN = ("epsilon", "delta", "privacy_unit_column", *LIMITS)
_CLAUSE = ("SELECT", "WITH", "DIFFERENTIAL_PRIVACY", "OPTIONS", "(")


def without_options(text: object) -> tuple[str, dict[str, str]]:
    """Return the text with its OPTIONS clause blanked, and the options by name.

    Raises: UnsupportedQueryError if it stands elsewhere than behind the outermost SELECT, or cannot be read.
    """
    if not isinstance(text, str) or "differential_privacy" not in text.casefold():
        return text, {}  # type: ignore[return-value]
    try:
        tokens = sqlglot.tokenize(text, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return text, {}  # the parser says it best
    starts = [
        index
        for index, token in enumerate(tokens)
        if tuple(each.text.upper() for each in tokens[index : index + len(_CLAUSE)]) == _CLAUSE
    ]
    if not starts:
        return text, {}
    opened = sum({"L_PAREN": 1, "R_PAREN": -1}.get(each.token_type.name, 0) for each in tokens[: starts[0]])
    if len(starts) > 1 or opened:
        raise UnsupportedQueryError("WITH DIFFERENTIAL_PRIVACY stands once, behind the outermost SELECT.")
    inside = tokens[starts[0] + len(_CLAUSE) :]
    end = next((index for index, each in enumerate(inside) if each.token_type.name == "R_PAREN"), None)
    if end is None:
        raise UnsupportedQueryError("OPTIONS( has no closing parenthesis.")
    options = dict(_pairs(inside[:end]))
    if "epsilon" not in options:
        raise UnsupportedQueryError("OPTIONS needs epsilon: OPTIONS(epsilon = 0.5).")
    first, last = tokens[starts[0] + 1].start, inside[end].end + 1
    blank = "".join(letter if letter == "\n" else " " for letter in text[first:last])
    return text[:first] + blank + text[last:], options


def _pairs(tokens: list[Any]) -> Iterator[tuple[str, str]]:
    """Yield the names and values of `name = value, ...`."""
    seen: set[str] = set()
    while tokens:
        stop = next((index for index, each in enumerate(tokens) if each.token_type.name == "COMMA"), len(tokens))
        one = tokens[:stop]
        tokens = tokens[stop + 1 :]
        name = one[0].text.lower() if one else ""
        if name not in KNOWN:
            raise UnsupportedQueryError(
                f"OPTIONS has no {name!r}.{did_you_mean(name, KNOWN)} It takes {', '.join(KNOWN)}."
            )
        of_table = len(one) == 5 and name == "privacy_unit_column" and one[3].text == "."
        if not (len(one) == 3 or of_table) or one[1].text != "=" or name in seen:
            raise UnsupportedQueryError(f"OPTIONS takes {name} once, as {name} = and one number or name.")
        seen.add(name)
        yield name, one[-1].text


def stricter(
    tables: Mapping[str, DeclaredTable], options: Mapping[str, str], limits: Mapping[str, int | str | None]
) -> Mapping[str, DeclaredTable]:
    """Return the tables under the stricter limits of a question.

    Args:
        limits: rows, groups or total_rows; None where none is given.

    Raises: UnsupportedQueryError if that is another unit than the declared one; InvalidParameterError if a limit is
        larger than the declared one, or bounds a unit in another way.
    """
    private = next(table for table in tables.values() if not table.public)
    unit = options.get("privacy_unit_column")
    if unit is not None and unit.casefold() != (private.unit.column or "").casefold():
        declared = repr(private.unit.column) if private.unit.column else "none: every row is a unit"
        raise UnsupportedQueryError(f"privacy_unit_column is {unit!r}, and the declared one is {declared}.")
    wanted: dict[str, int] = {}
    for name, value in (*options.items(), *limits.items()):
        if name in LIMITS and value is not None:
            if LIMITS[name] in wanted:
                raise InvalidParameterError(f"{LIMITS[name]} is limited twice. Give one limit.")
            wanted[LIMITS[name]] = _limit(name, value, private)
    if not wanted:
        return tables

    def lowered(table: DeclaredTable) -> DeclaredTable:
        if table.public:
            return table
        own = tuple(word for word in wanted if word in table.auto or wanted[word] != getattr(table, word))
        assumed, auto = (tuple(word for word in words if word not in wanted) for words in (table.assumed, table.auto))
        return replace(table, **wanted, assumed=assumed, auto=auto, own=own)  # type: ignore[arg-type]

    return changed(tables, lowered)


def _limit(name: str, value: int | str, table: DeclaredTable) -> int:
    """A limit that is not larger than that of the table, which is of its kind."""
    word = LIMITS[name]
    declared = LARGEST_ROWS if word in table.auto else getattr(table, word)
    if (word == "total_rows") is not (table.total_rows is not None):
        other = "rows and groups" if word == "total_rows" else "total_rows"
        raise InvalidParameterError(f"{name} must be left out, not beside {other}, which is what {table.name} limits.")
    whole = int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 10 else value
    if isinstance(whole, bool) or not isinstance(whole, int) or not 1 <= whole <= declared:
        raise InvalidParameterError(f"{name} must be from 1 to the declared {declared}, got {value}.")
    return whole

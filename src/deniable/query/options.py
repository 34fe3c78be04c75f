"""`SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(...)`, as BigQuery and GoogleSQL write the price of a question.

The options say the price, and may say less of the promise than is declared, never more.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import sqlglot

from deniable.errors import UnsupportedQueryError
from deniable.query.catalog import Table, changed, did_you_mean

KNOWN = ("epsilon", "delta", "privacy_unit_column", "max_groups_contributed")
_CLAUSE = ("SELECT", "WITH", "DIFFERENTIAL_PRIVACY", "OPTIONS", "(")


def without_options(text: object) -> tuple[str, dict[str, str]]:
    """The text with blanks in place of the clause, so that places stay, and its options by name; none if it has none.

    Raises: UnsupportedQueryError if it stands elsewhere than behind the outermost SELECT, or cannot be read.
    """
    if not isinstance(text, str) or "differential_privacy" not in text.casefold():
        return text, {}  # type: ignore[return-value]
    try:
        tokens = sqlglot.tokenize(text, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return text, {}  # the parser says it best
    starts = [
        place
        for place, token in enumerate(tokens)
        if tuple(each.text.upper() for each in tokens[place : place + len(_CLAUSE)]) == _CLAUSE
    ]
    if not starts:
        return text, {}
    opened = sum({"L_PAREN": 1, "R_PAREN": -1}.get(each.token_type.name, 0) for each in tokens[: starts[0]])
    if len(starts) > 1 or opened:
        raise UnsupportedQueryError("WITH DIFFERENTIAL_PRIVACY stands once, behind the outermost SELECT.")
    inside = tokens[starts[0] + len(_CLAUSE) :]
    end = next((place for place, each in enumerate(inside) if each.token_type.name == "R_PAREN"), None)
    if end is None:
        raise UnsupportedQueryError("OPTIONS( has no closing parenthesis.")
    found = dict(_pairs(inside[:end]))
    if "epsilon" not in found:
        raise UnsupportedQueryError("OPTIONS needs epsilon: OPTIONS(epsilon = 0.5).")
    first, last = tokens[starts[0] + 1].start, inside[end].end + 1
    blank = "".join(letter if letter == "\n" else " " for letter in text[first:last])
    return text[:first] + blank + text[last:], found


def _pairs(tokens: list[Any]) -> Iterator[tuple[str, str]]:
    """Names and values of `name = value, ...`; a value is a number or a name, perhaps of a column of a table."""
    seen: set[str] = set()
    while tokens:
        stop = next((place for place, each in enumerate(tokens) if each.token_type.name == "COMMA"), len(tokens))
        one, tokens = tokens[:stop], tokens[stop + 1 :]
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


def stricter(tables: Mapping[str, Table], options: Mapping[str, str]) -> Mapping[str, Table]:
    """The tables under what the options promise of a unit.

    Raises: UnsupportedQueryError if that is another unit than the declared one, or more groups.
    """
    private = next(table for table in tables.values() if not table.public)
    unit, most = options.get("privacy_unit_column"), options.get("max_groups_contributed")
    if unit is not None and unit.casefold() != (private.unit.column or "").casefold():
        declared = repr(private.unit.column) if private.unit.column else "none: every row is a unit"
        raise UnsupportedQueryError(f"privacy_unit_column is {unit!r}, and the declared one is {declared}.")
    if most is None:
        return tables
    whole = most.isdecimal() and len(most) < 10
    groups = 10**9 if "groups" in private.auto else private.groups
    if private.total_rows is not None or not whole or not 1 <= int(most) <= groups:
        limit = f"from 1 to the declared {groups}" if private.total_rows is None else "not beside total_rows"
        raise UnsupportedQueryError(f"max_groups_contributed must be {limit}, got {most}.")

    def lowered(table: Table) -> Table:
        assumed, auto = (tuple(word for word in words if word != "groups") for words in (table.assumed, table.auto))
        return table if table.public else replace(table, groups=int(most), assumed=assumed, auto=auto)

    return changed(tables, lowered)

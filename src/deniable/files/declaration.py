"""Declaration of a CSV file: its bytes, lines and values.

Nothing here is guessed when the file is imported: `guess` proposes a declaration, the owner decides.
"""

import codecs
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, get_args

from deniable.arguments import read_fields
from deniable.errors import CatalogError
from deniable.rows.declared import Declared

FORMAT = 1  # of imported files: another number, another meaning of the same declaration
MOST_LINES = 10_000  # in one row
TRUE = ("true", "t", "yes", "y", "1")
FALSE = ("false", "f", "no", "n", "0")
DIRECTIVES = frozenset("aAbBdfgHIjmMnpSwyYzZ%-")  # of strptime
WHOLE = ("utf-8", "utf-16", "utf-16-le", "utf-16-be")


@dataclass(frozen=True, kw_only=True)
class CsvColumn:
    """Declaration of how the values of one column are read.

    Args:
        type: "text", "integer", "real", "boolean", "date" or "timestamp".
        format: of dates and timestamps, as in strptime, such as "%d/%m/%Y"; None for ISO 8601.
        sign: stands before or after numbers and is dropped, such as "€" or "%" (12% is read as 12).

    >>> CsvColumn(type="date", format="%d/%m/%Y").type
    'date'
    """

    type: str = "text"
    format: str | None = None
    sign: str | None = None

    def __post_init__(self) -> None:
        if self.type not in get_args(Declared):
            raise CatalogError(f"type must be one of {', '.join(get_args(Declared))}, got {self.type!r}.")
        if self.format is not None:
            if self.type not in ("date", "timestamp"):
                raise CatalogError(f'format is for type = "date" and "timestamp", got type {self.type!r}.')
            directives = re.findall(r"%(.?)", self.format)
            if not directives or not set(directives) <= DIRECTIVES:
                raise CatalogError(f'format must be like "%d/%m/%Y" or "%Y-%m-%d %H:%M:%S", got {self.format!r}.')
        if self.sign is not None:
            if self.type not in ("integer", "real"):
                raise CatalogError(f'sign is for type = "integer" and "real", got type {self.type!r}.')
            if not self.sign.strip() or re.search(r"[\d+.,-]", self.sign):
                raise CatalogError(f'sign must be text without digits, such as "€", got {self.sign!r}.')


@dataclass(frozen=True, kw_only=True)
class Csv:
    """Declaration of a CSV file.

    Args:
        encoding: "utf-8", "utf-16", or one in which a byte is a letter: "latin-1", "cp1252", ...
        delimiter: between fields, one ASCII character.
        quote: around fields that hold a delimiter, a line break or a (doubled) quote; "" if there are none.
        line_end: "\\n" (after which "\\r\\n" is one too), or "\\r" for very old files.
        row_lines: the most lines that a row may take, where quoted fields hold line breaks. With 1 a quoted
            field ends with its line: then no line can change how another is read.
        names: of the columns, if the file does not begin with a line of names.
        decimal: "." or ",".
        thousands: between groups of digits, such as "," or "." or " "; "" if there is none.
        null: words that mean a missing value, in every column; an empty field always does.
        true, false: words that booleans are, in any case.
        columns: how each column is read; a column that is not listed is text.

    >>> form = Csv(delimiter=";", decimal=",", columns={"cost": CsvColumn(type="real", sign="€")})
    >>> form.column("cost").type, form.column("name").type
    ('real', 'text')
    """

    encoding: str = "utf-8"
    delimiter: str = ","
    quote: str = '"'
    line_end: str = "\n"
    row_lines: int = 1
    names: tuple[str, ...] | None = None
    decimal: str = "."
    thousands: str = ""
    null: tuple[str, ...] = ()
    true: tuple[str, ...] = TRUE
    false: tuple[str, ...] = FALSE
    columns: Mapping[str, CsvColumn] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ("names", "null", "true", "false")}
        words = {name: _words(name, value) for name, value in given.items() if value is not None}
        read_fields(self, columns=dict(self.columns), **words)
        _check_encoding(self.encoding)
        for name, value, empty in (("delimiter", self.delimiter, False), ("quote", self.quote, True)):
            if not (empty and value == "") and not (len(value) == 1 and 0 < ord(value) < 128 and value not in "\r\n"):
                raise CatalogError(f"{name} must be one ASCII character, got {value!r}.")
        if self.delimiter == self.quote:
            raise CatalogError(f"delimiter and quote must differ, got {self.delimiter!r} for both.")
        if self.line_end not in ("\n", "\r"):
            raise CatalogError(f'line_end must be "\\n" (also for "\\r\\n") or "\\r", got {self.line_end!r}.')
        lines = self.row_lines
        if isinstance(lines, bool) or not isinstance(lines, int) or not 1 <= lines <= MOST_LINES:
            raise CatalogError(f"row_lines must be a whole number from 1 to {MOST_LINES:,}, got {lines!r}.")
        if self.decimal not in (".", ","):
            raise CatalogError(f'decimal must be "." or ",", got {self.decimal!r}.')
        if self.thousands == self.decimal or len(self.thousands) > 1 or self.thousands in tuple("0123456789+-eE\r\n"):
            raise CatalogError(f'thousands must be one character such as "," or " ", or "", got {self.thousands!r}.')
        shared = {word.casefold() for word in self.true} & {word.casefold() for word in self.false}
        if shared:
            raise CatalogError(f"a word cannot be both true and false: {', '.join(sorted(shared))}.")

    def column(self, name: str) -> CsvColumn:
        """Return how a column is read."""
        return self.columns.get(name, CsvColumn())

    @property
    def fingerprint(self) -> str:
        """Hash that is equal for equal declarations; the imported file carries it."""
        said = {**asdict(self), "version": FORMAT}
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


# What a policy may say in [csv], with the types of TOML.
CSV_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("encoding", "delimiter", "quote", "line_end", "decimal", "thousands"), str),
    "row_lines": int,
    **dict.fromkeys(("names", "null", "true", "false"), list),
}


def _words(name: str, value: object) -> tuple[str, ...]:
    if (
        isinstance(value, str)
        or not isinstance(value, list | tuple)
        or not all(isinstance(word, str) for word in value)
    ):
        raise CatalogError(f"{name} must be a list of words in quotes, got {value!r}.")
    return tuple(value)


def _check_encoding(name: str) -> None:
    """Refuse encodings in which one row could change how another is read.

    Raises: CatalogError.
    """
    try:
        known: Any = codecs.lookup(name)
        ours = known.name in WHOLE or (known._is_text_encoding and _is_letter_by_letter(known.name))
    except (LookupError, AttributeError):
        ours = False
    if not ours:
        raise CatalogError(
            f'encoding must be "utf-8", "utf-16", "latin-1", "cp1252" or another in which every byte is a letter, got '
            f"{name!r}. Save the file as UTF-8."
        )


@lru_cache
def _is_letter_by_letter(name: str) -> bool:
    """Whether every byte is read alone, and those of ASCII as themselves."""
    single = [bytes([byte]).decode(name, "replace") for byte in range(256)]
    pairs = (
        bytes(byte for second in range(256) for byte in (first, second)).decode(name, "replace")
        == "".join(single[first] + letter for letter in single)
        for first in range(256)
    )
    return single[:128] == [chr(byte) for byte in range(128)] and all(pairs)

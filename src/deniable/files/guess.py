"""A proposal of how a CSV file is to be read, from its bytes.

For its owner, who looks at it and decides.

Nothing of the rows stands in a proposal but words from the lists below.
"""

import codecs
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.errors import SourceError, redacted
from deniable.files.casts import cast, number_pattern, text
from deniable.files.declaration import FALSE, TRUE, Csv, CsvColumn
from deniable.files.lines import BLOCK_BYTES, UTF_8, CsvRows, decoded, header
from deniable.files.write import text_columns

if TYPE_CHECKING:
    pass

DELIMITERS = ",;\t|"
NUMBERS = ((".", ""), (",", ""), (",", "."), (".", ","), (",", " "), (".", " "), (".", "'"))  # decimal, thousands
NUMBERS_BETWEEN_COMMAS = ((".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"))
SIGNS = ("€", "$", "£", "¥", "₹", "%", "EUR", "USD", "GBP", "CHF", "Fr.", "kr", "zł", "R$")
NULLS = ("NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "none", "NaN", "nan", "NaT", "-", "--", ".", "?")
YES, NO = (*TRUE, "ja", "j", "oui", "si", "sí", "sim", "wahr", "vrai"), (*FALSE, "nein", "non", "não", "falsch", "faux")
DAYS = ("%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d")
SHORT_DAYS = ("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%m-%y", "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y")
HOURS = ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f", "%I:%M:%S %p", "%I:%M %p")
DATES = (*DAYS, *SHORT_DAYS)
MOMENTS = tuple(f"{day}{between}{hour}" for day in DAYS[:7] for hour in HOURS for between in (" ", "T"))
ENOUGH = 0.99  # of the values of a column must be of a type
MOST_VALUES = 20_000  # of a column, that are tried
MOST_LINES = 1000  # of a row, in a file that is looked at


@dataclass(frozen=True)
class Proposal:
    """A declaration to look at, with what the owner should know.

    About the file, and about columns by name.
    """

    csv: Csv
    columns: tuple[str, ...]
    notes: tuple[str, ...]
    about: Mapping[str, str]


def guess_csv(source: str | Path) -> Csv:
    """Propose how to read a CSV file, after a look at all of it.

    Check the proposal, then import the file.

    Args:
        source: the path of the file.

    Raises: SourceError if it is not a file, or names no columns.

    >>> import deniable as dn
    >>> form = dn.guess_csv(dn.datasets.path("visits.csv"))
    >>> form.delimiter, form.column("day").type
    (',', 'date')
    """
    return propose(Path(source)).csv


def propose(path: Path) -> Proposal:
    """Return the declaration of `guess_csv`, with notes."""
    notes: list[str] = []
    try:
        encoding, note = _encoding(path)
        notes += note
        with path.open("rb") as file:
            start = file.read(2**18)
        line_end = "\r" if b"\r" in start and b"\n" not in start else "\n"
        csv = Csv(encoding=encoding, line_end=line_end, row_lines=MOST_LINES)
        csv = max((replace(csv, delimiter=letter) for letter in DELIMITERS), key=lambda tried: _fit(start, tried))
        with path.open("rb") as file:
            names, note = _names(file, csv)
            notes += note
        if note:
            csv = replace(csv, names=names)
        values = _Values(path, csv, names)
    except OSError as error:
        raise SourceError(f"{redacted(path)!r} cannot be read ({error.strerror}).") from None
    if values.broken:
        notes.append(f"lines that cannot be read as {len(names)} fields: {values.broken:,}; the import reports each")
    csv = replace(csv, row_lines=1 if values.most_lines == 1 else max(10, 2 * values.most_lines))
    return values.typed(csv, notes)


def _encoding(path: Path) -> tuple[str, list[str]]:
    """Return the encoding that all bytes of the file suggest."""
    with path.open("rb") as file:
        start = file.read(4)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", []
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    bad = good = 0
    others: set[int] = set()
    with path.open("rb") as file:
        while raw := file.read(BLOCK_BYTES):
            if raw.isascii():
                continue
            decoded_text = decoder.decode(raw)
            wrong = decoded_text.count("\ufffd")
            bad += wrong
            good += sum(map(len, re.findall("[\x80-\ufffc\U00010000-\U0010ffff]+", decoded_text)))
            if wrong:
                others.update(raw)
    if bad == 0 or good > 10 * bad:
        return "utf-8", [f"{bad:,} characters are no UTF-8; their fields will be missing"] if bad else []
    controls = {byte for byte in others if 0x80 <= byte < 0xA0}
    name = "cp1252" if controls and not controls & {0x81, 0x8D, 0x8F, 0x90, 0x9D} else "latin-1"
    return name, [f"the file is not in UTF-8; {name} is the likeliest, look at accents and signs"]


def _fit(start: bytes, csv: Csv) -> tuple[float, int]:
    """Return the share of rows with as many fields as the first, by a delimiter.

    0 if the first has a single field.
    """
    data = start if csv.encoding in UTF_8 else start.decode(csv.encoding, "replace").encode()
    lines = data.replace(b"\r", b"\n").split(b"\n")
    width = lines[0].count(csv.delimiter.encode()) + 1
    body = [line for line in lines[1:2000] if line]
    same = sum(line.count(csv.delimiter.encode()) + 1 >= width for line in body)
    return (same / max(len(body), 1) if width > 1 else -1.0, width)


def _names(file: "object", csv: Csv) -> tuple[tuple[str, ...], list[str]]:
    """Return the names in the first line, or made-up ones if it looks like a row."""
    try:
        names = header(file, csv)  # type: ignore[arg-type]
    except SourceError:
        first = next(decoded(file, csv), b"").split(b"\n", 1)[0]  # type: ignore[arg-type]
        if not first.strip():
            raise
        names = tuple(first.decode("utf-8", "replace").rstrip("\r").split(csv.delimiter))
        if not any(re.fullmatch(r"[\s\d.,:/-]+", name) for name in names):
            raise
    if not any(re.fullmatch(r"\s*[+-]?[\d.,:/ -]*\d[\d.,:/ -]*", name) for name in names):
        return names, []
    made = tuple(f"column{number}" for number in range(1, len(names) + 1))
    return made, ["the first line looks like a row: names were made up, delete the list if the line holds names"]


class _Values:
    """Distinct values of every column of a file, from a sample of its blocks.

    The sample is the beginning and positions ever further apart.
    """

    def __init__(self, path: Path, csv: Csv, names: tuple[str, ...]) -> None:
        import duckdb

        self.names = names
        self.broken = 0
        self._connection = duckdb.connect(":memory:")
        self._connection.execute("SET enable_external_access = false")
        self._plain = [f"c{number}" for number in range(len(names))]
        for plain in self._plain:
            self._connection.execute(f"CREATE TABLE {plain} (v VARCHAR, n BIGINT)")

        def count(line: int, column: str, reason: str) -> None:
            self.broken += not column

        with path.open("rb") as file:
            rows = CsvRows(csv, names, count)
            for number, block in enumerate(rows.blocks(decoded(file, csv)), 1):
                if block.data and number & (number - 1) == 0:  # 1, 2, 4, 8, ...
                    self._connection.register("block", text_columns(block, self._plain, csv))
                    for plain in self._plain:
                        self._connection.execute(
                            f"INSERT INTO {plain} SELECT {plain}, count(*) FROM block WHERE trim({plain}) <> '' "
                            f"GROUP BY 1 LIMIT {MOST_VALUES}"
                        )
                    self._connection.unregister("block")
        self.most_lines = rows.most_lines

    def typed(self, csv: Csv, notes: list[str]) -> Proposal:
        """Return the declaration with all column types, and the marks and words they need."""
        order = NUMBERS_BETWEEN_COMMAS if csv.delimiter == "," else NUMBERS
        signs = {plain: self._sign(plain) for plain in self._plain}
        marks = [replace(csv, decimal=decimal, thousands=thousands) for decimal, thousands in order]
        numeric = {
            plain: [
                self._share(plain, [f"regexp_full_match(v, {text(number_pattern(tried, signs[plain]))})"])[0] >= ENOUGH
                for tried in marks
            ]
            for plain in self._plain
        }
        score = [sum(can_read[index] for can_read in numeric.values()) for index in range(len(marks))]
        best = score.index(max(score))
        csv = marks[best]
        rivals = [tried for index, tried in enumerate(marks) if score[index] == score[best]]
        if any(rival.decimal != csv.decimal for rival in rivals) and any(
            numeric[plain][best] and self._any(plain, "regexp_matches(v, '[.,]')") for plain in self._plain
        ):
            notes.append(f"the decimal mark is a guess: numbers could be read with {csv.decimal!r} or the other one")
        csv = replace(csv, true=YES, false=NO)
        columns = {}
        about = {}
        nulls = set()
        for plain, name in zip(self._plain, self.names, strict=True):
            column, note = self._type(plain, csv, numeric[plain][best], signs[plain])
            columns[name] = column
            if note:
                about[name] = note
            if column.type != "text":
                nulls |= {word for word in NULLS if self._any(plain, f"v = {text(word)}")}
        words = [name for name, column in columns.items() if column.type == "boolean"]
        foreign = any(
            self._any(plain, f"lower(trim(v)) NOT IN ({', '.join(map(text, (*TRUE, *FALSE)))})")
            for plain, name in zip(self._plain, self.names, strict=True)
            if name in words
        )
        if not foreign:
            csv = replace(csv, true=TRUE, false=FALSE)
        if nulls:
            notes.append("null lists words that stand among numbers or dates; they are missing values in all columns")
        csv = replace(csv, null=tuple(word for word in NULLS if word in nulls), columns=columns)
        return Proposal(csv, self.names, tuple(notes), about)

    def _type(self, plain: str, csv: Csv, numeric: bool, sign: str | None) -> tuple[CsvColumn, str]:
        if not self._any(plain, "true"):
            return CsvColumn(), "no value was seen"
        if numeric and not self._any(plain, "regexp_full_match(v, '0[0-9]+')"):  # 007 is a name
            whole = self._good(plain, csv, [CsvColumn(type="integer", sign=sign)])
            real = self._good(plain, csv, [CsvColumn(type="real", sign=sign)])
            dates = self._good(plain, csv, [CsvColumn(type="date", format="%Y%m%d")])
            if dates and not sign:
                return dates[0][0], "eight digits that are dates, or numbers"
            for candidates in (whole, real):
                if candidates:
                    return self._said(*candidates[0])
        booleans = self._good(plain, csv, [CsvColumn(type="boolean")])
        if booleans:
            return self._said(*booleans[0])
        iso = CsvColumn(type="timestamp")
        for kind, formats in (("date", DATES), ("timestamp", MOMENTS)):
            tried = [CsvColumn(type=kind, format=form) for form in formats]
            candidates = self._good(plain, csv, tried)
            if kind == "timestamp":
                candidates = self._good(plain, csv, [iso]) or candidates
            if candidates:
                column, share = max(candidates, key=lambda pair: pair[1])
                same = [other.format or "" for other, value in candidates if value == share]
                if column.format == "%Y-%m-%d":
                    column = CsvColumn(type="date")
                column, note = self._said(column, share)
                if len(same) > 1:
                    note = f"could also be {' or '.join(same[1:])}: no day above 12 tells"
                return column, note
        return CsvColumn(), ""

    def _said(self, column: CsvColumn, share: float) -> tuple[CsvColumn, str]:
        return column, "" if share == 1 else f"some values are no {column.type}: they will be missing"

    def _good(self, plain: str, csv: Csv, columns: Sequence[CsvColumn]) -> list[tuple[CsvColumn, float]]:
        """Return the columns that read nearly all values, with the share that they read."""
        shares = self._share(plain, [f"({cast('v', column, csv)}) IS NOT NULL" for column in columns])
        return [(column, share) for column, share in zip(columns, shares, strict=True) if share >= ENOUGH]

    def _share(self, plain: str, conditions: Sequence[str]) -> list[float]:
        """Return the share of values for which each condition is true.

        Words for missing values do not count.
        """
        counts = ", ".join(f"coalesce(sum(n) FILTER (WHERE {condition}), 0)" for condition in conditions)
        words = ", ".join(map(text, NULLS))
        row = self._connection.execute(
            f"SELECT coalesce(sum(n), 0), {counts} FROM {plain} WHERE v NOT IN ({words})"
        ).fetchone()
        assert row is not None
        return [float(count / row[0]) if row[0] else 0.0 for count in row[1:]]

    def _any(self, plain: str, condition: str) -> bool:
        return self._connection.execute(f"SELECT 1 FROM {plain} WHERE {condition} LIMIT 1").fetchone() is not None

    def _sign(self, plain: str) -> str | None:
        """Return the sign that most values hold, beside a digit."""
        shares = self._share(plain, [f"contains(v, {text(sign)}) AND regexp_matches(v, '[0-9]')" for sign in SIGNS])
        best = max(range(len(SIGNS)), key=shares.__getitem__)
        return SIGNS[best] if shares[best] > 0 else None

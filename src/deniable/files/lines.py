"""Rows of a CSV file that no reader can misread, with their line numbers.

Whole blocks are checked at once; a block in which something is broken is taken apart row by row, so that a broken row
costs itself alone. What a row may swallow by a quote that does not end is bounded by `row_lines` of the declaration.
"""

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np
from numpy.typing import NDArray

from deniable.errors import SourceError
from deniable.files.declaration import Csv

BLOCK_BYTES = 2**24  # checked and parsed at once, which bounds the memory of an import
PIECE = 2**17  # bytes of a broken block that are taken apart
LONGEST = 2**22  # bytes of one row
LF, CR = 10, 13
SWAP = bytes.maketrans(b"\r\n", b"\n\r")
UTF_8 = ("utf-8", "ascii")

NO_LETTER = "deniable.no-letter"  # an error handler: what is not a letter becomes a lone surrogate, which is not a text
codecs.register_error(NO_LETTER, lambda error: ("\udcff", error.end))  # type: ignore[attr-defined]

Report = Callable[[int, str, str], None]  # line, column or "", what was wrong


@dataclass(frozen=True)
class Block:
    """Rows as CSV in UTF-8 with the declared delimiter and quote, all with all fields.

    `lines` holds the line of the file on which each row begins, counted from 1.
    """

    data: bytes
    lines: NDArray[np.int64]
    multiline: bool


def decoded(file: IO[bytes], csv: Csv) -> Iterator[bytes]:
    """Return the file in UTF-8, with line feeds as line ends.

    A character that cannot be decoded becomes invalid UTF-8.
    """
    name = codecs.lookup(csv.encoding).name
    decoder = None if name in UTF_8 else codecs.getincrementaldecoder(name)(NO_LETTER)
    first = True
    while True:
        raw = file.read(BLOCK_BYTES)
        data = raw if decoder is None else decoder.decode(raw, final=not raw).encode("utf-8", "surrogatepass")
        if first:
            data = data.removeprefix(codecs.BOM_UTF8)
            first = False
        if csv.line_end == "\r":
            data = data.translate(SWAP)
        if data:
            yield data
        if not raw:
            return


def header(file: IO[bytes], csv: Csv) -> tuple[str, ...]:
    """Return the names of the columns, from the declaration or the first line.

    Raises: SourceError if they are no distinct names.
    """
    names: tuple[str, ...] = csv.names or ()
    if csv.names is None:
        start = b""
        for data in decoded(file, csv):
            start += data
            if b"\n" in data or len(start) > LONGEST:
                break
        if b"\n" not in start and len(start) > LONGEST:
            raise SourceError("the first line is too long for names of columns. Declare line_end, or names.")
        line = start.split(b"\n", 1)[0].rstrip(b"\r")
        try:
            names = tuple(field.decode() for field in _Fields(csv).of_line(line) or ())
        except UnicodeDecodeError:
            raise SourceError(
                f"the first line is not text in {csv.encoding}. Declare the encoding of the file (`deniable init` "
                "proposes one)."
            ) from None
        finally:
            file.seek(0)
    if not names or not all(names) or len({name.casefold() for name in names}) < len(names):
        raise SourceError("the first line must name every column, each name once in any case (or declare names).")
    return names


class CsvRows:
    """Cuts one file into rows."""

    def __init__(self, csv: Csv, names: tuple[str, ...], report: Report) -> None:
        self._csv = csv
        self._names = names
        self._report = report
        self._delimiter = ord(csv.delimiter)
        self._quote = csv.quote.encode()
        self._fields = _Fields(csv)
        self._line = 1  # on which the next row begins
        self._skipping = False  # the rest of a line that is too long
        self.most_lines = 1  # of a row

    def blocks(self, chunks: Iterator[bytes]) -> Iterator[Block]:
        """Return all rows, in their order."""
        pending = b""
        if self._csv.names is None:
            pending = next(chunks, b"")
            while b"\n" not in pending:
                more = next(chunks, None)
                if more is None:
                    return
                pending += more
            pending = pending.split(b"\n", 1)[1]
            self._line = 2
        for chunk in chunks:
            block, pending = self._cut(pending + chunk, final=False)
            yield block
        if pending:
            block, pending = self._cut(pending if pending.endswith(b"\n") else pending + b"\n", final=True)
            yield block

    def _cut(self, data: bytes, *, final: bool) -> tuple[Block, bytes]:
        """Return the rows that end in `data`, and the rest."""
        parts: list[bytes] = []
        lines: list[NDArray[np.int64]] = []
        multiline = False
        position = 0
        size = len(data)
        if self._skipping:
            position = data.find(b"\n") + 1 or len(data)
            self._skipping = not position or data[position - 1] != LF
            self._line += not self._skipping
        while position < len(data):
            stop = min(position + size, len(data))
            if stop < len(data):
                stop = data.rfind(b"\n", position, stop) + 1 or len(data)
            whole = self._whole(data[position:stop], last=size <= PIECE)
            if whole is None and size > PIECE:
                size = PIECE
                continue
            if whole is not None:
                used, more_parts, numbers, over = whole
            else:
                used, more_parts, numbers, over = self._one_by_one(data, position, stop, final)
            parts += more_parts
            lines.append(numbers)
            multiline |= over
            position += used
            if used == 0:
                if stop == len(data):
                    break
                size *= 2
        numbers = np.concatenate(lines) if lines else np.empty(0, dtype=np.int64)
        return Block(b"".join(parts), numbers, multiline), data[position:]

    def _whole(self, data: bytes, *, last: bool) -> tuple[int, list[bytes], NDArray[np.int64], bool] | None:
        """Return all rows of `data` at once, or None if it has to be taken apart.

        For `last` that is so only where quotes are broken.
        """
        letters = np.frombuffer(data, dtype=np.uint8)
        ends = np.flatnonzero(letters == LF)
        if not len(ends):
            return None if last or len(data) > LONGEST else (0, [], np.empty(0, dtype=np.int64), False)
        parity = None
        rows = np.arange(len(ends))  # the indices in `ends` of the ends of rows
        if self._quote and self._quote in data:
            is_quote = letters == self._quote[0]
            parity = np.cumsum(is_quote, dtype=np.uint8) & 1  # 1 from an opening quote to before the closing one
            rows = np.flatnonzero(parity[ends] == 0)
            if not len(rows) or np.diff(rows, prepend=-1).max() > self._csv.row_lines:
                return None
            if len(ends) - 1 - rows[-1] >= self._csv.row_lines:
                return None
            if not self._well_quoted(letters, np.flatnonzero(is_quote[: ends[rows[-1]]])):
                return None
        stops = ends[rows]
        used = int(stops[-1]) + 1
        data, letters = data[:used], letters[:used]
        starts = np.concatenate([[0], stops[:-1] + 1])
        separators = letters == self._delimiter
        carriages = np.flatnonzero(letters == CR) if b"\r" in data else np.empty(0, dtype=np.int64)
        carriages = carriages[letters[carriages + 1] != LF]
        if parity is not None:
            separators &= parity[:used] == 0
            carriages = carriages[parity[carriages] == 0]
        odd = self._miscounted(separators, stops)
        if len(self._names) == 1:
            odd |= stops - starts <= 1
        odd[np.searchsorted(stops, carriages)] = True
        if not data.isascii() and not _is_text(data):
            if not last:
                return None
            odd |= [not _is_text(data[start:stop]) for start, stop in zip(starts, stops, strict=True)]
        numbers = self._line + np.concatenate([[0], rows[:-1] + 1]).astype(np.int64)
        self._line += int(rows[-1]) + 1
        lengths = np.diff(rows, prepend=-1)
        longest = int(lengths.max())
        self.most_lines = max(self.most_lines, int(lengths[~odd].max(initial=1)))
        if not odd.any():
            return used, [data], numbers, longest > 1
        parts = []
        kept = np.ones(len(rows), dtype=bool)
        position = 0
        for index in np.flatnonzero(odd).tolist():
            start, stop = int(starts[index]), int(stops[index])
            parts.append(data[position:start])
            row = self._row(self._fields.of_line(data[start:stop].rstrip(b"\r")), int(numbers[index]))
            kept[index] = row is not None
            parts.append(row or b"")
            position = stop + 1
        parts.append(data[position:])
        return used, parts, numbers[kept], True

    def _miscounted(self, separators: NDArray[np.bool_], stops: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which rows have more or fewer fields than there are columns."""
        width = len(self._names)
        separators[stops] = True
        ends = np.flatnonzero(separators)  # of fields
        if len(ends) == width * len(stops) and (ends[width - 1 :: width] == stops).all():
            return np.zeros(len(stops), dtype=bool)
        return np.asarray(np.diff(np.searchsorted(ends, stops), prepend=-1) != width)

    def _well_quoted(self, letters: NDArray[np.uint8], quotes: NDArray[np.int64]) -> bool:
        """Whether every quote opens or closes a field or is one of a pair inside.

        Outside of fields parity is even.
        """
        quote = self._quote[0]
        delimiter = self._delimiter
        opening, closing = quotes[0::2], quotes[1::2]
        before = letters[opening - 1]  # of the first letter of all: that is the end of a row, the last letter
        before = np.where(opening == 0, LF, before)
        after = letters[closing + 1]
        if not ((before == delimiter) | (before == LF) | (before == quote)).all():
            return False
        ended = closing[after == CR]
        if len(ended) and not (letters[ended + 2] == LF).all():
            return False
        return bool(((after == delimiter) | (after == LF) | (after == quote) | (after == CR)).all())

    def _one_by_one(
        self, data: bytes, position: int, stop: int, final: bool
    ) -> tuple[int, list[bytes], NDArray[np.int64], bool]:
        """Return the rows that begin before `stop`, each read alone."""
        begin = position
        parts = []
        numbers = []
        while position < stop:
            end = data.find(b"\n", position)
            if end < 0 and len(data) - position <= LONGEST:
                break
            if end < 0:
                self._report(self._line, "", "a line that is too long; it was not read")
                self._skipping = True
                position = len(data)
                break
            fields, after = self._fields.of_row(data, position, end)
            within_row_lines = data.count(b"\n", position, position + LONGEST) < self._csv.row_lines
            if after is None and not final and within_row_lines and len(data) - position <= LONGEST:
                break
            if fields is None or after is None:
                self._report(self._line, "", "a quoted field that does not end as it should; the line was not read")
                after = end + 1
            else:
                row = self._row(fields, self._line)
                if row is not None:
                    parts.append(row)
                    numbers.append(self._line)
                    if len(fields) == len(self._names):
                        self.most_lines = max(self.most_lines, data.count(b"\n", position, after))
            self._line += data.count(b"\n", position, after)
            position = after
        return position - begin, parts, np.array(numbers, dtype=np.int64), True

    def _row(self, fields: list[bytes] | None, line: int) -> bytes | None:
        """Return the row as a reader cannot misread it; None if there is none.

        What is lost is reported.
        """
        if fields is None:
            self._report(line, "", "a quoted field that does not end as it should; the line was not read")
            return None
        if not fields:
            return None  # an empty line is not a row
        wanted = len(self._names)
        if len(fields) > wanted:
            if any(fields[wanted:]):
                self._report(line, "", "more fields than columns; the line was not read")
                return None
            fields = fields[:wanted]
        if len(fields) < wanted:
            self._report(line, "", "fewer fields than columns; the rest is missing")
            fields = fields + [b""] * (wanted - len(fields))
        for index, value in enumerate(fields):
            if not _is_text(value):
                self._report(line, self._names[index], f"no text in {self._csv.encoding}")
                fields[index] = b""
        return self._fields.written(fields)


class _Fields:
    """Reads and writes the fields of one row."""

    def __init__(self, csv: Csv) -> None:
        quote, delimiter = (re.escape(letter.encode()) for letter in (csv.quote, csv.delimiter))
        self._quote, self._delimiter = csv.quote.encode(), csv.delimiter.encode()
        self._row_lines = csv.row_lines
        self._quoted = re.compile(b"%b([^%b]*+(?:%b%b[^%b]*+)*+)%b" % ((quote,) * 6)) if csv.quote else None
        self._plain = re.compile(b"[^%b\n]*" % delimiter)

    def of_line(self, line: bytes) -> list[bytes] | None:
        """Return the fields of a row that is all of `line`; None if its quotes are broken."""
        fields, after = self.of_row(line + b"\n", 0, len(line))
        return fields if after == len(line) + 1 else None

    def of_row(self, data: bytes, position: int, end: int) -> tuple[list[bytes] | None, int | None]:
        """Return the fields of the row at `position`, and where the next one begins.

        An empty line has no fields.

        Args:
            end: of the first line.
        """
        if not self._quote or self._quote not in data[position:end]:
            line = data[position:end].rstrip(b"\r")
            return line.split(self._delimiter) if line else [], end + 1
        limit = end
        for _ in range(1, self._row_lines):
            limit = data.find(b"\n", limit + 1)
            if limit < 0:
                limit = len(data)
                break
        limit = min(limit, position + LONGEST)
        fields = []
        while True:
            if self._quoted is not None and data.startswith(self._quote, position):
                match = self._quoted.match(data, position, limit)
                if match is None:
                    return None, None
                fields.append(match[1].replace(self._quote * 2, self._quote))
                position = match.end()
                letter = data[position : position + 1]
                if letter == b"\r":
                    rest = self._plain.match(data, position)
                    ended = rest is not None and not rest[0].strip(b"\r") and data[rest.end() : rest.end() + 1] == b"\n"
                    return (fields, rest.end() + 1) if ended and rest is not None else (None, None)
            else:
                match = self._plain.match(data, position)
                assert match is not None
                position = match.end()
                letter = data[position : position + 1]
                fields.append(match[0].rstrip(b"\r") if letter == b"\n" else match[0])
            if letter == b"\n":
                return fields, position + 1
            if letter != self._delimiter:
                return None, None
            position += 1

    def written(self, fields: list[bytes]) -> bytes:
        """Return the row as CSV, its end included."""
        quote = self._quote
        if not quote:
            return self._delimiter.join(value.replace(b"\r", b" ") for value in fields) + b"\n"
        return self._delimiter.join(quote + value.replace(quote, quote * 2) + quote for value in fields) + b"\n"


def _is_text(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True

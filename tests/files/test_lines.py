"""An import gives back exactly the table that was written, whatever the dialect; a broken line costs itself alone."""

import csv
import io
import random
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.files import lines
from deniable.files.declaration import Csv, CsvColumn
from deniable.files.write import text_columns
from tests.files.conftest import PLAIN, Row, imported

KINDS = ("text", "integer", "real", "boolean", "date", "timestamp")
DAYS = ("%d/%m/%Y", "%m-%d-%Y", "%Y.%m.%d", "%d %b %Y", None)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Csv, list[Row], bytes]:
    """A declaration, a table, and how Python writes the one as the other."""
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"]))
    delimiter = draw(st.sampled_from(",;\t|"))
    decimal, thousands = draw(st.sampled_from([(".", ""), (".", ","), (",", "."), (",", ""), (",", " "), (".", "'")]))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    formats = [draw(st.sampled_from(DAYS)) for _ in kinds]
    sign = draw(st.sampled_from([None, "%", "CHF"]))
    few = {"latin-1": 255, "cp1252": 126}.get(encoding, 0x2FFF)
    letters = st.characters(min_codepoint=1, max_codepoint=few, exclude_categories=["Cs"])
    value = {
        "text": st.text(letters | st.sampled_from('"\n,;x '), min_size=1, max_size=6),
        "integer": st.integers(-(2**63), 2**63 - 1),
        "real": st.integers(-(10**7), 10**7).map(lambda number: number / 100),
        "boolean": st.booleans(),
        "date": st.dates(min_value=date(1000, 1, 1)),
        "timestamp": st.datetimes(min_value=datetime(1000, 1, 1)).map(lambda moment: moment.replace(microsecond=0)),
    }
    rows = draw(st.lists(st.tuples(*(st.none() | value[kind] for kind in kinds)), min_size=1, max_size=12))
    # A lone carriage return before a line break cannot be told from a line end, and spaces only are no empty line.
    rows = [tuple(v.replace("\r", "") or None if isinstance(v, str) else v for v in row) for row in rows]
    columns = {}
    for place, (kind, day) in enumerate(zip(kinds, formats, strict=True)):
        moment = {"date": day, "timestamp": None if day is None else f"{day} %H:%M:%S"}
        columns[f"c{place}"] = CsvColumn(
            type=kind, format=moment.get(kind), sign=sign if kind in ("integer", "real") else None
        )

    def said(value: Any, column: CsvColumn) -> str:
        if value is None:
            return draw(st.sampled_from(["", "NA"])) if column.type != "text" else ""
        if isinstance(value, bool):
            return draw(st.sampled_from(["oui", "TRUE"] if value else ["non", "f"]))
        if isinstance(value, int | float):
            shown = f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
            shown = shown.translate({ord(","): thousands, ord("."): decimal})
            return shown + (f" {column.sign}" if column.sign else "")
        if isinstance(value, datetime | date):
            return value.isoformat() if column.format is None else f"{value:{column.format}}"
        return str(value)

    written = io.StringIO()
    writer = csv.writer(
        written,
        delimiter=delimiter,
        quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        lineterminator=draw(st.sampled_from(["\n", "\r\n"])),
    )
    writer.writerow(columns)
    for row in rows:
        writer.writerow([said(value, columns[f"c{place}"]) for place, value in enumerate(row)])
    null, yes, no = ["NA"], ["oui", "true"], ["non", "f"]
    form = Csv(
        encoding=encoding.removesuffix("-sig"),
        delimiter=delimiter,
        decimal=decimal,
        thousands=thousands,
        row_lines=20,
        null=tuple(null),
        true=tuple(yes),
        false=tuple(no),
        columns=columns,
    )
    text = written.getvalue()
    rows = [tuple(None if v == "NA" else v for v in row) for row in rows]
    return form, rows, text.encode(encoding)


@pytest.mark.parametrize("sizes", [(2**24, 2**17), (64, 16)], ids=["whole", "in small blocks"])
@given(case=tables())
@settings(max_examples=20)
def test_what_was_written_in_any_dialect_is_read_back(
    sizes: tuple[int, int], case: tuple[Csv, list[Row], bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    form, rows, content = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", sizes[0])
        patch.setattr(lines, "PIECE", sizes[1])
        found, report = imported(tmp_path_factory.mktemp("import") / "t.csv", content, form)
    assert found == rows
    assert report == []


BROKEN: Sequence[tuple[bytes, Row | None]] = [  # a line, and the row that comes of it
    (b'9999,"oops', None),
    (b'"', None),
    (b'"1",2"', (1, None)),
    (b'"1"x,2', None),
    (b'1,"2', None),
    (b"1,2,3", None),
    (b"1,2,,", (1, 2.0)),
    (b"1", (1, None)),
    (b"1,\xff", (1, None)),
    (b"1,two", (1, None)),
    (b"1.5,2", (None, 2.0)),
    (b"1_0,2", (None, 2.0)),
    (b"1\r1,2", (None, 2.0)),
    (b"99999999999999999999,2", (None, 2.0)),
    (b"1,\x00", (1, None)),
    (b"1,0x1F", (1, None)),
    (b'1,5"', (1, None)),
]


@pytest.mark.parametrize("row_lines", [1, 5])
@pytest.mark.parametrize("place", [0, 100])
@pytest.mark.parametrize("quoted", [False, True])
def test_a_broken_line_costs_itself_alone_and_is_named(
    tmp_path: Path, row_lines: int, place: int, quoted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "PIECE", 2**8)
    form = Csv(row_lines=row_lines, columns=PLAIN.columns)
    whole = [b'"%d","%d"' % (n, n) if quoted else b"%d,%d" % (n, n) for n in range(200)]
    rows: list[Row] = [(n, float(n)) for n in range(200)]
    for line, row in BROKEN:
        broken = [*whole[:place], line, *whole[place:]]
        found, report = imported(tmp_path / "t.csv", b"id,x\n" + b"\n".join(broken) + b"\n", form)
        assert found == [*rows[:place], *([] if row is None else [row]), *rows[place:]], line
        assert [number for number, _ in report] == ([] if line == b"1,2,," else [place + 2]), line


def fields_by_line(content: bytes) -> list[tuple[object, ...]]:
    """The line of every row, and its fields as text."""
    form, names, found = Csv(), ("a", "b", "c"), []
    rows = lines.CsvRows(form, names, lambda *_: None)
    for block in rows.blocks(lines.decoded(io.BytesIO(content), form)):
        if block.data:
            columns = text_columns(block, list(names), form).columns
            found += list(zip(block.lines.tolist(), *(column.to_pylist() for column in columns), strict=True))
    return found


def test_whatever_stands_in_one_line_no_other_is_read_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", 200)
    monkeypatch.setattr(lines, "PIECE", 50)
    draw = random.Random(20261122)
    body = [b"%d,%d,x" % (n, n) if n % 3 else b'"%d","q""%d",x' % (n, n) for n in range(30)]
    whole = fields_by_line(b"a,b,c\n" + b"\n".join(body) + b"\n")
    assert len(whole) == 30
    for _ in range(300):
        place = draw.randrange(31)
        junk = b"".join(draw.choices([b'"', b",", b"a", b"\r", b"\0", b"\xff", b'""', b" ", b"1"], k=draw.randrange(9)))
        found = fields_by_line(
            b"a,b,c\n" + b"\n".join([*body[:place], junk, *body[place:]]) + draw.choice([b"\n", b""])
        )
        others = [(line - (line > place + 2), *rest) for line, *rest in found if line != place + 2]
        assert others == whole, (place, junk)


@pytest.mark.parametrize("block", [7, 30, 64, 1 << 20])
def test_every_row_knows_its_line_whatever_stands_before_it(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields over several lines, empty lines and losses in all blocks, against lines that are counted by hand."""
    monkeypatch.setattr(lines, "BLOCK_BYTES", block)
    monkeypatch.setattr(lines, "PIECE", 40)
    rows = ['1,"a\nb\n"', "2,x", "", '3,"c\n\nd"', "4,y,z", "5,", "9,w,,z", "5,,,", '6,"e"', '"7\n",f\r', "8"] * 3
    starts = [2 + sum(row.count("\n") + 1 for row in rows[:place]) for place in range(len(rows))]
    lost: list[tuple[int, str]] = []
    form = Csv(row_lines=4)
    reader = lines.CsvRows(form, ("n", "t"), lambda line, _, reason: lost.append((line, reason.split()[0])))
    data = io.BytesIO(("n,t\n" + "\n".join(rows) + "\n").encode())
    found = [line for each in reader.blocks(lines.decoded(data, form)) for line in each.lines.tolist()]
    kept = [row not in ("", "4,y,z", "9,w,,z") for row in rows]
    assert found == [start for start, is_kept in zip(starts, kept, strict=True) if is_kept]
    said = {"4,y,z": "more", "9,w,,z": "more", "8": "fewer"}
    assert sorted(lost) == sorted((start, said[row]) for start, row in zip(starts, rows, strict=True) if row in said)
    assert reader.most_lines == 3


def test_what_a_broken_quote_can_swallow_is_bounded_by_row_lines(tmp_path: Path) -> None:
    form = Csv(row_lines=5, columns=PLAIN.columns)
    body = [b"%d,%d" % (n, n) for n in range(100)]
    found, report = imported(tmp_path / "t.csv", b"id,x\n" + b"\n".join([*body[:50], b'7,"7', *body[50:]]), form)
    assert (len(found), report) == (100, [(52, "")])
    closed = [*body[:50], b'7,"7', *body[50:53], b'8"', *body[53:]]  # the worst case: it ends just in time
    found, report = imported(tmp_path / "t.csv", b"id,x\n" + b"\n".join(closed), form)
    assert (len(found), report) == (98, [(52, "x")])


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_a_field_over_one_line_more_than_declared_is_no_field(tmp_path: Path, most: int) -> None:
    form = Csv(row_lines=most, columns=PLAIN.columns)
    for over in (most, most + 1):
        field = '"' + "\n" * (over - 1) + '5"'  # begins the last of `over` lines
        found, report = imported(tmp_path / "t.csv", f"id,x\n1,1\n2,{field}\n3,3\n".encode(), form)
        assert ((2, 5.0) in found, bool(report)) == ((True, False) if over == most else (False, True)), over
        assert {(1, 1.0), (3, 3.0)} <= set(found)


def test_the_bytes_of_a_foreign_encoding_cost_their_fields_alone(tmp_path: Path) -> None:
    content = "id,x\n" + "".join(f"{n},{'é' if n % 2 else 'e'}\n" for n in range(1000))
    form = Csv(columns={"id": CsvColumn(type="integer")})
    found, report = imported(tmp_path / "t.csv", content.encode("latin-1"), form)
    assert found == [(n, None if n % 2 else "e") for n in range(1000)]
    assert report == [(n + 2, "x") for n in range(1, 1000, 2)]


def test_lines_may_end_in_carriage_returns_and_names_may_be_declared(tmp_path: Path) -> None:
    form = Csv(line_end="\r", names=("a", "b"), quote="'")
    assert imported(tmp_path / "t.csv", b"1,'x,y'\r2,z\r", form)[0] == [("1", "x,y"), ("2", "z")]


def test_a_line_that_never_ends_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(lines, "PIECE", 100)
    monkeypatch.setattr(lines, "LONGEST", 5000)
    content = b"id,x\n1,1\n" + b"9," * 20_000 + b"\n2,2\n"
    assert imported(tmp_path / "t.csv", content, PLAIN) == ([(1, 1.0), (2, 2.0)], [(3, "")])

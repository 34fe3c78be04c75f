"""A proposal reads the file that it was made from, and holds no word of its rows."""

from datetime import date, datetime
from pathlib import Path

import pytest

from deniable.errors import SourceError
from deniable.files.declaration import Csv
from deniable.files.guess import guess_csv, propose
from tests.files.conftest import Row, imported

FILES: dict[str, tuple[str, bytes, dict[str, object], dict[str, str], Row]] = {
    # name: text, encoding, what is proposed, types, first row
    "plain": ("id,x\n1,2.5\n3,4\n", b"utf-8", {}, {"id": "integer", "x": "real"}, (1, 2.5)),
    "european": (
        "name;cost;day;ok\n" + "".join(f"Zoë;1.{n:03},50 €;{1 + n % 28:02}/03/2025;ja\n" for n in range(99)),
        b"cp1252",
        {"encoding": "cp1252", "delimiter": ";", "decimal": ",", "thousands": "."},
        {"name": "text", "cost": "real", "day": "date", "ok": "boolean"},
        ("Zoë", 1000.5, date(2025, 3, 1), True),
    ),
    "american": (
        'zip,price,day,seen\n01234,"$1,234.50",12/31/2025,12/31/2025 23:59\n02345,$5,01/02/2025,01/02/2025 00:00\n',
        b"utf-16",
        {"encoding": "utf-16", "thousands": ","},
        {"zip": "text", "price": "real", "day": "date", "seen": "timestamp"},
        ("01234", 1234.5, date(2025, 12, 31), datetime(2025, 12, 31, 23, 59)),
    ),
    "quoted lines": (
        'a|b\n1|"x\ny"\nNA|"z|1"\n',
        b"utf-8",
        {"delimiter": "|", "row_lines": 10, "null": ("NA",)},
        {"a": "integer", "b": "text"},
        (1, "x\ny"),
    ),
    "no names": (
        "1\t2025-01-31\t2025-01-31T10:00:00Z\r2\t2025-02-01\t2025-02-01T00:00:00Z\r",
        b"utf-8",
        {"delimiter": "\t", "line_end": "\r", "names": ("column1", "column2", "column3")},
        {"column1": "integer", "column2": "date", "column3": "timestamp"},
        (1, date(2025, 1, 31), datetime(2025, 1, 31, 10)),
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_proposal_reads_its_file_whole(tmp_path: Path, name: str) -> None:
    text, encoding, said, types, row = FILES[name]
    content = text.encode(encoding.decode())
    (tmp_path / "t.csv").write_bytes(content)
    csv = guess_csv(tmp_path / "t.csv")
    assert {field: getattr(csv, field) for field in said} == said
    assert {column: form.type for column, form in csv.columns.items()} == types
    rows, report = imported(tmp_path / "t.csv", content, csv)
    assert (rows[0], report) == (row, [])


def test_what_cannot_be_known_is_said(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"day,x,empty\n" + b"01/02/2025,1,\n" * 400 + b"x\n" + b"\xe9,?,\n")
    found = propose(path)
    assert "could also be %m/%d/%Y" in found.about["day"]
    assert found.about["empty"] == "no value was seen"
    assert any("cannot be read as 3 fields" in note for note in found.notes)
    assert any("not in UTF-8" in note for note in found.notes)
    assert found.csv.null == ("?",)


@pytest.mark.parametrize(
    "content", [b"a,b\n", b"a,b", b'a,b\n"1,2\n', b"a,b\n1,2,3,4\n", b"a,b\n\x00\xff,2\n", b"a,b\n\n\n"]
)
def test_whatever_the_rows_are_every_column_has_a_type(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    assert set(guess_csv(tmp_path / "t.csv").columns) == {"a", "b"}


def test_a_file_without_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n1,2\n")
    with pytest.raises(SourceError, match="name every column"):
        guess_csv(tmp_path / "t.csv")
    with pytest.raises(SourceError, match="cannot be read"):
        guess_csv(tmp_path / "lost.csv")


def test_a_stray_quote_does_not_make_rows_long(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b,c\n" + b"1,2,3\n" * 50 + b'1,"2\n' + b"1,2,3\n" * 50 + b'1"\n')
    assert guess_csv(tmp_path / "t.csv").row_lines == 1


def test_the_fingerprint_of_a_guess_is_that_of_the_same_words(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\nx\n")
    csv = guess_csv(tmp_path / "t.csv")
    assert csv.fingerprint == Csv(columns=csv.columns).fingerprint

"""A line of a CSV file is a row, whatever it holds, and changes nothing about other lines."""

from pathlib import Path

import duckdb
import pytest

from deniable.errors import SourceError
from deniable.query.backends.duckdb_csv import csv_source, header_of_csv


def rows(path: Path, content: bytes) -> list[tuple[object, ...]]:
    path.write_bytes(content)
    with duckdb.connect(config={"threads": 1}) as connection:
        return connection.execute(f"SELECT * FROM {csv_source(path)}").fetchall()


def test_fields_may_be_quoted_empty_missing_or_too_many(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbfid;name;x\r\n1;"a;""b""";2\r\n2;oops "x;3\n;"";\n4\n5;a;b;c;d\n"6";"y"z;7'
    assert rows(tmp_path / "a.csv", content) == [
        ("1", 'a;"b"', "2"),
        ("2", 'oops "x', "3"),
        (None, None, None),
        ("4", None, None),
        ("5", "a", "b"),
        ("6", "y", "7"),
    ]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_every_separator_is_taken_literally(tmp_path: Path, separator: str) -> None:
    content = separator.join("ab").encode() + b"\n" + separator.join(['"x.y"', "|;,"]).encode() + b"\n"
    found = rows(tmp_path / "a.csv", content)
    assert found[0][0] == "x.y"


@pytest.mark.parametrize("line", [b'9999,"oops,5', b'"', b'a"b,"', b"\xff\xfe,1", b"\x00,1", b'""",1', b"\x01,2"])
@pytest.mark.parametrize("place", [1, 500, 1000])
def test_a_broken_line_costs_no_other_line(tmp_path: Path, line: bytes, place: int) -> None:
    lines = [b"%d,%d" % (number, number) for number in range(1000)]
    whole = rows(tmp_path / "a.csv", b"id,x\n" + b"\n".join(lines) + b"\n")
    lines.insert(place, line)
    with_broken = rows(tmp_path / "b.csv", b"id,x\n" + b"\n".join(lines) + b"\n")
    assert len(whole) == 1000
    assert set(whole) <= set(with_broken)
    assert len(with_broken) <= 1001


@pytest.mark.parametrize("content", [b"", b"a,a\n1,2\n", b"a,A\n1,2\n", b"a,,b\n", b"a,b\r1,2\r", b"\xff\xfe\n"])
def test_a_header_that_names_no_columns_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(SourceError):
        header_of_csv(path)

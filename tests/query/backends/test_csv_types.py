"""Guesses follow the first rows; a file that defies guessing is text."""

from pathlib import Path

import pytest

from deniable.errors import SourceError
from deniable.query.backends.csv_types import guess_kinds
from deniable.query.expression import Kind


def test_kinds_follow_the_values(tmp_path: Path) -> None:
    path = tmp_path / "a'b.csv"
    path.write_text('id,cost,day,ok,seen,"the note"\n1,2.5,2025-01-31,true,2025-01-31 10:00:00,x\n2,,,,,"y, z"\n')
    assert guess_kinds(path) == {
        "id": Kind.INTEGER,
        "cost": Kind.REAL,
        "day": Kind.DATE,
        "ok": Kind.BOOLEAN,
        "seen": Kind.TIMESTAMP,
        "the note": Kind.TEXT,
    }


def test_one_word_among_numbers_makes_text(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("a\tb\n1\t2\nx\t3\n")
    assert guess_kinds(path) == {"a": Kind.TEXT, "b": Kind.INTEGER}


@pytest.mark.parametrize("content", ["a,b\n", "a,b", 'a,b\n"1,2\n', "a,b\n1,2,3,4\n", "a,b\n\x00\xff,2\n"])
def test_whatever_the_rows_are_every_column_has_a_kind(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content.encode("latin-1"))
    assert set(guess_kinds(path)) == {"a", "b"}


def test_a_file_without_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n1,2\n")
    with pytest.raises(SourceError, match="name every column"):
        guess_kinds(tmp_path / "t.csv")

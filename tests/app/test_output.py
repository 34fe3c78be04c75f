"""Files are whole or not there, and the place is tried first."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.app.output import FORMATS, format_of, whole_file
from deniable.errors import InvalidParameterError


@pytest.fixture(scope="module")
def release() -> dn.Release:
    frame = pa.table({"region": ["north", "<b>south", None] * 50})
    keys = dn.Keys(["north", "<b>south"], null=True)
    db = dn.connect(frame, name="t", unit=dn.each_row(), budget=dn.Budget(epsilon=1), columns={"region": keys})
    return db.sql("SELECT region, COUNT(*) AS n FROM t GROUP BY region", epsilon=1)


@pytest.mark.parametrize("ending", FORMATS)
def test_every_form_holds_the_answer(release: dn.Release, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"answer{ending}"
    with whole_file(path) as write:
        write(format_of(path)(release))
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    match ending:
        case ".csv":
            table = pyarrow.csv.read_csv(path)
            assert table.column_names == ["region", "n", "n_lower", "n_upper"]
            assert table["n"].to_pylist() == release["n"].tolist()
        case ".json":
            assert [row["region"] for row in json.loads(path.read_text())["rows"]] == ["north", "<b>south", None]
        case ".parquet":
            assert pq.read_table(path).equals(release.to_arrow())
        case ".html":
            page = path.read_text(encoding="utf-8")
            assert "&lt;b&gt;south" in page
            assert "<b>south" not in page


def test_a_file_that_is_not_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "answer.csv"
    path.write_text("old")
    with pytest.raises(KeyError), whole_file(path):
        raise KeyError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_place_is_tried_on_entry(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="cannot be written"), whole_file(tmp_path / "no" / "answer.csv"):
        pytest.fail("the body ran")


def test_folders_and_files_of_the_policy_are_not_replaced(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("rows")
    (tmp_path / "link.csv").symlink_to(data)
    for path in (tmp_path, data, tmp_path / "link.csv", tmp_path / "x" / ".." / "data.csv"):
        with pytest.raises(InvalidParameterError, match="would replace"), whole_file(path, never=(data,)):
            pytest.fail("the body ran")
    assert data.read_text() == "rows"


def test_a_write_that_fails_says_that_the_answer_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "answer.csv"
    with whole_file(path) as write:
        path.mkdir()
        with pytest.raises(InvalidParameterError, match="at no cost"):
            write(b"x")


def test_an_ending_without_a_form_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"\.csv, \.json, \.parquet, \.html"):
        format_of(Path("answer.xlsx"))

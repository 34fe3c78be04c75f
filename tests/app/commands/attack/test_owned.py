"""The owner's own file: a condition on a row, and nothing else."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.app.commands.attack.owned import read_conditions, read_secrets, read_table
from deniable.errors import InvalidParameterError, SourceError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "t.csv"
    place.write_text("name,age\nRumpelstiltskin,8675309\nAda,\nBob,3\nEve,40\n", encoding="utf-8")
    return place


def test_null_is_no_secret_and_formats_agree(file: Path) -> None:
    assert read_secrets(file, "age > 30").tolist() == [True, False, False, True]
    table = pa.table({"name": ["R", "A", "B", "E"], "age": [8675309, None, 3, 40]})
    pq.write_table(table, file.with_suffix(".parquet"))
    assert read_secrets(file.with_suffix(".parquet"), "age > 30").tolist() == [True, False, False, True]


def test_some_people_are_taken_evenly(file: Path) -> None:
    assert read_secrets(file, "age > 30", people=2).tolist() == [True, False]
    assert read_secrets(file, "name = 'Bob'", people=2).tolist() == [False, True]
    assert len(read_secrets(file, "age > 30", people=9)) == 4


@pytest.mark.parametrize(
    "condition",
    ["age", "max(age) > 3", "age > 3, age > 4", "agee > 3", "age > ", "name::INTEGER > 3", "age > 3) FROM people; --",
     "(SELECT count(*) FROM read_csv('other.csv')) > 0", ""],
)  # fmt: skip
def test_what_is_no_condition_is_refused_without_a_value(file: Path, condition: str) -> None:
    (file.parent / "other.csv").write_text("x\n1\n", encoding="utf-8")
    with pytest.raises(InvalidParameterError, match="--secret") as caught:
        read_secrets(file, condition)
    assert "Rumpelstiltskin" not in str(caught.value)
    assert "name" in str(caught.value)


def test_what_is_no_table_is_refused(file: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_text("x", encoding="utf-8")
    (tmp_path / "one.csv").write_text("x\n1\n", encoding="utf-8")
    for name in ("missing.csv", "t.txt", "broken.parquet"):
        with pytest.raises(SourceError, match=name):
            read_secrets(tmp_path / name, "TRUE")
    with pytest.raises(InvalidParameterError, match="two people"):
        read_secrets(tmp_path / "one.csv", "x > 0")


def test_many_conditions_are_read_as_a_matrix(file: Path) -> None:
    found = read_conditions(file, ["age > 30", "name LIKE 'B%'", "TRUE", "age IS NULL"])
    assert found.tolist() == [
        [True, False, False, True], [False, False, True, False], [True] * 4, [False, True, False, False]
    ]  # fmt: skip
    for wrong in ("agee > 3", "name::INTEGER > 3", "max(age) > 3", "name", "true, true"):
        with pytest.raises(InvalidParameterError, match="The columns are name, age") as caught:
            read_conditions(file, ["TRUE", wrong])
        assert "Rumpelstiltskin" not in str(caught.value)


def test_a_whole_table_is_read(file: Path) -> None:
    assert read_table(file).to_pydict() == {
        "name": ["Rumpelstiltskin", "Ada", "Bob", "Eve"], "age": [8675309, None, 3, 40]
    }  # fmt: skip

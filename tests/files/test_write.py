"""The import is whole or not there, for its owner alone, and holds nothing but the rows."""

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from deniable.errors import SourceError
from deniable.files import write
from deniable.files.write import import_csv
from tests.files.conftest import PLAIN, imported


def test_the_files_are_the_owners_alone_and_nothing_half_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "t.csv"
    imported(source, b"id,x\n1,1\n", PLAIN)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["t.csv", "t.csv.parquet", "t.csv.report.csv"]
    if os.name == "posix":
        assert [file.stat().st_mode & 0o777 for file in files[1:]] == [0o600, 0o600]
    before = [file.read_bytes() for file in files]

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(write, "text_columns", stop)
    with pytest.raises(KeyboardInterrupt):
        import_csv(source, PLAIN)
    assert sorted(tmp_path.iterdir()) == files
    assert [file.read_bytes() for file in files] == before


def test_a_file_of_the_owners_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,x\n")
    (tmp_path / "t.csv.parquet").write_bytes(b"mine")
    with pytest.raises(SourceError, match="not an import of ours"):
        import_csv(tmp_path / "t.csv", PLAIN)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "name every column"), (b"a,a\n", "name every column"), (b"\xff,x\n1,2\n", "encoding"), (b"a,b\n", "'id'")],
)
def test_a_header_that_does_not_fit_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(SourceError, match=words):
        import_csv(tmp_path / "t.csv", PLAIN)
    assert [file.name for file in tmp_path.iterdir()] == ["t.csv"]


def test_a_file_that_changes_while_it_is_read_is_not_imported(tmp_path: Path) -> None:
    """Also where it keeps its size."""
    source = tmp_path / "t.csv"
    for content in (b"id,x\n1,2\n", b"id,x\n1,1\n2,2\n"):
        source.write_bytes(b"id,x\n1,1\n")

        def change(share: float, content: bytes = content) -> None:
            source.write_bytes(content)
            os.utime(source, ns=(0, 10**18))

        with pytest.raises(SourceError, match="changed while"):
            import_csv(source, PLAIN, progress=change)
        assert [file.name for file in tmp_path.iterdir()] == ["t.csv"]


def test_every_loss_counts_and_has_its_line(tmp_path: Path) -> None:
    found, report = imported(tmp_path / "t.csv", b"id,x\n1,a\nb,c\n3,d\n4,4\n", PLAIN)
    assert found == [(1, None), (None, None), (3, None), (4, 4.0)]
    assert sorted(report) == [(2, "x"), (3, "id"), (3, "x"), (4, "x")]
    done = import_csv(tmp_path / "t.csv", PLAIN)
    assert {column: count for (column, _), count in done.losses.items()} == {"id": 1, "x": 3}
    assert "3 x x: cannot be read as real" in str(done)


def test_statistics_of_the_rows_are_not_in_the_import(tmp_path: Path) -> None:
    imported(tmp_path / "t.csv", b"id,x\n1,1\n7,7\n", PLAIN)
    group = pq.read_metadata(tmp_path / "t.csv.parquet").row_group(0)
    assert not any(group.column(place).is_stats_set for place in range(group.num_columns))


def test_an_import_tells_the_share_of_the_file_that_it_has_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable.files.lines.BLOCK_BYTES", 1000)
    source = tmp_path / "t.csv"
    source.write_bytes(b"id,x\n" + b"1,1\n" * 1000)
    shares: list[float] = []
    import_csv(source, PLAIN, progress=shares.append)
    assert shares == sorted(shares)
    assert len(shares) > 3
    assert (shares[0] < 0.6, shares[-1]) == (True, 1.0)

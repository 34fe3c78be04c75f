"""A question finds the import that its declaration and file ask for, or says how to make it."""

import os
from pathlib import Path

import pytest

import deniable as dn
from deniable.errors import SourceError
from deniable.files.declaration import Csv
from deniable.files.imported import find_import
from deniable.files.write import import_csv


def test_an_import_is_used_while_file_and_declaration_are_the_same(tmp_path: Path) -> None:
    source = tmp_path / "t.csv"
    with pytest.raises(SourceError, match="no file"):
        find_import(source)
    source.write_text("a\nx\n")
    with pytest.raises(SourceError, match=r"imports once.*deniable import POLICY.*dn\.import_csv"):
        find_import(source)
    place = import_csv(source, Csv()).path
    assert find_import(source) == find_import(source, Csv()) == place
    with pytest.raises(SourceError, match="another declaration"):
        find_import(source, Csv(null=("NA",)))
    for content, moved in (("a\ny\n", 1), ("a\nx\nz\n", 0)):
        source.write_text(content)
        os.utime(source, ns=(0, source.stat().st_mtime_ns + moved))
        with pytest.raises(SourceError, match="was changed"):
            find_import(source)
    place.write_bytes(b"else")
    with pytest.raises(SourceError, match="but is none"):
        find_import(source)


def test_the_ledger_knows_the_source_not_the_import(tmp_path: Path) -> None:
    source = tmp_path / "t.csv"
    source.write_text("a\nx\n")
    place = import_csv(source, Csv()).path
    for opened in (source, place):
        db = dn.connect(opened, name="t", unit=dn.each_row(), budget=dn.Budget(epsilon=1), ledger=tmp_path / "l")
        assert db._engine.source_name == str(source)

"""Folders for what does not fit in memory are removed once nobody uses them, and not before."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from deniable.query.engines.duckdb.spill import spill_folder

DYING = "import os; from deniable.query.engines.duckdb.spill import spill_folder; print(spill_folder(), flush=True); "


def started(code: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "TMPDIR": tempfile.gettempdir()}
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


def test_only_what_nobody_uses_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    stranger = tmp_path / "deniable-spill-link"
    stranger.symlink_to(tmp_path)
    own = Path(spill_folder())
    alive = started(DYING + "input()")
    forked = started(DYING + "os.fork() and os._exit(1); input()")  # the child lives on in its parent's folder
    dead = started(DYING + "os._exit(1)")
    folders = []
    for process in (alive, forked, dead):
        assert process.stdout is not None
        folders.append(Path(process.stdout.readline().strip()))
    dead.communicate()
    forked.wait()
    second = Path(spill_folder())
    assert [folder.is_dir() for folder in folders] == [True, True, False]
    assert own.is_dir()
    assert second.is_dir()
    assert second != own
    assert stranger.is_symlink()
    alive.communicate("\n")
    assert not folders[0].exists()
    forked.communicate("\n")
    for _ in range(500):  # the end of its output is seen a moment before the system lets go of its lock
        if folders[1].exists():
            time.sleep(0.01)
            spill_folder()
    assert not folders[1].exists()


def test_a_process_holds_one_folder_and_one_lock_however_many_connections_it_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = "import os; from deniable.query.engines.duckdb.spill import spill_folder; spill_folder(); "
    code += "before = os.listdir('/dev/fd'); own = {spill_folder() for _ in range(9)}; "
    code += "print(len(own), len(os.listdir('/dev/fd')) - len(before), flush=True); "
    code += "child = os.fork(); print(spill_folder(), flush=True); child and os.waitpid(child, 0)"
    process = started(code)
    folders, *places = process.communicate()[0].splitlines()
    assert folders == "9 0"
    assert len({Path(place).parent for place in places}) == len(places) == 2  # the child's is not its parent's
    assert not list(tmp_path.iterdir())

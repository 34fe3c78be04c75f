import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable.errors import LedgerError, LedgerTamperedError
from deniable.ledger import Ledger, storage
from tests.ledger.conftest import entry, key, open_ledger

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def play(scene: str, place: str) -> dict[str, Any]:
    """Run one scene of processes.py and return what it saw."""
    script = Path(__file__).with_name("processes.py")
    done = subprocess.run(
        [sys.executable, script, scene, place], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert isinstance(seen, dict)
    return seen


# --- many processes ----------------------------------------------------------------------------------------------


@forks
def test_of_twenty_processes_that_race_for_the_last_tenth_exactly_one_wins(place: str) -> None:
    assert play("race", place) == {"statuses": [0] + [1] * 19, "spent": "1", "entries": 2}


@forks
def test_twenty_processes_that_create_one_ledger_share_one_budget(place: str) -> None:
    assert play("create", place) == {"statuses": [0] * 20, "spent": "1"}
    if not place.startswith("postgresql"):
        assert os.listdir(Path(place).parent) == ["survey.ledger"]


@forks
def test_processes_that_ask_the_same_at_once_pay_once_and_a_killed_one_blocks_nobody(place: str) -> None:
    assert play("same", place) == {"paid": 1, "after": [True, False, True]}


@forks
def test_many_killed_processes_leave_a_ledger_that_verifies_and_never_under_counts(place: str) -> None:
    seen = play("kill", place)
    assert seen["statuses"] == [-signal.SIGKILL]
    assert seen["paid"] >= 20  # the children were killed at work, not before it
    assert seen["paid"] <= seen["entries"] <= seen["paid"] + seen["killed"]
    assert seen["stored"] <= seen["answers"] <= seen["stored"] + seen["killed"]
    assert seen["spent_is_the_sum"]


@forks
def test_a_forked_child_uses_the_file_and_is_refused_the_memory_of_its_parent(place: str) -> None:
    assert play("inherit", place) == {"statuses": [0, 7], "spent": ["0.2", "0.1"]}


# --- power cuts --------------------------------------------------------------------------------------------------


def test_a_write_ahead_log_cut_at_any_byte_leaves_a_ledger_that_verifies(path: Path, tmp_path: Path) -> None:
    ledger = open_ledger(path)
    with closing(sqlite3.connect(path)) as witness:  # keeps the log from being folded into the file
        witness.execute("SELECT * FROM head").fetchall()
        for number in range(3):
            ledger.store(ledger.reserve(entry(number)), "1")
        log = Path(f"{path}-wal").read_bytes()
        copy = tmp_path / "copy.ledger"
        counts = []
        for end in range(0, len(log) + 1, 997):
            shutil.copy(path, copy)
            Path(f"{copy}-shm").unlink(missing_ok=True)
            Path(f"{copy}-wal").write_bytes(log[:end])
            cut = open_ledger(copy)
            cut.verify()
            counts.append(len(cut.entries()))
            cut.close()
    assert counts == sorted(counts)
    assert set(counts) == {0, 1, 2, 3}


# --- the file ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
def test_only_the_owner_may_read_the_ledger_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        ledger = open_ledger(path)
        ledger.reserve(entry(1))
        with closing(sqlite3.connect(path)) as witness:
            witness.execute("SELECT * FROM head").fetchall()
            ledger.reserve(entry(2))
            files = sorted(path.parent.iterdir())
            assert [file.name for file in files] == ["survey.ledger", "survey.ledger-shm", "survey.ledger-wal"]
            assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    finally:
        os.umask(before)


def test_commits_are_durable(path: Path, ledger: Ledger) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with storage.FileStorage(path).transaction(write=False) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user whom permissions bind")
def test_a_ledger_that_may_not_be_written_spends_nothing(path: Path, ledger: Ledger) -> None:
    path.chmod(0o400)
    with pytest.raises(LedgerError, match="permissions"):
        ledger.reserve(entry(1))
    path.chmod(0o600)
    assert ledger.spent().epsilon == 0


def until_refused(reserve: Callable[[], int]) -> int:
    """How many reservations a ledger takes before its disk is full."""
    for paid in range(40):
        try:
            reserve()
        except LedgerError as error:
            assert "free space" in str(error)  # noqa: PT017
            return paid
    raise AssertionError("the disk was not full")


@pytest.mark.skipif(os.name != "posix", reason="needs a limit on the size of files")
def test_a_full_disk_keeps_or_refuses_each_charge_and_leaves_nothing_half_written(path: Path, ledger: Ledger) -> None:
    """The log may grow by a few bytes more each time, and ends at every place in a record."""
    import resource

    unlimited, cost, paid = resource.getrlimit(resource.RLIMIT_FSIZE), Fraction(1, 1000), 0
    for room in range(0, 30_000, 1717):
        ledger.reserve(entry(0, cost))
        paid += 1
        resource.setrlimit(resource.RLIMIT_FSIZE, (Path(f"{path}-wal").stat().st_size + room, unlimited[1]))
        try:
            paid += until_refused(lambda: ledger.reserve(entry(1, cost, mechanisms=["x" * 3000])))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        ledger.verify()
        assert ledger.spent().epsilon == len(ledger.entries()) * cost == paid * cost


def test_an_interrupted_transaction_leaves_no_trace(path: Path, ledger: Ledger) -> None:
    head = ledger.head

    def interrupted() -> None:
        with storage.FileStorage(path).transaction(write=True) as connection:
            connection.execute("INSERT INTO keys VALUES ('rows', x'00')")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    ledger.verify()
    assert ledger.head == head


def test_a_creation_that_fails_leaves_no_files(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(LedgerError, match="local disk"):
        open_ledger(path)
    assert list(path.parent.iterdir()) == []


def test_a_path_with_odd_characters_works(tmp_path: Path) -> None:
    for name in ("a b.ledger", "50%?#&=é.ledger", "file:memory"):
        ledger = open_ledger(tmp_path / name)
        ledger.reserve(entry(1))
        assert open_ledger(tmp_path / name, budget=None).head == ledger.head
        ledger.close()
    assert len(list(tmp_path.iterdir())) == 3


def test_a_relative_path_stays_with_the_folder_it_was_opened_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = open_ledger(Path("here.ledger"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    ledger.reserve(entry(1))
    assert not list((tmp_path / "elsewhere").iterdir())


# --- other people's files ----------------------------------------------------------------------------------------


def foreign_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE people (name TEXT)")
        connection.commit()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_bytes(b""), "not a ledger"),
        (lambda path: path.write_text("some notes\n" * 100), "not a SQLite database"),
        (lambda path: path.write_bytes(b"PAR1" + bytes(5000) + b"PAR1"), "not a SQLite database"),
        (foreign_database, "not a ledger"),
    ],
    ids=["empty", "text", "parquet", "database"],
)
@pytest.mark.parametrize("budget", [1, None])
def test_another_program_s_file_is_refused_and_not_written(path: Path, make: Any, message: str, budget: object) -> None:
    make(path)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=message):
        open_ledger(path, budget=budget)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be opened"):
        open_ledger(tmp_path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="existing folder"):
        open_ledger(tmp_path / "missing" / "survey.ledger")


def test_a_ledger_that_vanished_is_not_made_anew(path: Path, ledger: Ledger) -> None:
    path.unlink()
    with pytest.raises(LedgerError, match="cannot be opened"):
        ledger.reserve(entry(1))
    assert not path.exists()


def test_a_log_that_is_deleted_between_two_questions_loses_no_charge(path: Path, ledger: Ledger) -> None:
    for number in range(3):
        ledger.reserve(entry(number))
        Path(f"{path}-wal").unlink()
    ledger.reserve(entry(3))
    other = open_ledger(path)
    other.verify()
    assert [record.text for record in other.entries()] == [f"SELECT {number}" for number in range(4)]


def test_a_damaged_file_is_noticed(path: Path, ledger: Ledger) -> None:
    for number in range(5):
        ledger.reserve(entry(number, "0.01", mechanisms=["x" * 3000]))
    content = bytearray(path.read_bytes())
    content[4096 * 2 :] = bytes(len(content) - 4096 * 2)
    path.write_bytes(content)
    with pytest.raises(LedgerTamperedError):
        ledger.verify()


# --- waiting -----------------------------------------------------------------------------------------------------


def test_a_locked_ledger_is_waited_for_and_then_given_up_without_spending(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.store(ledger.reserve(entry(1)), "1")
    ledger.close()
    monkeypatch.setattr(storage, "PATIENCE", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"locked for 0\.05 seconds.*Nothing was written"):
            ledger.reserve(entry(2))
        assert ledger.recall(key(1)) == "1"  # readers do not wait
        other.execute("ROLLBACK")
    ledger.reserve(entry(2))
    assert len(ledger.entries()) == 2

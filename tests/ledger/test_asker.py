"""Only a process that lives and has not given up is waited for."""

import os
import subprocess
import sys

import pytest

from deniable.ledger import asker


def test_a_process_is_known_by_its_number_and_its_birth() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        born = asker._born(other.pid)
        if born is None:
            pytest.skip("this system does not say when a process began")
        here = asker.this_process()
        there = {**here, "pid": other.pid, "born": born}
        assert asker.in_progress(there, "a.ledger", 1)
        for stranger in ({"born": "1"}, {"born": None}, {"host": "another"}, {"pid": None}):
            assert not asker.in_progress(there | stranger, "a.ledger", 1)
        other.communicate(b"")
    assert not asker.in_progress(there, "a.ledger", 1)
    assert not asker.in_progress(None, "a.ledger", 1)


def test_in_this_process_a_reservation_is_in_progress_until_it_is_given_up() -> None:
    here = asker.this_process()
    assert here["pid"] == os.getpid()
    asker.begin("a.ledger", 1)
    assert asker.in_progress(here, "a.ledger", 1)
    assert not asker.in_progress(here, "b.ledger", 1)
    asker.end("a.ledger", 1)
    assert not asker.in_progress(here, "a.ledger", 1)

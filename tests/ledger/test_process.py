"""Only a process that lives and has not given up is waited for."""

import os
import subprocess
import sys

import pytest

from deniable.ledger import process


def test_a_process_is_known_by_its_number_and_its_birth() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        born = process._born(other.pid)
        if born is None:
            pytest.skip("this system does not say when a process began")
        here = process.this_process()
        there = {**here, "pid": other.pid, "born": born}
        assert process.in_progress(there, "a.ledger", 1)
        for stranger in ({"born": "1"}, {"born": None}, {"host": "another"}, {"pid": None}):
            assert not process.in_progress(there | stranger, "a.ledger", 1)
        other.communicate(b"")
    assert not process.in_progress(there, "a.ledger", 1)
    assert not process.in_progress(None, "a.ledger", 1)


def test_in_this_process_a_reservation_is_in_progress_until_it_is_given_up() -> None:
    here = process.this_process()
    assert here["pid"] == os.getpid()
    process.begin("a.ledger", 1)
    assert process.in_progress(here, "a.ledger", 1)
    assert not process.in_progress(here, "b.ledger", 1)
    process.end("a.ledger", 1)
    assert not process.in_progress(here, "a.ledger", 1)

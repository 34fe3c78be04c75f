"""State files: packed states, and errors in plain words."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from deniable.errors import StreamError
from deniable.mechanisms.correlated import Tree, Uses, WholeBuffered
from deniable.stream import Counter
from deniable.stream.state import StateFile, packed, unpacked


def test_states_come_back_as_they_were() -> None:
    """Integers beyond 64 bits, and floats to the last bit."""
    uses = Uses(steps=20, dimensions=3, lattice=2**10)
    for correlation in (WholeBuffered.best(uses, buffers=2), Tree()):
        secret, public = correlation.blank(uses), correlation.blank_public(uses)
        total = np.array([2**90, 1, -7], dtype=object)
        for step in range(1, 12):
            noisy = correlation.mixed(total, secret, step, uses).astype(float) / 3
            correlation.unmixed(noisy, public, step, uses)
        for state in (secret, public):
            again = unpacked(packed(state))
            assert packed(again) == packed(state)
            assert type(again) is type(state)
        ahead = [correlation.mixed(total, each, 12, uses) for each in (secret, unpacked(packed(secret)))]
        assert np.array_equal(*ahead)


def test_a_stream_that_is_locked_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.stream.state._PATIENCE", 0.1)
    path = tmp_path / "x.stream"
    counter = Counter(path, steps=5, rho=1)
    counter.add(1)
    held = sqlite3.connect(path, isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    with pytest.raises(StreamError, match="locked"):
        counter.release()
    held.execute("ROLLBACK")
    counter.release()
    assert counter.step == 1


def test_a_version_that_is_not_known_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.stream"
    Counter(path, steps=5, rho=1).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE facts SET version = 2")
    with pytest.raises(StreamError, match="another version"):
        Counter(path, steps=5, rho=1)


def test_a_change_that_fails_is_undone() -> None:
    file = StateFile(None)
    with file.transaction() as connection:
        file.create(connection, "{}", True)

    def fails() -> None:
        with file.transaction() as connection:
            connection.execute("UPDATE facts SET paid = 1")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fails()
    with file.reading() as connection:
        assert connection.execute("SELECT paid FROM facts").fetchone() == (0,)

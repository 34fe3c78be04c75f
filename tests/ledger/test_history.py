"""Entries are read once, and what comes after them is seen."""

from pathlib import Path
from typing import Any

import pytest

from deniable.ledger.entry import Record
from tests.ledger.conftest import entry, open_ledger


def test_entries_that_were_read_are_not_read_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that came since, entries of others, and another file in its place are seen."""
    read: list[int] = []
    inner = Record.read

    def noted(number: int, *given: Any, **how: Any) -> Record:
        read.append(number)
        return inner(number, *given, **how)

    monkeypatch.setattr(Record, "read", noted)
    ledger, other = open_ledger(path), open_ledger(path)
    numbers = [ledger.reserve(entry(1)), ledger.reserve(entry(2))]
    assert [each.answered for each in ledger.entries()] == [False, False]
    ledger.store(numbers[0], "1")
    numbers.append(other.reserve(entry(3)))
    ledger.entries().clear()  # a caller's list is its own
    assert [(each.number, each.answered) for each in ledger.entries()] == [
        *zip(numbers, [True, False, False], strict=True)
    ]
    assert read == numbers
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    fresh = open_ledger(path)
    texts = [f"SELECT {fresh.reserve(entry(number))}" for number in range(1, 6)]  # as many records as the other had
    assert [each.text for each in ledger.entries()] == texts

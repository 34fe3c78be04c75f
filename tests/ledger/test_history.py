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
    assert ledger.history() is ledger.history()  # nothing is copied where nothing is new
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    fresh = open_ledger(path)
    texts = [f"SELECT {fresh.reserve(entry(number))}" for number in range(1, 6)]  # as many records as the other had
    assert [each.text for each in ledger.entries()] == texts


def test_long_histories_are_read_in_parts_of_equal_text(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses of equal text are one object, and those of other text are not."""
    monkeypatch.setattr("deniable.ledger.chain.RECORDS_AT_ONCE", 2)
    ledger = open_ledger(path)
    for number in range(5):
        ledger.reserve(entry(number, "0.01" if number != 3 else "0.02", analyst=f"analyst {number % 2}"))
    history = open_ledger(path).history()
    assert [each.text for each in history.records] == [f"SELECT {number}" for number in range(5)]
    assert len({id(each.loss) for each in history.records}) == 2
    assert history.analysts == {"analyst 0", "analyst 1"}

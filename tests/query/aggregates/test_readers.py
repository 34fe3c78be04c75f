"""Every aggregate of SQL that is read is on the allow-list, and has an answer."""

from deniable.query.aggregates.readers import READERS
from deniable.query.allowlist import ARGUMENTS


def test_every_reader_is_allowed() -> None:
    assert READERS.keys() <= ARGUMENTS.keys()

"""The entries of a ledger in order, of which each is read once: records never change."""

from dataclasses import replace

from deniable.ledger import chain
from deniable.ledger.entry import Record
from deniable.ledger.storage import Connection


class History:
    """Every reservation that was read, and the hash of the last one, by which another file in its place is noticed."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._end = ""

    def read(self, connection: Connection) -> list[Record]:
        """Every reservation, oldest first."""
        records, end = self._records, self._end
        kept = chain.at(connection, records[-1].number) if records else None
        if kept is None or kept.hash != end:  # nothing was read, or it is another file now
            records, end = [], ""
        after = records[-1].number if records else 0
        done = chain.answered_after(connection, after)  # also entries that had no answer when they were read
        records = [
            replace(each, answered=True) if each.number in done and not each.answered else each for each in records
        ]
        for link, answered in chain.entries(connection, after=after):
            records.append(Record.read(link.number, link.body, answered=answered))
            end = link.hash
        self._records, self._end = records, end
        return [*records]

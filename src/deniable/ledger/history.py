"""The entries of a ledger in order, of which each is read once.

Records never change.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from operator import attrgetter

from deniable.ledger import chain
from deniable.ledger.entry import Record
from deniable.ledger.storage import Connection


@dataclass(frozen=True)
class History:
    """Every reservation that was read, oldest first.

    Args:
        analysts: who made them.
        end: hash of the last one, by which another file in its place is noticed.
    """

    records: tuple[Record, ...] = ()
    analysts: frozenset[str] = frozenset()
    end: str = ""

    def continued(self, connection: Connection) -> "History":
        """Read what was added since, in time that grows with that alone."""
        kept = chain.at(connection, self.records[-1].number) if self.records else None
        if self.records and (kept is None or kept.hash != self.end):  # another file now
            return History().continued(connection)
        after = self.records[-1].number if self.records else 0
        answered = {entry for entry in chain.answered_after(connection, after) if entry <= after}
        new = list[Record]()
        end = self.end
        for link, done in chain.entries(connection, after=after):
            new.append(Record.read(link.number, link.body, answered=done))
            end = link.hash
        if not new and not answered:
            return self
        records = [*self.records, *new]
        for entry in answered:
            index = bisect_left(records, entry, key=attrgetter("number"))
            records[index] = replace(records[index], answered=True)
        return History(tuple(records), self.analysts.union(record.analyst for record in new), end)

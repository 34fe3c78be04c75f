"""What was spent: a durable, append-only, hash-chained record of every question."""

from deniable.ledger.entry import Entry, Record
from deniable.ledger.ledger import Ledger
from deniable.ledger.source import Source

__all__ = ["Entry", "Ledger", "Record", "Source"]

"""What was spent: a durable, append-only, hash-chained record of every question."""

from deniable.ledger.entry import Entry, Record
from deniable.ledger.ledger import Ledger

__all__ = ["Entry", "Ledger", "Record"]

"""Durable, append-only, hash-chained record of every question and its cost."""

from deniable.ledger.entry import Entry
from deniable.ledger.ledger import Ledger

__all__ = ["Entry", "Ledger"]

"""Opening of a ledger: where it is stored, and the record of what it is for."""

from pathlib import Path
from typing import Any

from deniable.ledger.postgres import PostgresStorage, is_url
from deniable.ledger.storage import FileStorage, MemoryStorage, Storage
from deniable.privacy.budget import Budget
from deniable.privacy.relation import PrivacyUnit, Relation


def storage_at(path: Path | str | None) -> Storage:
    """Return the database that a path or a URL names."""
    if path is None:
        return MemoryStorage()
    return PostgresStorage(str(path)) if is_url(path) else FileStorage(Path(path))


def opening_of(budget: Budget, relation: Relation, unit: PrivacyUnit, dataset: str) -> dict[str, Any]:
    """Return the body of the first record, which every later use must agree with."""
    return {
        "budget": budget.to_data(),
        "relation": relation.name,
        "unit": {"column": unit.column, "noun": unit.noun, "ids": unit.ids}
        | ({"period": unit.period} if unit.period else {}),
        "dataset": dataset,
    }

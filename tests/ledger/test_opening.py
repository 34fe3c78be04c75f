"""A path names a storage, and the first record says what the ledger is for."""

from pathlib import Path

from deniable.ledger.opening import opening_of, storage_at
from deniable.ledger.postgres import PostgresStorage
from deniable.ledger.storage import FileStorage, MemoryStorage
from deniable.privacy import AddRemove, Budget, PrivacyUnit


def test_a_path_an_address_and_nothing_name_their_storage(tmp_path: Path) -> None:
    assert isinstance(storage_at(tmp_path / "visits.ledger"), FileStorage)
    assert isinstance(storage_at("postgresql://127.0.0.1:1/shop"), PostgresStorage)
    assert isinstance(storage_at(None), MemoryStorage)


def test_a_period_is_recorded_only_where_there_is_one() -> None:
    """Ledgers from before periods must still agree."""
    days = PrivacyUnit(column="user", noun="user", period="day")
    plain, by_day = (
        opening_of(Budget(epsilon=1), AddRemove, unit, "visits")["unit"] for unit in (PrivacyUnit(column="user"), days)
    )
    assert plain == {"column": "user", "noun": "row", "ids": 1}
    assert by_day == {"column": "user", "noun": "user", "ids": 1, "period": "day"}

"""Reading a policy makes no ledger; only paying does."""

from pathlib import Path

import pytest

from deniable.app.opening import for_reading, open_ledger, read
from deniable.errors import CatalogError, LedgerError
from deniable.query.connect import connect
from tests.app.conftest import POLICY

COUNT = "SELECT COUNT(*) AS n FROM survey"


def test_reading_makes_no_ledger(place: Path) -> None:
    database = for_reading(read(place / "policy.toml"))
    assert "nothing" not in str(database.explain(COUNT, epsilon="0.1"))
    assert not (place / "policy.ledger").exists()


def test_reading_sees_what_was_spent(place: Path) -> None:
    connect(place / "policy.toml").sql(COUNT, epsilon="0.25")
    policy = read(place / "policy.toml")
    assert str(for_reading(policy).budget) == "budget epsilon=1; left epsilon=0.75"
    assert str(open_ledger(policy).left()) == "epsilon=0.75"
    assert for_reading(policy).explain(COUNT, epsilon="0.25").stored


def test_reading_sees_the_answers_of_who_asks_and_what_everybody_spent(place: Path) -> None:
    connect(place / "policy.toml", analyst="ada").sql(COUNT, epsilon="0.25")
    policy = read(place / "policy.toml")
    for analyst in ("ada", "bob", None):
        database = for_reading(policy, analyst=analyst)
        assert database.explain(COUNT, epsilon="0.25").stored == (analyst == "ada")
        assert str(database.budget) == "budget epsilon=1; left epsilon=0.75"


def test_data_that_moved_are_refused_where_nobody_said_so(place: Path) -> None:
    connect(place / "policy.toml").sql(COUNT, epsilon="0.25")
    (place / "survey.parquet").rename(place / "moved.parquet")
    (place / "policy.toml").write_text(POLICY.replace("survey.parquet", "moved.parquet"))
    policy = read(place / "policy.toml")
    with pytest.raises(LedgerError, match="moved"):
        for_reading(policy)
    assert for_reading(policy, moved=True).explain(COUNT, epsilon="0.25").stored


def test_a_changed_promise_is_refused(place: Path) -> None:
    connect(place / "policy.toml").sql(COUNT, epsilon="0.25")
    (place / "policy.toml").write_text(POLICY.replace("epsilon = 1.0", "epsilon = 2.0"))
    with pytest.raises(LedgerError, match="opened for budget"):
        open_ledger(read(place / "policy.toml"))


def test_both_ways_to_describe_the_table_agree(place: Path) -> None:
    assert for_reading(read(place / "policy.toml"))._table == connect(place / "policy.toml")._table


def test_data_in_place_of_a_policy_is_told_how_to_get_one() -> None:
    with pytest.raises(CatalogError, match=r"deniable init survey\.parquet > policy\.toml"):
        read(Path("survey.parquet"))

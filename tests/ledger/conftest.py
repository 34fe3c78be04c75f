"""One ledger to play with, in a file."""

import sqlite3
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from deniable.ledger import Entry, Ledger
from deniable.privacy import PureLoss
from deniable.privacy.budget import Budget
from deniable.privacy.relation import AddRemove, PrivacyUnit
from tests.postgres import Server

_NUMBERS = count(1)
UNIT = PrivacyUnit(column="id", noun="respondent")


def key(number: int) -> str:
    """A question's key."""
    return f"{number:064x}"


def entry(number: int, epsilon: object = Fraction(1, 10), **others: Any) -> Entry:
    """A question with a pure cost."""
    return Entry(question=key(number), text=f"SELECT {number}", loss=PureLoss(epsilon), **others)


def open_ledger(path: Path | str | None, *, budget: object = 1, **others: Any) -> Ledger:
    """A ledger with a budget, of epsilon unless said otherwise; budget=None opens an existing one."""
    total = budget if budget is None or isinstance(budget, Budget) else Budget(epsilon=budget)
    settings = {"relation": AddRemove, "unit": UNIT, "dataset": "survey", **others}
    return Ledger.open(path, budget=total, **settings)


@pytest.fixture(scope="session")
def postgres_ledgers(postgres_server: Server) -> Iterator[str]:
    """The URL of a database in which each ledger has a schema of its own."""
    with postgres_server.database() as url:
        yield url


def a_schema(request: pytest.FixtureRequest) -> str:
    """The URL of a new one."""
    return f"{request.getfixturevalue('postgres_ledgers')}&schema=test_{next(_NUMBERS)}"


@pytest.fixture(params=["file", "postgres"])
def place(request: pytest.FixtureRequest, path: Path) -> str:
    """Where no ledger is yet: what holds here holds for every storage that several processes share."""
    return str(path) if request.param == "file" else a_schema(request)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "survey.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    return open_ledger(path)


@pytest.fixture
def edit(path: Path) -> Callable[..., None]:
    """Another program at work on the file: it drops every trigger, runs its statements, and puts the triggers back."""

    def run(*statements: str) -> None:
        connection = sqlite3.connect(path, isolation_level=None)
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, definition in triggers:
            connection.execute(definition)
        connection.close()

    return run

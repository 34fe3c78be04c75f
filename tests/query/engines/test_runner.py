"""What every runner does with what it is told; each engine's own is tested on the engine."""

import pytest

from deniable.errors import ExecutionError
from deniable.query.engines.postgres.expression import Postgres
from deniable.query.engines.runner import StatementRunner, not_opened
from deniable.query.expression import Kind


class Broken(StatementRunner):
    dialect = Postgres()
    source = "t"

    def __init__(self) -> None:
        self.types = {"a": "bigint", "b": "json"}

    def rows(self, statement: str) -> list[tuple[object, ...]] | None:
        return [(1,)] if statement == "SELECT 1" else None

    def check(self, statement: str) -> bool:
        return True


def test_kinds_follow_from_types_and_failures_are_alike() -> None:
    runner = Broken()
    assert runner.schema() == {"a": Kind.INTEGER, "b": None}
    assert runner.run("SELECT 1") == [(1,)]
    with pytest.raises(ExecutionError) as failure:
        runner.run("SELECT secret")
    assert "secret" not in str(failure.value)
    assert "'t'" in str(not_opened("t"))

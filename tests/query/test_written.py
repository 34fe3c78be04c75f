"""Answers in files: what is refused, what is paid, and that nothing is written twice for one payment."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import BudgetExceededError, ExecutionError, UnsupportedQueryError
from deniable.query.database import Database
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.engines.spark.executors import SparkEngine
from deniable.query.plan import PricedPlan

TEXT = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"


class Files(SparkEngine):
    """Writes nothing, and notes what it is told, and how much was paid before."""

    db: Database
    fails = False

    def __init__(self, table: pa.Table) -> None:
        self.inner = DuckDBEngine.from_arrow(table)
        self.told: list[tuple[str, int]] = []

    def check(self, plan: PricedPlan) -> None:
        return

    def exact(self, plan: PricedPlan, **how: Any) -> list[Any]:
        return self.inner.exact(plan, **how)

    def prepare(self, plan: PricedPlan, folder: str, **how: Any) -> Callable[[bytes], str]:
        self.told.append(("prepare", len(self.db.ledger.entries())))
        place = f"{folder}/{len(self.told)}"

        def write(secret: bytes) -> str:
            self.told.append(("write", len(self.db.ledger.entries())))
            if self.fails:
                raise ExecutionError
            return place

        return write

    def read(self, place: str) -> str:
        return place


@pytest.fixture
def db() -> Database:
    table = pa.table({"who": [1, 2], "k": [3, 4], "j": [5, 6], "x": [0.5, 1.0], "day": [1, 2]})
    keys = dn.Keys(range(2000))
    columns = {"k": keys, "j": keys, "x": dn.Number(lower=0, upper=1)}
    made = dn.connect(table, name="t", unit="who", columns=columns, budget=dn.Budget(epsilon=5))
    made._engine = Files(table)
    made._engine.db = made  # type: ignore[attr-defined]
    return made


def test_paid_once_before_it_is_written(db: Database) -> None:
    assert db.write(TEXT, "there", epsilon=1) == "there/1"
    assert db.write(TEXT, "elsewhere", epsilon=1) == "there/1"
    assert db.write(db.table("t").group_by("k").agg(dn.len().alias("n")), "x", epsilon=1) == "there/1"
    assert db.write(TEXT, "elsewhere", epsilon=1, fresh=True) == "elsewhere/3"
    assert db.write(TEXT.replace("AS n", "AS m"), "there", epsilon=1) == "there/5"  # a file with other columns
    said = [("prepare", 0), ("write", 1), ("prepare", 1), ("write", 2), ("prepare", 2), ("write", 3)]
    assert db._engine.told == said  # type: ignore[attr-defined]
    assert len(db.sql(TEXT, epsilon=1)) == 2000  # an answer of its own
    assert len(db.ledger.entries()) == 4
    with pytest.raises(BudgetExceededError):
        db.write(TEXT, "there", epsilon=2)


def test_columns_that_change_places_are_another_question(db: Database) -> None:
    """The private part has one name, whatever the order of its totals; what the file shows in a column has not."""
    text = "SELECT k, SUM(p) AS a, SUM(q) AS b FROM (SELECT who, k, k AS p, j AS q FROM t) GROUP BY k"
    assert db.write(text, "there", epsilon=1) == "there/1"
    assert db.write(text.replace("k AS p, j AS q", "j AS p, k AS q"), "elsewhere", epsilon=1) == "elsewhere/3"
    assert db.write(text, "elsewhere", epsilon=1) == "there/1"


def test_what_fails_is_paid_and_has_no_answer(db: Database) -> None:
    db._engine.fails = True  # type: ignore[attr-defined]
    for paid in (1, 2):
        with pytest.raises(ExecutionError):
            db.write(TEXT, "there", epsilon=1)
        assert len(db.ledger.entries()) == paid


def test_more_groups_than_one_machine_holds_are_written_alone(db: Database) -> None:
    many = "SELECT k, j, COUNT(*) AS n FROM t GROUP BY k, j"
    with pytest.raises(UnsupportedQueryError, match=r"4,000,000 groups.*db\.write"):
        db.sql(many, epsilon=1)
    assert db.write(many, "there", epsilon=1) == "there/1"
    for text, words in (
        (f"{TEXT} ORDER BY n", "no ORDER BY"),
        (f"{TEXT} LIMIT 3", "no ORDER BY"),
        ("SELECT MEDIAN(x) FROM t", "counts, sums"),
    ):
        with pytest.raises(UnsupportedQueryError, match=words):
            db.write(text, "there", epsilon=1)
    assert len(db.ledger.entries()) == 1


def test_other_engines_write_nothing() -> None:
    db = dn.connect(pa.table({"who": [1]}), unit="who", budget=dn.Budget(epsilon=1))
    with pytest.raises(UnsupportedQueryError, match="only Spark writes"):
        db.write("SELECT COUNT(*) FROM data", "there", epsilon=1)

"""A question that would take long to plan is refused, unpaid, for what its text says: no row decides."""

from collections.abc import Callable
from typing import Any

import pytest

import deniable as dn
from deniable.errors import UnsupportedQueryError
from deniable.privacy.deadline import checkpoint
from deniable.query import effort
from deniable.query.aggregates.aggregate import BoundedPart
from deniable.query.aggregates.counts import CountAggregate
from deniable.query.canonical import MAX_PARTS
from deniable.query.clauses import MAX_AGGREGATES
from deniable.query.database import Database
from deniable.query.plan import Question
from deniable.query.table_expression import MAX_TABLES
from tests.query.conftest import frame

SUM = "SELECT SUM(LEAST(GREATEST({}, 0), {})) AS n FROM {}"


def database() -> Database:
    columns = {"age": dn.Number(lower=0, upper=100, integer=True)}
    return dn.connect(frame(), name="t", unit="person", columns=columns, budget=dn.Budget(epsilon=1))


def doubled(levels: int) -> str:
    """A number that is added to itself in every subquery."""
    rows = "t"
    for _ in range(levels):
        rows = f"(SELECT person, age + age AS age FROM {rows})"
    return SUM.format("age", 9, rows)


def joined(tables: int) -> str:
    parts = [f"(SELECT person, COUNT(*) AS n{place} FROM t GROUP BY person) AS q{place}" for place in range(tables)]
    joins = [f"{part} ON q{place}.person = q{place + 1}.person" for place, part in enumerate(parts[1:])]
    return SUM.format("n0", 9, " JOIN ".join([parts[0], *joins]))


def paired(levels: int) -> str:
    """A subquery that joins another to itself, and so on."""
    named = ["q0 AS (SELECT person, age FROM t)"]
    for place in range(levels):
        both = f"q{place} AS a JOIN q{place} AS b ON a.person = b.person"
        named.append(f"q{place + 1} AS (SELECT a.person AS person, a.age + b.age AS age FROM {both})")
    return f"WITH {', '.join(named)} {SUM.format('age', 9, f'q{levels}')}"


def several(aggregates: int) -> str:
    return "SELECT " + ", ".join(f"SUM(LEAST(GREATEST(age, 0), {n}))" for n in range(1, aggregates + 1)) + " FROM t"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (doubled(20), f"at most {MAX_PARTS:,} are planned"),
        (doubled(60), f"at most {MAX_PARTS:,} are planned"),
        (joined(MAX_TABLES + 1), f"at most {MAX_TABLES} are joined"),
        (paired(40), f"at most {MAX_TABLES} are joined"),
        (several(MAX_AGGREGATES + 1), f"more than {MAX_AGGREGATES} aggregates"),
        (f"SELECT SUM(n) FROM ({several(MAX_AGGREGATES + 1)} GROUP BY person)", f"more than {MAX_AGGREGATES} aggr"),
    ],
)
def test_what_would_take_long_is_refused_unpaid(text: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db = database()
    monkeypatch.setattr(db._engine, "check", lambda plan: pytest.fail("the engine was asked"))
    for ask in (db.explain, db.sql):
        with pytest.raises(UnsupportedQueryError, match=words):
            ask(text, epsilon=0.5)
    assert db.ledger.entries() == []


def test_what_the_limits_admit_is_planned() -> None:
    db = database()
    texts = [doubled(9), joined(MAX_TABLES // 2), paired(4), several(30)]
    for outer in ("ROUND({}, 1)", "7 / ({})", "LEAST({}, 3)"):  # whatever doubles at each level takes 2^30 steps
        value = "age"
        for _ in range(30):
            value = outer.format(value)
        texts.append(SUM.format(value, 9, "t"))
    for text in texts:
        assert db.explain(text, epsilon=0.5).plan.parts


def test_no_question_takes_longer_than_the_time_for_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    db = database()
    monkeypatch.setattr(effort, "MAX_SECONDS", -1.0)
    for ask in (db.explain, db.sql):
        with pytest.raises(UnsupportedQueryError, match="seconds to plan"):
            ask("SELECT COUNT(*) FROM t WHERE age > 3", epsilon=0.5)
    assert db.ledger.entries() == []
    monkeypatch.undo()
    assert db.sql("SELECT COUNT(*) FROM t WHERE age > 3", epsilon=0.5).to_dicts()


@pytest.mark.parametrize(
    "how", [{"epsilon": 0.5}, {"error": 50}, {"epsilon": 0.5, "delta": "1e-6"}, {"error": "5%", "epsilon": 0.5}]
)
def test_the_time_for_planning_is_that_for_the_price_too(how: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock jumps once the plan is there, so that only checkpoints of the pricer see it."""
    db, clock, bounded = database(), [0.0], CountAggregate.bounded

    def late(self: CountAggregate, question: Question) -> BoundedPart:
        clock[0] = 1e9
        return bounded(self, question)

    monkeypatch.setattr(effort, "thread_time", lambda: clock[0])
    monkeypatch.setattr(CountAggregate, "bounded", late)
    monkeypatch.setattr(db._engine, "check", lambda plan: pytest.fail("the engine was asked"))
    text = "SELECT COUNT(*) AS n FROM t"
    asks: list[Callable[[], object]] = [lambda: db.explain(text, **how), lambda: db.sql(text, **how)]
    if "error" not in how:
        asks += [lambda: db.workload([text, text], **how)]
    for ask in asks:
        clock[0] = 0.0
        with pytest.raises(UnsupportedQueryError, match="seconds to plan"):
            ask()
    assert db.ledger.entries() == []


def test_limits_of_time_nest_and_end_with_the_payment(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(effort, "thread_time", lambda: clock[0])
    with effort.limited_time():
        clock[0] = effort.MAX_SECONDS + 1
        with effort.limited_time(), pytest.raises(UnsupportedQueryError):
            effort.check_time()  # no new time
        with effort.unlimited_time():
            effort.check_time()
            checkpoint()
        with pytest.raises(UnsupportedQueryError):
            checkpoint()
    checkpoint()

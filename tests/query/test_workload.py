"""Workloads: one price, one entry, and answers that agree with intervals that hold."""

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import BudgetExceededError, DeniableError
from deniable.mechanisms.price import Price
from deniable.noise.bits import DeterministicBits
from deniable.query.aggregates.aggregate import PricedAggregate
from deniable.query.consistent import QuestionFamily
from deniable.query.database import Database
from deniable.query.plan import PricedPlan
from deniable.query.rules import price, together
from deniable.query.sql import parse

N = np.arange(300)
SOURCE = pa.table({"who": N // 3, "g": np.array(list("abcz"))[N % 4], "h": N % 2 == 0, "x": N % 11})
COLUMNS = {"g": dn.Keys(["a", "b", "c"]), "x": dn.Number(lower=0, upper=10, integer=True)}
TEXTS = [
    "SELECT COUNT(*) AS n, AVG(x) AS a FROM t",
    "SELECT g, COUNT(*) AS n FROM t GROUP BY g",
    "SELECT h, g, COUNT(*) AS n, SUM(x) AS s, SUM(x) / COUNT(*) AS r FROM t GROUP BY h, g ORDER BY n DESC",
    "SELECT h, SUM(x) AS s, COUNT(x) AS c FROM t GROUP BY h",
]


def database(source: pa.Table = SOURCE, **options: Any) -> Database:
    settings: dict[str, Any] = {"unit": "who", "rows": 2, "groups": 2, "budget": dn.Budget(epsilon=9, delta="1e-5")}
    db = dn.connect(source, name="t", columns=COLUMNS, **(settings | options))
    db._bits = DeterministicBits(1)
    return db


def planned(db: Database) -> tuple[QuestionFamily, list[PricedPlan]]:
    queries = [parse(text, db.tables) for text in TEXTS]
    family = QuestionFamily.of(queries)
    return family, together(queries, Price(epsilon=Fraction(1)), None, {}, parts=family.bounded)[0]


def exact(db: Database, family: QuestionFamily, plans: list[PricedPlan]) -> list[list[Any]]:
    return family.summed(db._engine.exact(family.plan(plans), secret=bytes(32)))


def test_a_workload_is_one_entry_and_free_again() -> None:
    db = database()
    answers = db.workload(TEXTS, epsilon=1)
    assert [row["cost"] for row in db.history()] == ["epsilon=1"]
    assert all(each.cost.charge().epsilon == 1 for each in answers)
    frame = db.table("t").group_by("g").agg(dn.len().alias("n"))
    again = db.workload([TEXTS[0], frame, *TEXTS[2:]], epsilon=1)
    assert [each.to_dicts() for each in again] == [each.to_dicts() for each in answers]
    assert len(db.history()) == 1
    assert "stored answer cost nothing" in str(again[0])
    db.workload(TEXTS, epsilon=1, consistent=True)
    db.workload(TEXTS, epsilon=1, fresh=True)
    assert len(db.history()) == 3
    db.ledger.verify()


def test_a_workload_is_explained_before_it_is_paid() -> None:
    db = database()
    before = db.explain_workload(TEXTS, epsilon=1, consistent=True)
    assert not db.history()
    assert len(before) == len(TEXTS)
    assert "4 questions that are paid together: epsilon=1" in str(before[0])
    answers = db.workload(TEXTS, epsilon=1, consistent=True)
    noise: Any = before[1].to_dict()["noise"]
    lower, upper = answers[1].intervals(0.95)["n"]
    assert float((upper - lower).max()) / 2 <= noise[0]["error_95"] * 1.02
    assert "nothing" in str(db.explain_workload(TEXTS, epsilon=1, consistent=True)[0])


@pytest.mark.parametrize("asked", [Price(epsilon=Fraction(1), delta=Fraction(1, 10**6)), Price(rho=Fraction(1, 50))])
def test_gaussian_noise_of_many_questions_is_composed_before_it_is_calibrated(asked: Price) -> None:
    """By the other route, each question at its own share of the price, every count is less exact, or as exact."""
    tables = database().tables
    queries = [parse(f"SELECT COUNT(*) AS n FROM t WHERE x > {n}", tables) for n in range(30)]
    plans, loss = together(queries, asked, None, {})
    alone = price(queries[0], asked.split(*[1] * 30)[0])
    parts = [part for plan in (plans[0], alone) for part in plan.parts if isinstance(part, PricedAggregate)]
    deviations = [part.law.standard_deviation() for part in parts]
    assert deviations[0] < (1.001 if asked.rho else 0.6) * deviations[1]
    if asked.epsilon is not None:
        assert loss.delta(asked.epsilon).upper <= float(asked.delta)


@pytest.mark.parametrize(
    ("texts", "asked", "words"),
    [
        (TEXTS[0], {"epsilon": 1}, "list of questions"),
        ([], {"epsilon": 1}, "list of questions"),
        (TEXTS, {}, "specify the price"),
        (TEXTS, {"epsilon": 1, "nonnegative": True}, "consistent=True"),
        ([*TEXTS, "SELECT MEDIAN(x) FROM t"], {"epsilon": 1, "consistent": True}, "same rows"),
        ([*TEXTS, "SELECT COUNT(*) FROM t WHERE x > 1"], {"epsilon": 1, "consistent": True}, "same rows"),
        ([*TEXTS, "SELECT COUNT(*) FROM none"], {"epsilon": 1}, "no table"),
        (["SELECT who, COUNT(*) FROM t GROUP BY who"], {"epsilon": 1, "delta": "1e-6"}, "declared groups"),
    ],
)
def test_what_is_refused_costs_nothing(texts: Any, asked: dict[str, Any], words: str) -> None:
    db = database()
    with pytest.raises(DeniableError, match=words):
        db.workload(texts, **asked)
    with pytest.raises(BudgetExceededError):
        db.workload(TEXTS, epsilon=10)
    assert db.ledger.entries() == []


def test_medians_and_other_rows_may_stand_in_a_workload() -> None:
    db = database()
    texts = ["SELECT MEDIAN(x) AS m FROM t", "SELECT COUNT(*) AS n FROM t WHERE x > 3", TEXTS[1]]
    answers = db.workload(texts, epsilon=3)
    assert [len(each) for each in answers] == [1, 1, 3]
    assert db.ledger.spent().epsilon == 3

"""The whole path: pay, look, add noise, remember; and what must never happen on it."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.errors import (
    BudgetExceededError,
    CatalogError,
    DeniableError,
    ExecutionError,
    InvalidParameterError,
    UnprovedError,
    UnsupportedQueryError,
)
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Budget
from deniable.privacy.charge import Charge
from deniable.query.database import Database
from deniable.query.engines.base import Engine
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.plan import PricedPlan
from tests.query.conftest import frame

COLUMNS = {"region": dn.Keys(["north", "south", "west"]), "age": dn.Number(lower=0, upper=100)}
COUNT = "SELECT COUNT(*) AS n FROM t"


def database(source: object = None, **options: object) -> Database:
    chosen: dict[str, object] = {"name": "t", "unit": "person", "budget": Budget(epsilon=1), "columns": COLUMNS}
    return dn.connect(frame() if source is None else source, **(chosen | options))  # type: ignore[arg-type]


class Poisoned(Engine):
    """An engine that knows its schema, and refuses to read."""

    def __init__(self, inner: Engine) -> None:
        self.inner = inner
        self.reads = 0

    def schema(self, table: str = ""):
        return self.inner.schema(table)

    def check(self, plan: PricedPlan) -> None:
        self.inner.check(plan)

    def exact(self, plan: PricedPlan, *, secret: bytes, progress=None):
        self.reads += 1
        raise ExecutionError

    keys = exact

    def columns(self, rows, expressions):
        self.reads += 1
        raise ValueError("a private value")


def poisoned(**options: object) -> tuple[Database, Poisoned]:
    healthy = database(**options)
    engine = Poisoned(healthy._engine)
    return Database(engine, healthy.tables, healthy.ledger), engine


def test_four_lines_give_an_answer() -> None:
    people = pd.DataFrame({"respondent": range(1000), "affairs": [0, 0, 1, 3] * 250})
    db = dn.connect(people, name="survey", unit="respondent", budget=dn.Budget(epsilon=1))
    answer = db.sql("SELECT COUNT(*) AS n FROM survey WHERE affairs > 0", epsilon=0.1)
    assert abs(answer.scalar(unsafe=True) - 500) < 250  # fails once in 10^10
    assert str(db.budget) == "budget epsilon=1; left epsilon=0.9"
    assert answer.safe


def test_ten_times_a_tenth_is_one_and_an_eleventh_is_refused() -> None:
    db = database()
    for number in range(10):
        db.sql(f"SELECT COUNT(*) FROM t WHERE age > {number}", epsilon=0.1)
    with pytest.raises(BudgetExceededError):
        db.sql("SELECT COUNT(*) FROM t WHERE age > 10", epsilon=0.1)
    assert db.ledger.spent().epsilon == 1
    assert len(db.ledger.entries()) == 10


def test_a_repeated_question_is_free_whatever_it_looks_like() -> None:
    db = database()
    first = db.sql("SELECT region, COUNT(*) AS n FROM t GROUP BY region", epsilon=0.5)
    again = db.sql("select   region , count(*) m from T group by 1 order by m desc limit 2", epsilon="1/2")
    assert sorted(first["n"])[::-1][:2] == list(again["m"])
    assert db.ledger.spent().epsilon == Fraction(1, 2)
    assert any("cost nothing" in note for note in again.notes)
    assert again.cost.charge().epsilon == 0
    assert db.explain("SELECT region, COUNT(*) FROM t GROUP BY region", epsilon=0.5).stored
    other = db.sql("SELECT region, COUNT(*) AS n FROM t GROUP BY region", epsilon=0.25)
    assert other.cost.charge().epsilon == Fraction(1, 4)
    db.sql("SELECT region, COUNT(*) AS n FROM t GROUP BY region", epsilon=0.25, fresh=True)
    assert db.ledger.spent().epsilon == 1


def test_analysts_share_a_budget_and_no_answers(tmp_path: Path) -> None:
    ada, bob = (database(ledger=tmp_path / "t.ledger", analyst=name) for name in ("ada", "bob"))
    first = ada.sql(COUNT, epsilon=0.25)
    assert ada.sql(COUNT, epsilon=0.25).cost.charge().epsilon == 0
    assert not bob.explain(COUNT, epsilon=0.25).stored
    assert bob.sql(COUNT, epsilon=0.25).cost.charge().epsilon == Fraction(1, 4)
    bob.median("age", epsilon=0.125)
    assert bob.median("age", epsilon=0.125).cost.charge().epsilon == 0
    assert [row["asked by"] for row in ada.history()] == ["ada", "bob", "bob"]
    assert first.provenance is not None
    assert first.provenance.analyst == "ada"
    assert "asked by" not in str(database().history())
    for wrong in ("", " ", "a\nb", "x" * 101, 3):
        with pytest.raises(InvalidParameterError, match="analyst must be a name"):
            database(analyst=wrong)


def test_explain_touches_no_data_and_spends_nothing() -> None:
    db, engine = poisoned()
    said = str(db.explain("SELECT region, COUNT(*), AVG(age) FROM t GROUP BY region", epsilon=0.5))
    for word in ("Laplace", "sensitivity", "95%", "epsilon=0.5", "one person"):
        assert word in said
    assert engine.reads == 0
    assert db.ledger.entries() == []


def test_the_price_is_paid_before_the_look_and_stays_paid() -> None:
    db, engine = poisoned()
    with pytest.raises(ExecutionError) as caught:
        db.sql(COUNT, epsilon=0.25)
    assert engine.reads == 1
    assert db.ledger.spent().epsilon == Fraction(1, 4)
    assert str(caught.value) == str(ExecutionError())
    with pytest.raises(BudgetExceededError):
        db.sql(COUNT, epsilon=0.8)
    assert engine.reads == 1


BAD_PRICES: list[dict[str, object]] = [
    {},
    {"epsilon": 0},
    {"epsilon": -1},
    {"epsilon": float("nan")},
    {"epsilon": float("inf")},
    {"epsilon": True},
    {"epsilon": "much"},
    {"epsilon": [1]},
    {"epsilon": 0.1, "delta": 1},
    {"epsilon": 0.1, "delta": 2},
    {"epsilon": 0.1, "delta": -1e-6},
    {"epsilon": 0.1, "delta": float("nan")},
    {"epsilon": 0.1, "rho": 0.1},
    {"rho": 0},
    {"rho": 0.1, "delta": 1e-6},
    {"delta": 1e-6},
]


@pytest.mark.parametrize("price", BAD_PRICES, ids=str)
def test_a_bad_price_is_refused_and_spends_nothing(price: dict[str, object]) -> None:
    db, engine = poisoned()
    for ask in (db.sql, db.explain):
        with pytest.raises(InvalidParameterError):
            ask(COUNT, **price)  # type: ignore[operator]
    assert engine.reads == 0
    assert db.ledger.entries() == []


BAD_QUERIES = [
    "SELECT SUM(big) FROM t",
    "SELECT COUNT(*) FROM nowhere",
    "SELECT COUNT(nothing) FROM t",
    "SELECT note, COUNT(*) FROM t GROUP BY note",
    "SELECT COUNT(*) FROM t; SELECT 1",
    "SELECT UPPER(region), COUNT(*) FROM t GROUP BY region",
    "SELECT region, CASE WHEN region = 'north' THEN COUNT(*) END FROM t GROUP BY region",
    "SELECT CASE WHEN COUNT(*) > 3 THEN 'many' ELSE 'few' END FROM t",
    "SELECT COUNT(*) FROM t HAVING LOWER(region) = 'x'",
]


@pytest.mark.parametrize("text", BAD_QUERIES)
def test_a_bad_query_is_refused_and_spends_nothing(text: str) -> None:
    db, engine = poisoned()
    for ask in (db.sql, db.explain):
        with pytest.raises(UnsupportedQueryError):
            ask(text, epsilon=0.1)  # type: ignore[operator]
    assert engine.reads == 0
    assert db.ledger.entries() == []


def test_no_message_holds_a_private_value() -> None:
    secret = "7391846502"
    source = pa.table({"person": [1, 2], "note": [secret, f"{secret}-13-45"], "age": [int(secret), 4]})
    columns = {"age": dn.Number(lower=0, upper=100)}
    db = database(source, columns=columns, budget=Budget(epsilon=100))
    asked = [
        "SELECT COUNT(*) FROM t WHERE CAST(note AS DATE) > '2020-01-01'",
        "SELECT COUNT(*) FROM t WHERE CAST(note AS INTEGER) * age * age * age > 0",
        "SELECT SUM(age / (age - age)) FROM t",
        "SELECT note, COUNT(*) FROM t GROUP BY note",
        "SELECT AVG(note) FROM t",
    ]
    for text in asked:
        try:
            said = str(db.sql(text, epsilon=1)) + str(db.explain(text, epsilon=1))
        except DeniableError as error:
            said = str(error)
        assert secret not in said
    assert secret not in repr(db.ledger.entries())


@pytest.mark.parametrize(
    "convert", [lambda t: t, pl.from_arrow, lambda t: t.to_pandas(), lambda t: pl.from_arrow(t).lazy()]
)
def test_frames_of_every_library_give_the_same_integers(convert: Callable[[pa.Table], object]) -> None:
    answers = []
    for source in (frame(), convert(frame().select(["person", "region", "age", "income"]))):
        db = database(source, rows=2, groups=2)
        db._bits = DeterministicBits(3)
        answer = db.sql("SELECT region, COUNT(*) AS n, AVG(age) AS a FROM t GROUP BY region", epsilon=1)
        assert not answer.safe
        answers.append((list(answer["n"]), list(answer["a"])))
    assert answers[0][0] == answers[1][0]
    np.testing.assert_array_equal(answers[0][1], answers[1][1])


def test_test_noise_is_marked_and_never_recalled_as_real() -> None:
    db = database(budget=Budget(epsilon=2))
    fake = Database(db._engine, db.tables, db.ledger, bits=DeterministicBits(1))
    unsafe = fake.sql(COUNT, epsilon=1)
    assert not unsafe.safe
    assert "UNSAFE" in str(unsafe)
    real = db.sql(COUNT, epsilon=1)
    assert real.safe
    assert db.ledger.spent().epsilon == 2


def test_neighbours_see_the_same_noise_the_same_ledger_and_the_same_shape() -> None:
    """Record and replay: with one stream of bits, answers differ by exactly what the secret integers differ by."""
    text = "SELECT region, COUNT(*) AS n, SUM(age) AS s FROM t WHERE note IS NOT NULL GROUP BY region"
    here, there = frame(), frame().slice(3)
    answers, exact, books = [], [], []
    for source in (here, there, frame().slice(0, 0)):
        db = database(source, groups=3)
        db._bits = DeterministicBits(11)
        answer = db.sql(text, epsilon=1)
        answers.append(np.array([answer["n"], answer["s"]]))
        plan = db.explain(text, epsilon=1).plan
        totals = db._engine.exact(plan, secret=bytes(32))
        exact.append(np.array([part.lattice.to_reals(total) for part, total in zip(plan.parts, totals, strict=True)]))
        entry = db.ledger.entries()[0]
        books.append((entry.question, entry.text, entry.charge, entry.mechanisms, answer.columns, len(answer)))
    assert books[0] == books[1] == books[2]
    # COUNT and SUM are made of the base values as they are, so differences are those of the integers
    np.testing.assert_allclose(answers[0] - answers[1], exact[0] - exact[1])
    np.testing.assert_allclose(answers[1] - answers[2], exact[1] - exact[2])


BUDGETS = [
    (Budget(epsilon=1), {"epsilon": 1}, "Laplace"),
    (Budget(epsilon=1), {"rho": 0.01}, "Laplace"),
    (Budget(rho=1), {"rho": 1}, "Gaussian"),
    (Budget(rho=1), {"epsilon": 1}, "Laplace"),
    (Budget(epsilon=1, delta=1e-6), {"epsilon": 1, "delta": 1e-6}, "Laplace"),
    (Budget(mu=1), {"epsilon": 0.5}, "Laplace"),
]


@pytest.mark.parametrize(("budget", "price", "mechanism"), BUDGETS, ids=str)
def test_every_currency_pays(budget: Budget, price: dict[str, object], mechanism: str) -> None:
    db = database(budget=budget)
    said = str(db.explain(COUNT, **price))
    assert mechanism in said
    db.sql(COUNT, **price)
    assert db.ledger.spent() != Charge.nothing()


def test_many_groups_are_cheaper_with_gaussian_noise() -> None:
    source = pa.table({"person": list(range(100)), "g": [0] * 100})
    db = database(source, columns={"g": dn.Keys(range(30))}, groups=30, rows=5, budget=Budget(epsilon=1, delta=1e-6))
    text = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
    pure, approximate = db.explain(text, epsilon=1), db.explain(text, epsilon=1, delta=1e-6)
    assert "Laplace" in str(pure)
    assert "Gaussian" in str(approximate)
    assert approximate.plan.parts[0].law.half_width(0.95) < 0.6 * pure.plan.parts[0].law.half_width(0.95)
    db.sql(text, epsilon=1, delta=1e-6)
    assert db.ledger.spent().delta == Fraction(1, 10**6)


def test_a_budget_without_delta_cannot_pay_for_delta() -> None:
    db = database(budget=Budget(epsilon=1))
    assert "Laplace" in str(db.explain(COUNT, epsilon=1, delta=1e-6))
    with pytest.raises((UnprovedError, BudgetExceededError)):
        database(budget=Budget(mu="1e-3")).sql(COUNT, epsilon=1)


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.05"}], ids=str)
def test_intervals_hold_the_truth_as_often_as_they_say(price: dict[str, object]) -> None:
    """10,000 groups are 10,000 runs. 95% intervals cover 93.5 to 96.5%; a false alarm has probability below 1e-10."""
    cells, people = 10_000, 60
    rng = np.random.default_rng(2)
    ages = rng.integers(20, 80, size=(cells, people))
    source = pa.table({"g": np.repeat(np.arange(cells), people), "age": ages.ravel()})
    db = database(
        source,
        unit=dn.each_row("person"),
        columns={"g": dn.Keys(range(cells)), "age": dn.Number(lower=0, upper=100)},
        budget=Budget(rho=10),
    )
    db._bits = DeterministicBits(4)
    answer = db.sql(
        "SELECT g, SUM(age) AS s, AVG(age) AS a, ROUND(GREATEST(SUM(age), 0)) AS r, "
        "SUM(age) / 2 - 7 AS h FROM t GROUP BY g",
        **price,
    )
    truth = {"s": ages.sum(1), "a": ages.mean(1), "r": ages.sum(1), "h": ages.sum(1) / 2 - 7}
    for name, bounds in answer.intervals(0.95).items():
        covered = np.mean((bounds.lower <= truth[name]) & (truth[name] <= bounds.upper))
        assert 0.935 <= covered <= 0.965, (name, covered)


def test_parquet_csv_and_frames_agree(tmp_path: Path) -> None:
    table = frame().select(["person", "region", "age"])
    pq.write_table(table, tmp_path / "t.parquet")
    table.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    dn.import_csv(tmp_path / "t.csv", dn.guess_csv(tmp_path / "t.csv"))
    columns = {"region": dn.Keys(["north", "south"]), "age": dn.Number(lower=0, upper=100, integer=True)}
    answers = []
    for source in (table, tmp_path / "t.parquet", str(tmp_path / "t.csv")):
        db = database(source, columns=columns, unit=dn.each_row("person"))
        assert isinstance(db._engine, DuckDBEngine)
        db._bits = DeterministicBits(5)
        answers.append(list(db.sql("SELECT region, SUM(age) AS s FROM t GROUP BY region", epsilon=1)["s"]))
    assert answers[0] == answers[1] == answers[2]


def test_a_database_shows_what_is_public_about_it() -> None:
    db = database()
    assert repr(db) == "<Database t: protects one person of t (add/remove); budget epsilon=1; left epsilon=1>"
    columns = {row["column"]: row for row in db.columns}
    assert columns.keys() == {"person (unit)", *frame().column_names} - {"person"}
    assert (columns["age"]["type"], columns["age"]["bounds"]) == ("integer", "0 to 100")
    assert columns["region"]["keys"] == "north, south, west"
    assert str(db.history()) == "nothing was asked yet"
    explained = db.explain(COUNT, epsilon="1/4")
    assert repr(explained) == "<Explanation: SELECT COUNT(*) AS n FROM t; cost epsilon=0.25, rho=0.03125>"
    db.sql(COUNT, epsilon="1/4")
    db.median("age", epsilon="1/4")
    asked = [(row["question"], row["cost"], row["answer kept"]) for row in db.history()]
    assert asked[0] == (COUNT, "epsilon=0.25", "yes")
    assert asked[1][0].startswith("median('age', ")
    assert (db.history()[0]["cost"], db.history()[-1]["question"]) == ("epsilon=0.25", asked[1][0])
    for shown in (db, db.columns, db.history(), db.budget, explained):
        assert "<table" in shown._repr_html_()
    assert "at most 1 row of one person" in db._repr_html_()


def test_the_doctor_of_a_database_prints_and_hands_nothing_back(capsys: pytest.CaptureFixture[str]) -> None:
    db = database()
    assert db.doctor() is None  # type: ignore[func-returns-value]
    said = capsys.readouterr().out
    assert said.startswith("FOR THE OWNER OF THE DATA ALONE")
    assert "rows without a unit" in said
    assert db.ledger.entries() == []
    clean = database(pa.table({"person": [1, 2]}), columns={})
    clean.doctor()
    assert "Nothing is odd" in capsys.readouterr().out


def test_progress_is_checked_before_anything_is_spent() -> None:
    db = database()
    with pytest.raises(InvalidParameterError, match="progress must be a function"):
        db.sql("SELECT COUNT(*) FROM t", epsilon=1, progress=1)  # type: ignore[arg-type]
    shares: list[float] = []
    db.sql("SELECT COUNT(*) FROM t", epsilon=1, progress=shares.append)
    assert shares == []  # of a frame


def test_a_question_may_bring_public_facts_of_its_own() -> None:
    db = database(budget=Budget(epsilon=10**6), groups=2)
    pairs = {"region, member": dn.Keys([("south", None), ("north", True)])}
    text = "SELECT member, region, COUNT(*) AS n FROM t GROUP BY region, member"
    answer = db.sql(text, epsilon=10**5, columns=pairs)
    assert [*zip(answer["member"], answer["region"], strict=True)] == [(None, "south"), (True, "north")]
    assert [*answer["n"]] == [1, 2]
    assert db.explain(text, epsilon=10**5, columns=pairs).stored
    assert not db.explain(text, epsilon=10**5).stored
    assert len(db.sql(text, epsilon=1)) == 6
    ages = {"age": dn.Number(lower=20, upper=31)}
    ask = db.table("t").select(dn.col("age").sum())
    assert ask.release(epsilon=10**5, columns=ages).scalar(unsafe=True) == pytest.approx(30 + 31 + 31 + 20 + 20, abs=1)
    for columns, said in (({"none": dn.Keys([1])}, "none"), ({"age": dn.Keys([(1, 2)])}, "pairs")):
        with pytest.raises(CatalogError, match=said):
            db.sql(text, epsilon=1, columns=columns)
    two = dn.connect({"a": frame(), "b": frame()}, unit="person", columns={"a": COLUMNS}, budget=Budget(epsilon=9))
    of_two = "SELECT note, COUNT(*) FROM b GROUP BY note"
    assert len(two.sql(of_two, epsilon=1, columns={"b": {"note": dn.Keys(["x", "nan"])}})) == 2
    for wrong in ({"note": dn.Keys(["x"])}, {"c": {}}):
        with pytest.raises(CatalogError, match="a mapping for each of the tables a, b"):
            two.sql(of_two, epsilon=1, columns=wrong)

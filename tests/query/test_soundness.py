"""The points on which private query engines have failed, one test each, against the whole engine.

Incidents behind them: OpenDP's audit threads of 2026, Tumult's list of known vulnerabilities, SmartNoise, PipelineDP,
Qrlew, diffprivlib, ZetaSQL. What has a larger test elsewhere is asked here once more, in the smallest form that fails.
Number 14, keys that are found, stands with them; number 40, padded times, is for servers.
"""

import logging
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import BudgetExceededError, DeniableError, ExecutionError, UnsupportedQueryError
from deniable.noise.bits import DeterministicBits
from deniable.query.database import Database
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.engines.duckdb.sql import Generator
from tests.query.conftest import SECRET, plan_of, table_of
from tests.query.test_database import Poisoned

HUGE = 10**6  # of epsilon: noise that rounds away
COLUMNS: dict[str, Any] = {
    "g": dn.Keys(["a", "A", "é", "e\u0301", "a "], null=True),
    "x": dn.Number(lower=-1, upper=4),
    "k": dn.Number(lower=0, upper=9, integer=True),
}
ROWS: dict[str, list[Any]] = {
    "who": [1, 1, 1, 2, 3, 4, 5, None],
    "g": ["a", "a", "a", "A", "é", "e\u0301", None, "a"],
    "x": [0.5, 9.0, float("nan"), -0.0, float("inf"), -7.0, None, 3.0],
    "k": [1, 99, None, 3, -5, 0, 2, 4],
    "t": ["1", "x", "1e400", "2024-13-01", "nan", "", None, "5"],
}
KINDS = {"who": pa.int64(), "g": pa.string(), "x": pa.float64(), "k": pa.int64(), "t": pa.string()}


def source(rows: dict[str, list[Any]] = ROWS) -> pa.Table:
    return pa.table({name: pa.array(values, KINDS[name]) for name, values in rows.items()})


def database(held: pa.Table | None = None, *, epsilon: object = 4 * HUGE, **options: Any) -> Database:
    given = {"unit": "who", "columns": COLUMNS, "budget": dn.Budget(epsilon=epsilon), "name": "t"}
    return dn.connect(source() if held is None else held, **{**given, **options})


def number(text: str, held: pa.Table | None = None, **options: Any) -> float:
    return float(database(held, **options).sql(text, epsilon=HUGE).scalar())


def sensitivities(text: str, **options: Any) -> list[Fraction]:
    engine = DuckDBEngine.from_arrow(source())
    columns = {"x": dn.Number(lower=-1, upper=4), "k": COLUMNS["k"], "g": COLUMNS["g"]}
    parts = plan_of(table_of(engine, unit="who", columns=columns, **options), text).parts
    return [part.sensitivity.l1 * part.lattice.grid for part in parts]  # type: ignore[attr-defined]


def refused(text: str, **options: Any) -> str:
    """The refusal, which read nothing and spent nothing."""
    healthy = database(**options)
    engine = Poisoned(healthy._engine)
    db = Database(engine, healthy.tables, healthy.ledger)
    with pytest.raises(DeniableError) as caught:
        db.sql(text, epsilon=1)
    assert (engine.reads, db.ledger.entries()) == (0, [])
    return str(caught.value)


# Sensitivity ------------------------------------------------------------------------------------------------------


def test_01_the_clamp_is_applied_to_the_final_input_of_the_aggregate() -> None:
    one = source({name: values[1:2] for name, values in ROWS.items()})
    assert number("SELECT SUM(x) FROM t", one) == pytest.approx(4, abs=1e-3)
    assert number("SELECT SUM(x + x) FROM t", one) == pytest.approx(8, abs=1e-3)  # its own range, not that of x
    assert number("SELECT SUM(-x) FROM t", one) == pytest.approx(-4, abs=1e-3)


def test_02_every_mechanism_of_a_ratio_is_charged() -> None:
    db = database(epsilon=1)
    db.sql("SELECT AVG(x) FROM t", epsilon="0.5")
    (entry,) = db.ledger.entries()
    assert len(db.explain("SELECT AVG(x) FROM t", epsilon="0.5").plan.parts) == 2
    assert entry.loss.pure_epsilon == Fraction(1, 2)


def test_03_a_square_has_the_bounds_of_a_square() -> None:
    assert sensitivities("SELECT SUM(x * x) FROM t") == [16]
    assert sensitivities("SELECT SUM(k * k) FROM t") == [81]


def test_04_replacing_doubles_where_it_must() -> None:
    text = "SELECT g, COUNT(*) FROM t GROUP BY g"
    assert sensitivities(text, rows=3, relation=dn.Replace) == [2 * n for n in sensitivities(text, rows=3)] == [6]


def test_05_a_column_that_is_defined_again_loses_its_facts() -> None:
    assert "needs public bounds" in refused("SELECT SUM(x) FROM (SELECT who, LN(k) AS x FROM t) s")
    assert "needs a public list" in refused("SELECT g, COUNT(*) FROM (SELECT who, t AS g FROM t) s GROUP BY g")


def test_06_a_bound_on_rows_is_a_bound_on_change() -> None:
    assert sensitivities("SELECT COUNT(*) FROM t", rows=5, relation=dn.Replace) == [5]
    assert sensitivities("SELECT SUM(x) FROM t", rows=5, relation=dn.Replace) == [25]  # from 5 * -1 to 5 * 4


def test_07_no_bounds_are_a_refusal_and_never_no_noise() -> None:
    assert "needs public bounds" in refused("SELECT SUM(x) FROM t", columns={})


def test_08_the_number_of_rows_is_private() -> None:
    plans = [database(source().slice(0, n)).explain("SELECT AVG(x) FROM t", epsilon=1).to_dict() for n in (0, 8)]
    assert plans[0] == plans[1]


# Types ------------------------------------------------------------------------------------------------------------


def test_09_no_nan_comes_out_of_odd_numbers() -> None:
    odd = [float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 1e308, None, 2.0]
    held = source({**ROWS, "who": list(range(8)), "x": odd})
    assert number("SELECT SUM(x) FROM t", held) == pytest.approx(4 - 1 + 4 + 2, abs=1e-3)
    assert number("SELECT COUNT(x) FROM t", held) == pytest.approx(6, abs=1e-2)
    single = held.set_column(2, "x", pa.array(odd, pa.float64()).cast(pa.float32(), safe=False))
    assert number("SELECT SUM(x) FROM t", single) == pytest.approx(4 - 1 + 4 + 2, abs=1e-3)


@pytest.mark.parametrize("text", ["CAST(t AS INTEGER)", "CAST(t AS DOUBLE)", "CAST(t AS DATE)", "CAST(x AS INTEGER)"])
def test_10_casts_are_total(text: str) -> None:
    assert number(f"SELECT COUNT({text}) FROM t") >= -1


def test_11_sums_of_the_largest_integers_neither_wrap_nor_throw() -> None:
    held = source({**ROWS, "who": list(range(8)), "k": [2**63 - 1] * 8})
    assert number("SELECT SUM(k) FROM t", held) == pytest.approx(72, abs=1e-2)
    assert number("SELECT COUNT(*) FROM t WHERE k + k > 0", held) == pytest.approx(0, abs=1)  # NULL, not an error


def test_12_a_sum_does_not_know_the_order_of_rows_or_the_threads() -> None:
    rng = np.random.default_rng(1)
    x, who = rng.normal(1, 1, 5_000), np.arange(5_000) % 900
    found = set()
    for order, threads in ((np.arange(5_000), 1), (rng.permutation(5_000), 2)):
        held = pa.table({"person": who[order], "x": x[order]})
        engine = DuckDBEngine.from_arrow(held, threads=threads)
        table = table_of(engine, columns={"x": dn.Number(lower=-1, upper=4)}, rows=3)
        found.add(int(engine.exact(plan_of(table, "SELECT SUM(x) FROM t"), secret=SECRET)[0][0]))
    assert len(found) == 1


def test_13_a_corrupt_value_changes_no_success() -> None:
    text = "SELECT COUNT(*) FROM t WHERE CAST(t AS TIMESTAMP) > '2020-01-01' OR LENGTH(t) > 3"
    assert database(source().slice(0, 0)).sql(text, epsilon=1).columns == database().sql(text, epsilon=1).columns


# Groups -----------------------------------------------------------------------------------------------------------


def test_15_a_missing_key_is_an_ordinary_group() -> None:
    answer = database().sql("SELECT g, COUNT(*) AS n FROM t GROUP BY g", epsilon=HUGE)
    assert {row["g"]: round(row["n"]) for row in answer.to_dicts(intervals=False)}[None] == 1


def test_16_every_declared_key_appears_with_noise_also_where_it_is_empty() -> None:
    text = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
    assert len(database().sql(text, epsilon=1)) == len(database(source().slice(0, 0)).sql(text, epsilon=1)) == 6


def test_17_an_empty_table_has_the_schema_of_a_full_one() -> None:
    text = "SELECT g, AVG(x) AS a, COUNT(*) AS n FROM t GROUP BY g"
    full, empty = (database(held).sql(text, epsilon=1).to_arrow().schema for held in (None, source().slice(0, 0)))
    assert full.equals(empty)


def test_18_groups_come_in_the_order_of_their_declaration() -> None:
    answer = database().sql("SELECT g, COUNT(*) AS n FROM t GROUP BY g", epsilon=1)
    assert [row["g"] for row in answer.to_dicts()] == list(COLUMNS["g"].keys)


def test_19_keys_are_not_found_in_the_data_for_nothing() -> None:
    assert refused("SELECT t, COUNT(*) FROM t GROUP BY t")


def test_20_keys_are_equal_where_their_characters_are() -> None:
    answer = database(rows=3).sql("SELECT g, COUNT(*) AS n FROM t GROUP BY g", epsilon=HUGE)
    counts = {row["g"]: round(row["n"]) for row in answer.to_dicts(intervals=False)}
    assert counts == {"a": 3, "A": 1, "é": 1, "e\u0301": 1, "a ": 0, None: 1}


# Noise ------------------------------------------------------------------------------------------------------------


def test_21_noise_is_an_integer_of_the_exact_sampler() -> None:
    answer = database().sql("SELECT COUNT(*) AS n FROM t", epsilon=1)
    assert answer.safe
    assert answer["n"].dtype == np.int64


def test_22_an_answer_that_is_read_twice_has_the_same_numbers() -> None:
    answer = database().sql("SELECT g, COUNT(*) AS n FROM t GROUP BY g", epsilon=1)
    assert answer.to_dicts() == answer.to_dicts()


def test_23_no_statement_of_an_analyst_sets_a_seed_or_turns_noise_off() -> None:
    for text in ("SET seed = 1", "SELECT SETSEED(0.5), COUNT(*) FROM t", "PRAGMA threads=1", "SET noise = false"):
        assert refused(text)


def test_24_nothing_is_drawn_again_because_of_a_noisy_value() -> None:
    """A count of an empty table under much noise: about half of 60 answers are below 0, as they were drawn."""
    db = database(source().slice(0, 0))
    drawn = [int(db.sql("SELECT COUNT(*) AS n FROM t", epsilon="0.01", fresh=True).scalar()) for _ in range(60)]
    assert 12 <= sum(value < 0 for value in drawn) <= 48  # outside once in 10^6


# Ledger -----------------------------------------------------------------------------------------------------------


def test_25_the_charge_is_durable_before_the_engine_runs_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    healthy = database(epsilon=1, ledger=path)

    class Failing(Poisoned):
        def exact(self, plan: Any, *, secret: bytes, progress: Any = None) -> Any:
            assert database(epsilon=1, ledger=path).ledger.spent().epsilon == Fraction(
                1, 2
            )  # another connection sees it
            return super().exact(plan, secret=secret, progress=progress)

    with pytest.raises(ExecutionError):
        Database(Failing(healthy._engine), healthy.tables, healthy.ledger).sql("SELECT COUNT(*) FROM t", epsilon="0.5")
    assert healthy.ledger.spent().epsilon == Fraction(1, 2)


def test_26_ten_tenths_are_one() -> None:
    db = database(epsilon=1)
    for _ in range(10):
        db.sql("SELECT COUNT(*) FROM t", epsilon=0.1, fresh=True)
    with pytest.raises(BudgetExceededError):
        db.sql("SELECT COUNT(*) FROM t", epsilon="1e-9", fresh=True)


def test_27_of_those_who_race_for_the_last_of_a_budget_one_wins(tmp_path: Path) -> None:
    won: list[bool] = []

    def ask(db: Database) -> None:
        try:
            db.sql("SELECT COUNT(*) FROM t", epsilon=1, fresh=True)
            won.append(True)
        except BudgetExceededError:
            won.append(False)

    askers = [threading.Thread(target=ask, args=(database(epsilon=1, ledger=tmp_path / "l"),)) for _ in range(3)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert sorted(won) == [False, False, True]


def test_28_a_crash_between_charge_and_answer_leaves_it_charged(tmp_path: Path) -> None:
    db = database(epsilon=1, ledger=tmp_path / "l")
    db._engine.exact = lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        db.sql("SELECT COUNT(*) FROM t", epsilon="0.5")
    assert database(epsilon=1, ledger=tmp_path / "l").ledger.spent().epsilon == Fraction(1, 2)


def test_29_cost_and_plan_touch_no_row() -> None:
    healthy = database()
    engine = Poisoned(healthy._engine)
    db = Database(engine, healthy.tables, healthy.ledger)
    assert "COUNT(*)" in str(db.explain("SELECT COUNT(*) FROM t", epsilon=1))
    assert (engine.reads, db.ledger.entries()) == (0, [])


def test_30_a_repeat_is_free_however_it_is_written() -> None:
    db = database(epsilon=1)
    first = db.sql("SELECT COUNT(*) AS n FROM t WHERE x > 1 AND k < 3", epsilon=1)
    again = db.sql("select  count(*) as m -- again\nfrom T where 3 > K and X > 1", epsilon=1)
    assert first.scalar() == again.scalar()


@pytest.mark.parametrize(
    "price",
    [{"epsilon": e} for e in (0, -1, float("nan"), float("inf"), True, "x", None)] + [{"epsilon": 1, "delta": 1}],
    ids=range(8),
)
def test_31_a_bad_price_is_refused(price: dict[str, Any]) -> None:
    with pytest.raises(DeniableError):
        database().sql("SELECT COUNT(*) FROM t", **price)


def test_32_a_budget_is_a_filter_for_questions_that_depend_on_answers() -> None:
    db = database(epsilon="0.3")
    total = Fraction(0)
    for number_of in range(9):
        price = Fraction(1, 10) if number_of % 2 else Fraction(1, 20)
        try:
            if float(db.sql("SELECT COUNT(*) FROM t", epsilon=price, fresh=True).scalar()) is not None:
                total += price
        except BudgetExceededError:
            break
    assert total <= Fraction(3, 10)
    assert db.ledger.spent().epsilon == total


# Plan -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM t WHERE my_function(x)", "SELECT COUNT(*) FROM 'file.csv'",
        "SELECT COUNT(*) FROM t TABLESAMPLE 5%", "SELECT COUNT(*) FROM t GROUP BY ALL", "SELECT * EXCLUDE (x) FROM t",
        "SELECT COUNT(*) FROM t NATURAL JOIN t", "SELECT COUNT(*) FROM t; SELECT 1", "SELECT SUM(COUNT(*)) FROM t",
        "WITH RECURSIVE r AS (SELECT 1) SELECT COUNT(*) FROM t",
    ],
)  # fmt: skip
def test_33_what_is_not_listed_is_refused(text: str) -> None:
    assert refused(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM (SELECT * FROM t LIMIT 3) s", "SELECT COUNT(*) FROM (SELECT * FROM t ORDER BY x) s",
        "SELECT COUNT(*) FROM t WHERE RANDOM() < 0.5", "SELECT COUNT(*) FROM t WHERE ROW_NUMBER() OVER () < 3",
        "SELECT COUNT(*) FROM (SELECT DISTINCT x FROM t) s",
    ],
)  # fmt: skip
def test_34_before_the_bound_every_row_is_read_by_itself(text: str) -> None:
    assert refused(text)


def test_35_tables_that_nobody_declared_are_refused() -> None:
    for text in ("SELECT COUNT(*) FROM information_schema.tables", "SELECT COUNT(*) FROM duckdb_settings()"):
        assert refused(text)


def test_36_which_rows_count_is_stable_and_depends_on_the_unit_alone() -> None:
    rng = np.random.default_rng(2)
    mine = {"person": [1] * 12, "g": list(range(6)) * 2}
    others = {"person": rng.integers(2, 9, 50).tolist(), "g": rng.integers(0, 6, 50).tolist()}
    text = "SELECT g, COUNT(*) FROM t GROUP BY g"

    def counts(*parts: dict[str, list[int]]) -> np.ndarray:
        held = pa.table({name: [value for part in parts for value in part[name]] for name in mine})
        engine = DuckDBEngine.from_arrow(held)
        table = table_of(engine, columns={"g": dn.Keys(list(range(6)))}, rows=1, groups=2)
        return engine.exact(plan_of(table, text), secret=SECRET)[0]

    assert (counts(mine, others) - counts(others)).tolist() == counts(mine).tolist()
    assert counts(mine).sum() == 2


def test_37_nothing_is_sampled_so_no_amplification_is_claimed() -> None:
    for text in ("SELECT COUNT(*) FROM t USING SAMPLE 10%", "SELECT COUNT(*) FROM t TABLESAMPLE BERNOULLI (10)"):
        assert refused(text)


def test_38_what_is_public_is_said_in_every_answer() -> None:
    answer = database(rows=2).sql("SELECT COUNT(*) FROM t", epsilon=1)
    assert any("At most 2 rows of one who" in note for note in answer.notes)
    assert answer.protects == "one who of t (add/remove)"


# Side channels ----------------------------------------------------------------------------------------------------


def test_39_every_failure_that_may_depend_on_rows_has_one_text() -> None:
    db = database()

    def broken(*_: object) -> None:
        raise RuntimeError("a private value")

    db._engine.check = lambda plan: None  # type: ignore[method-assign]
    db._engine._run = broken  # type: ignore[attr-defined]
    with pytest.raises(ExecutionError) as caught:
        db.sql("SELECT COUNT(*) FROM t", epsilon=1)
    assert (str(caught.value), caught.value.__cause__, caught.value.__context__) == (str(ExecutionError()), None, None)


def test_41_the_engine_is_locked_and_runs_no_text_of_an_analyst() -> None:
    import duckdb

    db = database()
    for text in (
        "SELECT * FROM read_csv('/etc/passwd')",
        "SET threads = 1",
        "INSTALL httpfs",
        "COPY t TO 'x.csv'",
    ):
        with pytest.raises(duckdb.Error):
            db._engine._connection.execute(text)  # type: ignore[attr-defined]
    plan = db.explain("SELECT COUNT(*) AS evil FROM t AS spy -- note\nWHERE t = 'secret'", epsilon=1).plan
    said = Generator(db._engine._tables).plan(plan, secret=SECRET)  # type: ignore[attr-defined]
    assert not any(word in said for word in ("evil", "spy", "note"))


def test_42_no_log_text_or_traceback_holds_a_value(caplog: pytest.LogCaptureFixture) -> None:
    secret = "Rumpelstiltskin"
    held = source({**ROWS, "t": [secret] * 8, "g": [secret] * 8})
    with caplog.at_level(logging.DEBUG):
        db = database(held)
        db._bits = DeterministicBits(1)
        texts = [repr(db), str(db.columns), db._repr_html_()]
        for text in ("SELECT g, COUNT(*) FROM t GROUP BY g", "SELECT SUM(CAST(t AS INTEGER)) FROM t"):
            try:
                answer = db.sql(text, epsilon=1)
                texts += [str(answer), answer.to_json(), answer._repr_html_()]
            except UnsupportedQueryError as error:
                texts.append(str(error))
        texts += [str(db.history()), caplog.text]
    assert not any(secret in text for text in texts)

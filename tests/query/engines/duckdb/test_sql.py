"""The statement for a plan: what it may hold, and that it stays within reason."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import UnsupportedQueryError
from deniable.query.catalog import DeclaredTable
from deniable.query.engines import dialect
from deniable.query.engines.duckdb import expression as expressions
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.engines.duckdb.sql import Generator
from deniable.query.sql import parse
from tests.query.conftest import SECRET, frame, plan_of, table_of

ENGINE = DuckDBEngine.from_arrow(frame())


def statement(text: str, **options: object) -> str:
    plan = plan_of(table_of(ENGINE, **options), text)  # type: ignore[arg-type]
    return Generator({"": replace(ENGINE._tables[""], text="source")}).plan(plan, secret=SECRET)


def test_nothing_of_the_analysts_text_is_passed_on() -> None:
    said = statement("SELECT /* hello */ COUNT(*) AS evil FROM t AS other -- there\n WHERE note = 'a'' OR 1=1'")
    for word in ("hello", "evil", "other", "there"):
        assert word not in said
    assert "'a'' OR 1=1'" in said


def test_no_float_is_summed() -> None:
    said = statement(
        "SELECT region, SUM(income), AVG(income * 2), COUNT(income) FROM t GROUP BY region", rows=3, groups=2
    )
    assert "AS BIGINT" in said
    assert "avg(" not in said.lower()


def test_units_are_bounded_only_where_they_may_go_beyond() -> None:
    text = "SELECT region, COUNT(*) FROM t GROUP BY region"
    assert "counted" in statement(text, groups=2)
    assert "counted" not in statement(text, groups=3)
    assert "pairs" not in statement(text, unit=None)
    assert "heavy" in statement(text, total_rows=4)


def test_a_count_reads_the_value_of_its_sum() -> None:
    said = statement("SELECT AVG(income) FROM t", unit=None)
    assert said.count(" AS x") == 1


NESTED = {  # each needs its value several times
    "LEAST": ("age", "LEAST({}, 7)"),
    "ROUND": ("income", "ROUND({}, 1)"),
    "WIDTH_BUCKET": ("income", "WIDTH_BUCKET({}, 0, 90, 9)"),
    "%": ("age", "7 % ({})"),
    "/": ("income", "7 / ({})"),
    "NULLIF": ("income", "NULLIF({}, 99.25)"),
    "CAST": ("CAST(day AS TEXT)", "CAST(CAST({} AS DATE) AS TEXT)"),
}


def nested(name: str, levels: int) -> str:
    text, outer = NESTED[name]
    for _ in range(levels):
        text = outer.format(text)
    return text


@pytest.mark.parametrize("name", NESTED)
def test_the_length_of_a_statement_is_linear_in_that_of_its_text(name: str) -> None:
    levels = (3, 4, 5) if name == "WIDTH_BUCKET" else (6, 9, 12)  # the size of an expression is limited too
    short, middle, long = (len(statement(f"SELECT COUNT({nested(name, each)}) FROM t")) for each in levels)
    assert long - middle <= 1.1 * (middle - short)


@pytest.mark.parametrize("name", NESTED)
def test_a_value_is_the_same_written_once_and_several_times(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = []
    parsed = parse(f"SELECT COUNT({nested(name, 2)}) FROM t", {"t": table_of(ENGINE)}).question.aggregates[0].argument
    assert parsed is not None
    for short in (0, 10**9):
        for module in (dialect, expressions):
            monkeypatch.setattr(module, "SHORT", short)
        sql = ENGINE._tables[""].expression(parsed)
        assert ("list_transform" in sql) == (short == 0)
        answers.append(ENGINE._run(f"SELECT {sql} FROM {ENGINE._tables[''].text}"))
    assert answers[0] == answers[1]
    assert len({row[0] for row in answers[0]}) > 1


def test_a_statement_of_absurd_length_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialect, "LONGEST", 500)
    with pytest.raises(UnsupportedQueryError, match="deeply nested"):
        statement(f"SELECT SUM({nested('LEAST', 30)}) FROM t")


def test_no_column_hides_behind_the_name_of_a_value() -> None:
    inner = 'SELECT person, income AS "(value 0)" FROM t'
    with pytest.raises(UnsupportedQueryError, match="Rename it"):
        statement(f'SELECT COUNT(WIDTH_BUCKET(ROUND("(value 0)", 1), 0, 90, 9)) FROM ({inner})')


@pytest.mark.parametrize("bits", ["int8", "uint8"])
def test_numbers_of_few_bits_never_stop_a_question(bits: str) -> None:
    """An error that some row causes would tell of it, exactly: 100 in the first of two keys did."""
    held = pa.array([0, 3, 100], bits)
    source = pa.table({"who": [1, 2, 3], "k": held, "j": held})
    numbers = dn.Number(lower=0, upper=100, integer=True)
    table = DeclaredTable(
        name="t",
        schema=(engine := DuckDBEngine.from_arrow(source)).schema(),
        unit=dn.PrivacyUnit(column="who", noun="person"),
        columns={"k": numbers, "j": numbers},
        rows=2,
    )
    for total in ("COUNT(*)", "SUM(j)", "COUNT(DISTINCT j)"):
        (exact,) = engine.exact(plan_of(table, f"SELECT k, j, {total} FROM t GROUP BY k, j"), secret=SECRET)
        assert set(np.flatnonzero(exact)) <= {0, 3 * 101 + 3, 100 * 101 + 100}
        assert exact[-1] > 0

"""What every dialect promises. That values agree is tested on each engine, against tests/query/engines/contract.py."""

import re
from datetime import date
from itertools import pairwise, product

import duckdb
import pytest

from deniable.errors import UnsupportedQueryError
from deniable.query.engines.dialect import MOMENT, Dialect, Keyed, Translator, filled, letters
from deniable.query.engines.duckdb.expression import DUCKDB
from deniable.query.engines.postgres.expression import Postgres
from deniable.query.engines.spark.expression import Spark
from deniable.query.expression import Column, Facts, Kind, literal
from deniable.query.operators import OPERATORS, call
from tests.query.engines import contract

DIALECTS = [DUCKDB, Postgres(), Spark()]


def test_the_contract_holds_every_operator_and_every_answer_of_the_reference() -> None:
    assert set(contract.expected()) == set(contract.CALLS)
    assert {each.operator for each in contract.CALLS} == set(OPERATORS)  # type: ignore[union-attr]
    answers = [value for values in contract.expected().values() for value in values]
    assert not any(value != value for value in answers)


def test_a_wrong_answer_and_an_operator_that_is_missing_are_found() -> None:
    answers = dict(contract.expected())
    contract.check(answers, refused=set())
    expression = call("add", contract.C["i"], contract.C["j"])
    for bad in (0.0, "x", None):
        with pytest.raises(AssertionError):
            contract.check({**answers, expression: [bad] * contract.table().num_rows}, refused=set())
    del answers[expression]
    with pytest.raises(AssertionError):
        contract.check(answers, refused=set())


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_what_an_engine_cannot_do_is_refused_in_words(dialect: Dialect) -> None:
    column = Column("x", Facts(kind=Kind.REAL))
    types = {"x": dialect.types[Kind.REAL].lower() if dialect is not DUCKDB else "DOUBLE"}
    for key, advice in dialect.refused.items():
        name = key.split()[0]
        arguments = [column] * (2 if name in ("power", "modulo") else 1)
        with pytest.raises(UnsupportedQueryError, match=re.escape(f"not computed alike on {dialect.name}. {advice}")):
            Translator(dialect, types).expression(call(name, *arguments))
    with pytest.raises(UnsupportedQueryError, match="within"):
        dialect.constant(2**63)
    with pytest.raises(UnsupportedQueryError, match="NUL"):
        dialect.constant("a\0b")


@pytest.mark.parametrize("dialect", DIALECTS[1:], ids=lambda dialect: dialect.name)
def test_nesting_does_not_multiply_an_expression(dialect: Dialect) -> None:
    types = {"x": dialect.types[Kind.REAL].lower()}
    made, sizes = Column("x", Facts(kind=Kind.REAL)), []
    for _ in range(70):
        made = call("subtract", call("sqrt", call("abs", made)), literal(1)) if dialect is DIALECTS[1] else made  # type: ignore[assignment]
        made = call("round", call("least", made, literal(1)), literal(2)) if dialect is DIALECTS[2] else made  # type: ignore[assignment]
        sizes.append(len(Translator(dialect, types).expression(made)))
        if len(sizes) == 6:
            break
    steps = [after - before for before, after in pairwise(sizes)]
    assert max(steps) == min(steps)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_value_that_is_needed_several_times_is_written_once(dialect: Dialect) -> None:
    """As WIDTH_BUCKET needs it: three times, so that each level tripled the text."""
    types = {"x": "DOUBLE" if dialect is DUCKDB else dialect.types[Kind.REAL].lower()}
    made, sizes = Column("x", Facts(kind=Kind.REAL)), []
    for _ in range(6):
        share = call("subtract", made, literal(1))
        made = call("case", call("lt", made, literal(0)), literal(0), call("ge", made, literal(9)), literal(9), share)  # type: ignore[assignment]
        sizes.append(len(Translator(dialect, types).expression(made)))
    steps = [after - before for before, after in pairwise(sizes[2:])]  # a short value may stand there several times
    assert max(steps) <= 1.05 * min(steps)


def test_arguments_are_placed_whatever_they_hold() -> None:
    assert filled("f($2, $1, $*, $+)", ["'$2'", "$1"]) == "f($1, '$2', '$2', $1, $1)"


def test_text_is_a_day_where_the_calendar_has_it() -> None:
    for year, month, day in product((0, 1, 4, 100, 200, 400, 1900, 2000, 2023, 2024, 9999), range(14), range(33)):
        try:
            wanted = date(year, month, day) is not None
        except ValueError:
            wanted = False
        assert (re.fullmatch(MOMENT, f"{year:04}-{month:02}-{day:02}") is not None) == wanted


def test_groups_are_ranked_as_specified_and_none_is_favoured() -> None:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("source", contract.table())
        assert connection.execute(contract.orders(DUCKDB)).fetchall() == contract.expected_orders()
        for seed in ("u", "hash(u)::BIGINT"):  # units in a row, and units all over
            ranked = Keyed(contract.SECRET, seed.replace("hash(u)", "(hash(u) >> 2)")).ranks()
            counts = connection.execute(
                f"WITH ranks AS (SELECT cell, rank() OVER (PARTITION BY u ORDER BY {ranked}) AS place "
                "FROM range(20000) AS a(u), range(10) AS b(cell)) "
                "SELECT count(*) FROM ranks WHERE place <= 3 GROUP BY cell"
            ).fetchall()
            # 20000 units that each choose 3 of 10: chi-squared with 9 degrees of freedom exceeds 45 once in 10**6
            assert sum((count - 6000) ** 2 for (count,) in counts) / 6000 / 0.7 * 0.9 < 45
    for kind in (Kind.REAL, Kind.TIMESTAMP):
        with pytest.raises(UnsupportedQueryError, match="units and different values are"):
            DIALECTS[1].seed("u", kind)


def test_letters_change_one_by_one_and_a_change_is_final() -> None:
    for name in ("lower", "upper"):
        old, new = letters(name)
        assert len(old) == len(new) == len(set(old)) > 1000
        assert not set(new) & set(old)

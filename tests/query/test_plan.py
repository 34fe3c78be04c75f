"""The key of a question: equal for equal questions, different for all others."""

from dataclasses import replace
from fractions import Fraction

import pytest

from deniable.mechanisms.price import Price
from deniable.query.declarations import Keys, Number, Text
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.naming import named
from deniable.query.plan import PricedPlan
from deniable.query.rules import price
from deniable.query.sql import parse
from tests.query.conftest import COLUMNS, frame, table_of

ENGINE = DuckDBEngine.from_arrow(frame())


def plan(text: str, epsilon: int = 1, **options: object) -> PricedPlan:
    table = table_of(ENGINE, **options)  # type: ignore[arg-type]
    return named(price(parse(text, {"t": table}), Price(epsilon=Fraction(epsilon))))


BASE = "SELECT region, SUM(age) AS s FROM t WHERE member GROUP BY region"


def test_spelling_and_post_processing_do_not_matter() -> None:
    key = plan(BASE).key
    for text in (
        "select REGION, sum( age ) as total from T where MEMBER group by 1",
        BASE + " HAVING SUM(age) > 3 ORDER BY s LIMIT 1",
        "SELECT SUM(age) * 2 AS twice FROM t AS x WHERE x.member GROUP BY x.region",
    ):
        assert plan(text).key == key


def test_one_question_has_one_key_however_it_is_written() -> None:
    text = (
        "SELECT region, COUNT(*) AS n, SUM(age) AS s, AVG(income * age) FROM t "
        "WHERE member AND age > 3 AND note IN ('a', 'b') AND (big + age = 4 OR zero <> big) GROUP BY region"
    )
    rewritten = (
        "select AVG(age * income), region as place, sum(Age), count(*) from T where (big <> zero or 4 = age + big) "
        "and ((3 < age and member) and note in ('b','a')) group by region"
    )
    one, other = plan(text), plan(rewritten)
    assert one.key == other.key
    assert [part.aggregate.to_json() for part in one.parts] == [part.aggregate.to_json() for part in other.parts]
    assert plan(text.replace("age > 3", "age < 3")).key != one.key
    assert plan(text.replace("zero <> big", "zero > big")).key != plan(text.replace("zero <> big", "big > zero")).key


def test_everything_else_matters() -> None:
    narrower = {**COLUMNS, "age": Number(lower=0, upper=99)}
    mirrored = {**COLUMNS, "age": Number(lower=-100, upper=100)}
    reordered = {**COLUMNS, "region": Keys(["south", "north", "west"])}
    plans = [
        plan(BASE),
        plan(BASE, epsilon=2),
        plan(BASE.replace("member", "NOT member")),
        plan(BASE.replace("SUM", "COUNT")),
        plan(BASE.replace("age", "income")),
        plan(BASE, rows=2),
        plan(BASE, groups=2),
        plan(BASE, unit=None),
        plan(BASE, columns=narrower),
        plan(BASE, columns=mirrored),
        plan(BASE, columns=reordered),
    ]
    assert len({each.key for each in plans}) == len(plans)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT MEDIAN(age) FROM t",
        "SELECT COUNT(*) FROM (SELECT person, SUM(income) AS x FROM t GROUP BY person) WHERE x > 3",
    ],
)
def test_bounds_matter_where_they_are_not_in_the_text(text: str) -> None:
    bounds = [(0, 100), (1, 100), (0, 99)]
    columns = [{"age": Number(lower=low, upper=high), "income": Number(lower=low, upper=high)} for low, high in bounds]
    assert len({plan(text, columns=each).key for each in columns}) == 3


def test_the_kind_of_a_column_matters() -> None:
    text = "SELECT COUNT(*) FROM t WHERE note < region"
    as_text = plan(text, columns={"region": Text()})
    as_number = plan(text, columns={"region": Number(integer=True), "note": Number(integer=True)})
    assert as_text.key != as_number.key


def test_errors_and_deviations_are_in_the_unit_of_the_aggregate() -> None:
    (part,) = plan("SELECT SUM(income) FROM t").parts
    assert 290 < part.law.half_width(0.95) < 310  # Laplace of scale 100: 100 ln 20 = 299.6
    assert abs(part.law.standard_deviation() - 100 * 2**0.5) < 0.01
    coarse = replace(part, lattice=type(part.lattice)(exponent=part.lattice.exponent - 1))
    assert coarse.law.half_width(0.95) == 2 * part.law.half_width(0.95)

"""Clauses to plans: groups, outputs, order, and which aggregates are shared."""

import re
from fractions import Fraction

import pytest

from deniable.errors import UnsupportedQueryError
from deniable.mechanisms.price import Price
from deniable.query.clauses import with_keys
from deniable.query.declarations import Keys, Number
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.expression import Column, Facts, Key, Kind
from deniable.query.rules import price
from deniable.query.sql import parse
from tests.query.conftest import COLUMNS, SECRET, frame, table_of

ENGINE = DuckDBEngine.from_arrow(frame())
TABLE = table_of(ENGINE)


def aggregates(text: str, **columns: object) -> list[tuple[str, Fraction]]:
    table = table_of(ENGINE, columns={**COLUMNS, **columns})  # type: ignore[dict-item]
    return [(a.function, getattr(a, "centre", 0)) for a in parse(text, {"t": table}).question.aggregates]


def test_the_centre_lies_on_a_coarse_binary_grid_inside_the_range() -> None:
    for lower, upper in (("0.1", "0.2"), ("-1000", "1e6"), ("1e-9", "3e-9"), ("0", "100")):
        (_, centre), _ = aggregates("SELECT AVG(income) FROM t", income=Number(lower=lower, upper=upper))
        low, high = Fraction(lower), Fraction(upper)
        assert low <= centre <= high
        assert abs(centre - (low + high) / 2) <= (high - low) / 1024
        assert centre.denominator & (centre.denominator - 1) == 0


def test_an_average_of_filled_values_shares_the_count_of_rows() -> None:
    filled = Number(lower=0, upper=100, null=0)
    assert aggregates("SELECT COUNT(*), AVG(age) FROM t", age=filled) == [("count", 0), ("sum", 50)]
    assert len(aggregates("SELECT COUNT(*), AVG(age) FROM t")) == 3


def test_filters_belong_to_their_aggregate() -> None:
    query = parse(
        "SELECT SUM(age) FILTER (WHERE member), SUM(age), COUNT(*) FILTER (WHERE member) FROM t", {"t": TABLE}
    )
    assert len(query.question.aggregates) == 3
    assert query.question.where is None


def test_default_names_are_distinct() -> None:
    query = parse("SELECT COUNT(*), COUNT(*), COUNT(age), SUM(age) / 2, region FROM t GROUP BY region", {"t": TABLE})
    assert [output.name for output in query.outcome.outputs] == ["count", "count_2", "count_age", "column_4", "region"]


def test_an_alias_may_be_grouped_by_unless_it_is_a_column() -> None:
    query = parse("SELECT age > 18 AS adult, COUNT(*) FROM t GROUP BY adult", {"t": TABLE})
    assert query.question.key_values == ((False, True),)
    with pytest.raises(UnsupportedQueryError, match="neither grouped"):
        parse("SELECT age > 18 AS region, COUNT(*) FROM t GROUP BY region", {"t": TABLE})


def test_a_name_means_the_group_in_having_and_the_output_in_order_by() -> None:
    text = "SELECT SUM(age) AS member, COUNT(*) FROM t GROUP BY t.member HAVING member ORDER BY member, t.member"
    outcome = parse(text, {"t": TABLE}).outcome
    assert outcome.having == Column("key 0", TABLE.column("member").facts)
    assert [ordering.expression.name for ordering in outcome.order] == ["base 1", "key 0"]  # COUNT(*) is 0


def test_a_narrow_range_far_from_zero_has_a_centre_and_fine_steps() -> None:
    table = table_of(ENGINE, columns={"income": Number(lower="1.7e9", upper="1700000000.3")})
    query = parse("SELECT AVG(income) FROM t", {"t": table})
    part = query.question.aggregates[0].bounded(query.question)
    assert part.lattice.grid < Fraction(1, 10**5)
    assert (part.upper - part.lower) * part.lattice.grid < Fraction(31, 100)


def test_bounded_whole_numbers_have_keys_and_others_do_not() -> None:
    bounded = Column("x", Facts(kind=Kind.INTEGER, lower=Fraction(-1), upper=Fraction(2)))
    assert with_keys(bounded).facts.keys == (-1, 0, 1, 2)
    for facts in (
        Facts(kind=Kind.REAL, lower=Fraction(0), upper=Fraction(2)),
        Facts(kind=Kind.INTEGER, lower=Fraction(0), upper=Fraction(10**6)),
        Facts(kind=Kind.TEXT),
    ):
        with pytest.raises(UnsupportedQueryError, match="public list"):
            with_keys(Column("x", facts))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT region, COUNT(*) FROM t GROUP BY region, region",
        "SELECT COUNT(*) FROM t GROUP BY DAYOFYEAR(day), DAYOFYEAR(seen), FLOOR(age), FLOOR(age + 1)",
        "SELECT region, COUNT(*) FROM t GROUP BY region ORDER BY 0",
        "SELECT COUNT(*) FROM t LIMIT -1",
    ],
)
def test_clauses_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(UnsupportedQueryError):
        parse(text, {"t": TABLE})


@pytest.mark.parametrize(
    ("written", "again", "keys", "expected"),
    [
        ("upper(t.region)", "UPPER(region)", ["NORTH"], [5]),
        ("zero + 1", "1 + (t.zero)", [1, 3], [6, 1]),
        ("CAST(note AS BIGINT)", "TRY_CAST(t.note AS INT)", [12], [1]),
        ("SUBSTRING(note, 1, 2)", "substr(note, 1, 2)", ["12", "20"], [1, 1]),
        ("year(day)", "EXTRACT(year FROM day)", [2024], [1]),
        ("COALESCE(note, 'none')", "coalesce(t.note, 'none')", ["none"], [1]),
    ],
)
def test_groups_of_an_expression_are_declared_as_the_refusal_says(
    written: str, again: str, keys: list[Key], expected: list[int]
) -> None:
    """However the expression is written, in the declaration and in queries."""
    plain = table_of(ENGINE, unit=None, columns={})
    with pytest.raises(UnsupportedQueryError, match="public list") as refused:
        parse(f"SELECT COUNT(*) FROM t GROUP BY {written}", {"t": plain})
    said = re.search(r"columns=\{['\"](.*)['\"]: dn.Keys", str(refused.value))
    names = [again] if said is None else [said[1], again]  # years have a cure of their own
    for name in names:
        table = table_of(ENGINE, unit=None, columns={name: Keys(keys, null=True)})
        for text in (written, again):
            plan = price(parse(f"SELECT {text}, COUNT(*) FROM t GROUP BY 1", {"t": table}), Price(epsilon=Fraction(1)))
            assert plan.query.question.key_values == ((*keys, None),)
            assert ENGINE.exact(plan, secret=SECRET)[0].tolist()[:-1] == expected
    assert again in [column for column, *_ in table.described()]

"""Aggregates of one unit's rows: their facts, and what is refused."""

import pytest

from deniable.errors import UnsupportedQueryError
from deniable.query.sql import parse
from tests.query.test_table_expression import engine_of, plan_of, tables_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT item, COUNT(*) AS n FROM orders GROUP BY item", "the rows of each unit"),
        ("SELECT buyer + 0 AS b, COUNT(*) AS n FROM orders GROUP BY buyer + 0", "the rows of each unit"),
        ("SELECT COUNT(*) AS n FROM orders", "the rows of each unit"),
        ("SELECT DISTINCT item FROM orders", "the rows of each unit"),
        ("SELECT DISTINCT ON (buyer) item FROM orders", "ON in DISTINCT"),
        ("SELECT DISTINCT buyer, COUNT(*) AS n FROM orders GROUP BY buyer", "DISTINCT beside aggregates"),
        ("SELECT buyer, item FROM orders GROUP BY buyer", "neither grouped nor aggregated"),
        ("SELECT buyer, SUM(paid * item) AS n FROM orders GROUP BY buyer", "within which sums are exact"),
        ("SELECT buyer, MAX(region) AS n FROM people GROUP BY buyer", "takes numbers, got a value of kind text"),
        ("SELECT buyer, VAR_POP(paid) AS n FROM orders GROUP BY buyer", "in a subquery is not supported"),
        ("SELECT buyer, COUNT(DISTINCT item) AS n FROM orders GROUP BY buyer", "in a subquery is not supported"),
        ("SELECT label, COUNT(*) AS n FROM items GROUP BY label", "every table of the query is public"),
    ],
)
def test_what_is_not_of_one_unit_or_not_exact_is_refused(text: str, words: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=words):
        plan_of(f"SELECT COUNT(*) FROM ({text}) u", tables_of(engine_of([], [])))


def test_facts_hold_for_any_number_of_rows() -> None:
    text = """SELECT COUNT(*) FROM (SELECT buyer, COUNT(*) AS n, SUM(paid) AS s, SUM(ABS(paid)) AS p, AVG(paid) AS m,
        MIN(paid) AS low, SUM(paid) FILTER (WHERE item > 1) AS f FROM orders GROUP BY buyer)"""
    source = parse(text, tables_of(engine_of([], []))).question.source
    found = {name: (source.column(name).facts.lower, source.column(name).facts.upper) for name in source.names}
    assert found == {
        "buyer": (None, None), "n": (0, None), "s": (None, None), "p": (0, None), "m": (-2, 4), "low": (-2, 4),
        "f": (None, None),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reach"),
    [  # orders lets 10 rows of a buyer count in each of 3 groups; where a buyer has one row, its clamp is the buyer's
        ("SELECT SUM(paid) FROM orders", 40),
        ("SELECT SUM(LEAST(GREATEST(t, 0), 5)) FROM (SELECT buyer, SUM(paid) AS t FROM orders GROUP BY buyer) u", 5),
        (
            "SELECT t, SUM(t) FROM (SELECT buyer, CASE WHEN SUM(paid) > 1 THEN 1 ELSE 3 END AS t FROM orders "
            "GROUP BY buyer) u WHERE t > 0 GROUP BY t",
            3,
        ),
        (
            "SELECT SUM(LEAST(GREATEST(t, 0), 5)) FROM (SELECT buyer, SUM(paid) AS t FROM orders GROUP BY buyer) u "
            "JOIN orders o USING (buyer)",
            50,
        ),
        (
            "SELECT SUM(LEAST(GREATEST(t, 0), 5)) FROM (SELECT buyer, item, SUM(paid) AS t FROM orders "
            "GROUP BY buyer, item) u",
            50,
        ),
    ],
)
def test_the_smaller_of_both_clamps_counts(text: str, reach: int) -> None:
    (part,) = plan_of(text, tables_of(engine_of([], []), rows=10, groups=3)).parts
    assert part.sensitivity.l1 * part.lattice.grid == reach  # type: ignore[attr-defined]

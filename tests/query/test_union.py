"""UNION ALL keeps kinds, facts and units of all its branches, or is refused."""

import pytest

from deniable.errors import UnsupportedQueryError
from deniable.query.sql import parse
from tests.query.test_table_expression import engine_of, plan_of, tables_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT buyer FROM orders UNION ALL SELECT buyer, region FROM people", "1 columns to 2"),
        ("SELECT paid FROM orders UNION ALL SELECT buyer FROM people", "CAST one of them"),
        ("SELECT item FROM orders UNION ALL SELECT item FROM items", "have no unit"),
        ("SELECT item FROM orders UNION SELECT item FROM orders", "DISTINCT in UNION"),
        ("SELECT item FROM orders UNION ALL BY NAME SELECT item FROM orders", "BY NAME in UNION"),
        ("(SELECT item FROM orders LIMIT 2) UNION ALL SELECT item FROM orders", "not supported|other units"),
        ("SELECT item FROM orders EXCEPT SELECT item FROM orders", "got EXCEPT"),
    ],
)
def test_branches_that_do_not_fit_are_refused(text: str, words: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=words):
        plan_of(f"SELECT COUNT(*) FROM ({text}) u", tables_of(engine_of([], [])))


def test_a_column_has_the_facts_that_hold_in_every_branch() -> None:
    union = "(SELECT paid, region FROM orders JOIN people USING (buyer) UNION ALL SELECT 7.5, 'w' FROM orders) u"
    tables = tables_of(engine_of([], []))
    facts = parse(f"SELECT SUM(paid), COUNT(*) FROM {union}", tables).question.source.column("paid").facts
    assert (facts.lower, facts.upper) == (-2, 7.5)
    assert parse(f"SELECT region, COUNT(*) FROM {union} GROUP BY region", tables).question.key_values == (
        ("n", "s", "w"),
    )
    with pytest.raises(UnsupportedQueryError, match="needs public bounds"):
        parse("SELECT SUM(x) FROM (SELECT paid AS x FROM orders UNION ALL SELECT LN(paid) FROM orders)", tables)

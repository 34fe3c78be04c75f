"""FROM: joins and subqueries count what SQL counts, and what would mix units is refused."""

import pytest

from deniable.errors import UnsupportedQueryError
from tests.query.test_table_expression import Rows, engine_of, plan_of, tables_of, totals

ORDERS: Rows = [(1, 1, 1.0), (1, 2, 9.0), (2, 1, -5.0), (2, 2, None), (3, None, 2.0), (None, 1, 3.0), (7, 2, 1.5)]
PEOPLE: Rows = [(1, "n"), (2, "s"), (2, "n"), (3, "elsewhere"), (None, "s")]
LINES: Rows = [(1, 1.0), (2, 0.5), (2, 1.0), (3, 1.0), (None, 1.0)]  # orders 1 of buyers 1 and 2, 2 of 1, 2 and 7
JOINED = {  # the text, and what it counts, by hand: at most 50 rows of a buyer in a group
    "SELECT COUNT(*) FROM orders JOIN people USING (buyer)": [7],
    "SELECT COUNT(*) FROM orders o LEFT JOIN people p ON p.buyer = o.buyer": [8],
    "SELECT region, COUNT(*) FROM orders JOIN people USING (buyer) GROUP BY region": [4, 2],
    "SELECT label, COUNT(*) FROM orders JOIN items USING (item) GROUP BY label": [5, 3],
    "SELECT label, COUNT(*) FROM items i JOIN orders o ON o.item = i.item GROUP BY label": [5, 3],
    "SELECT region, label, COUNT(*) FROM orders JOIN people USING (buyer) JOIN items USING (item) "
    "GROUP BY region, label": [4, 2, 2, 1],
    "SELECT COUNT(DISTINCT o.buyer) FROM orders o JOIN people p ON o.buyer = p.buyer WHERE p.region = 'n'": [2],
    "SELECT COUNT(*) FROM orders a JOIN orders b USING (buyer)": [10],
    "WITH big AS (SELECT buyer AS who, paid * 2 AS twice FROM orders WHERE paid > 1) SELECT COUNT(*) FROM big": [3],
    "SELECT COUNT(*) FROM (SELECT buyer, item + 1 AS next FROM orders) o JOIN people p ON o.buyer = p.buyer "
    "WHERE next = 2": [3],
    "SELECT COUNT(*) FROM lines": [8],
    "SELECT COUNT(*) FROM lines JOIN orders USING (item)": [8],
    "SELECT COUNT(*) FROM orders LEFT JOIN lines USING (item)": [9],
    "SELECT COUNT(*) FROM lines a JOIN lines b USING (item)": [14],
    "SELECT region, COUNT(*) FROM lines JOIN orders o USING (item) JOIN people p ON p.buyer = o.buyer "
    "GROUP BY region": [6, 3],
    "SELECT COUNT(*) FROM (SELECT buyer, item FROM orders UNION ALL (SELECT buyer AS who, 2 FROM people) UNION ALL "
    "SELECT buyer, item FROM orders) WHERE item = 2": [10],
    "SELECT region, COUNT(*) FROM (SELECT buyer, 'n' AS region FROM orders UNION ALL SELECT * FROM people) "
    "GROUP BY region": [8, 1],
    "SELECT COUNT(*) FROM (SELECT buyer, SUM(item) AS total, COUNT(*) AS n FROM orders GROUP BY 1 HAVING n > 1) "
    "WHERE total = 3": [2],
    "SELECT COUNT(*) FROM (SELECT DISTINCT buyer, region FROM people)": [4],
    "SELECT COUNT(k) FROM lines LEFT JOIN (SELECT item, 1 AS k FROM orders) o USING (item)": [8 * 2**20],
    "SELECT COUNT(*) FROM (SELECT buyer, MIN(paid) AS low, MAX(paid) AS high, AVG(paid) AS mean, SUM(paid) AS total "
    "FROM orders GROUP BY buyer) WHERE low <= high AND (total = 5 OR mean = -2)": [2],
    "SELECT COUNT(*) FROM orders WHERE item IN (SELECT item FROM items WHERE label = 'y' AND item > 0)": [3],
    "SELECT COUNT(*) FROM orders WHERE NOT item IN (SELECT item FROM items WHERE label = 'z')": [6],
    "SELECT COUNT(*) FROM (SELECT * FROM orders JOIN people USING (buyer)) WHERE region = 'n' AND buyer < 3": [4],
    "SELECT COUNT(*) FROM orders WHERE item = (SELECT MAX(item) FROM items)": [3],
    "SELECT COUNT(*) FROM orders JOIN (SELECT item, COUNT(*) AS n FROM items GROUP BY item) k USING (item) "
    "WHERE n = 2": [3],
}


@pytest.mark.parametrize(("text", "found"), JOINED.items(), ids=range(len(JOINED)))
def test_joins_count_what_sql_counts(text: str, found: list[int]) -> None:
    assert totals(text, ORDERS, PEOPLE, LINES, rows=50, groups=50)[1] == [found]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT COUNT(*) FROM orders a JOIN orders b ON a.item = b.item", "rows of different units"),
        ("SELECT COUNT(*) FROM orders o JOIN people p ON o.buyer = p.buyer + 0", "rows of different units"),
        ("SELECT COUNT(*) FROM orders JOIN (SELECT buyer + 1 AS buyer FROM people) USING (buyer)", "different units"),
        ("SELECT COUNT(*) FROM items", "every table of the query is public"),
        ("SELECT COUNT(*) FROM items LEFT JOIN orders USING (item)", "Put the private table on the left"),
        ("SELECT COUNT(*) FROM orders, people", "needs ON or USING"),
        ("SELECT COUNT(*) FROM orders CROSS JOIN people", "JOIN or LEFT JOIN"),
        ("SELECT COUNT(*) FROM orders NATURAL JOIN people", "not supported"),
        ("SELECT COUNT(*) FROM orders FULL JOIN people USING (buyer)", "JOIN or LEFT JOIN"),
        ("SELECT COUNT(*) FROM orders JOIN people ON orders.buyer > people.buyer", "ON takes equal columns"),
        ("SELECT COUNT(*) FROM orders o JOIN items i ON o.paid = i.item", "joined by whole numbers"),
        ("SELECT COUNT(*) FROM orders o JOIN items i ON o.item = i.label", "CAST one of them"),
        ("SELECT buyer, COUNT(*) FROM orders o JOIN people p ON o.buyer = p.buyer GROUP BY buyer", "several tables"),
        ("SELECT SUM(paid) FROM (SELECT paid * item AS paid FROM orders)", "needs public bounds"),
        ("SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM orders GROUP BY item)", "aggregates the rows of each unit"),
        ("SELECT COUNT(*) FROM (SELECT item FROM orders LIMIT 1)", "by those of other units"),
        ('SELECT COUNT(*) FROM (SELECT item AS "(unit)" FROM orders)', "two columns would be called"),
        ('SELECT COUNT(*) FROM (SELECT item AS "(UNIT)" FROM orders)', "two columns would be called"),
        ('SELECT COUNT(*) FROM (SELECT item AS "b.(unit)", item FROM items) a JOIN (SELECT buyer, item FROM orders) '
         '"a.b" ON a.item = "a.b".item', "two columns would be called"),
        ("SELECT COUNT(*) FROM (SELECT * FROM orders o JOIN people p ON o.buyer = p.buyer)", "List the columns"),
        ("SELECT COUNT(*) FROM nowhere JOIN orders USING (item)", "there is no table"),
    ],
)  # fmt: skip
def test_what_would_mix_units_or_lose_rows_in_silence_is_refused(text: str, words: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=words):
        plan_of(text, tables_of(engine_of(ORDERS, PEOPLE)))

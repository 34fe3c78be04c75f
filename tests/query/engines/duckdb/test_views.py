"""A view is asked where each of its rows comes from one row of a table of the file; else it is refused at once."""

from pathlib import Path

import duckdb
import pytest

from deniable.errors import SourceError
from deniable.query.engines.duckdb.engine import DuckDBEngine

GOOD = {
    "SELECT person, note IN (1, 5) AS few FROM visits": 4,  # 'x' is no number: the engine ran IN outside of TRY
    "SELECT * FROM visits": 4,
    "SELECT person, age + 1 AS age FROM visits WHERE age > 30": 2,
    "SELECT person, CAST(note AS INTEGER) AS n FROM visits WHERE CAST(note AS INTEGER) > 1": 1,
    "SELECT v.person AS p FROM main.visits AS v WHERE v.age IN (30, 50)": 2,
    "SELECT person FROM adults WHERE age BETWEEN 0 AND 200": 3,
}
BAD = {
    "SELECT * FROM read_csv('x.csv')": "plain table",
    "SELECT * FROM 'x.parquet'": "is not a table of the file",
    "SELECT count(*) AS n FROM visits": "holds COUNT",
    "SELECT person, age - avg(age) OVER () AS d FROM visits": "holds",
    "SELECT person, age FROM visits GROUP BY ALL": "holds group",
    "SELECT DISTINCT person FROM visits": "holds distinct",
    "SELECT person FROM visits LIMIT 1": "holds limit",
    "SELECT person FROM visits ORDER BY age": "holds order",
    "SELECT person FROM visits USING SAMPLE 1 ROWS": "holds",
    "SELECT a.person FROM visits a JOIN visits b USING (person)": "holds joins|plain table",
    "SELECT a.person FROM visits a, visits b": "holds joins",
    "SELECT person FROM visits WHERE age > (SELECT avg(age) FROM visits)": "holds",
    "SELECT person FROM visits WHERE person IN (SELECT 1)": "holds",
    "WITH v AS (SELECT 1 AS person) SELECT person FROM v": "holds with",
    "SELECT person FROM visits UNION ALL SELECT person FROM visits": "is not a SELECT",
    "SELECT person, random() AS r FROM visits": "holds RANDOM",
    "SELECT person, mine(age) AS r FROM visits": "holds MINE",
    "SELECT unnest([1, 2]) AS person FROM visits": "holds",
    "SELECT 1 AS person": "plain table",
    "SELECT * FROM duckdb_tables()": "plain table",
    "SELECT rowid AS person FROM visits": "holds .*rowid",
    "SELECT * REPLACE (CAST(note AS INTEGER) AS note) FROM visits": "holds",
    "SELECT person, lag(age) OVER () AS d FROM visits": "holds",
    "SELECT person FROM temp.main.visits": "is not a table of the file",
    "VALUES (1)": "plain table",
}


def database(path: Path, view: str) -> Path:
    (path / "x.csv").write_text("person\n1\n")
    with duckdb.connect(str(path / "t.duckdb")) as connection:
        connection.execute(f"SET file_search_path = '{path}'")
        connection.execute("CREATE TABLE visits (person INTEGER, age INTEGER, note VARCHAR)")
        connection.execute("INSERT INTO visits VALUES (1, 30, '1'), (2, 20, 'x'), (3, 40, '5'), (4, 50, NULL)")
        connection.execute(f"COPY visits TO '{path}/x.parquet'")
        connection.execute("CREATE MACRO mine(x) AS x + 1")
        connection.execute("CREATE VIEW adults AS SELECT person, age FROM visits WHERE age >= 30")
        connection.execute(f"CREATE VIEW seen AS {view}")
    return path / "t.duckdb"


@pytest.mark.parametrize("view", GOOD)
def test_rows_of_a_view_come_from_rows_of_a_table(tmp_path: Path, view: str) -> None:
    engine = DuckDBEngine.from_file(database(tmp_path, view), table="seen")
    assert len(engine._connection.execute(f"SELECT * FROM {engine._tables[''].text}").fetchall()) == GOOD[view]


@pytest.mark.parametrize("view", BAD)
def test_a_view_in_which_rows_could_touch_is_refused(tmp_path: Path, view: str) -> None:
    try:
        path = database(tmp_path, view)
    except duckdb.Error:
        pytest.skip("DuckDB itself does not take it")
    with pytest.raises(SourceError, match=BAD[view]) as caught:
        DuckDBEngine.from_file(path, table="seen")
    assert "COPY ... TO" in str(caught.value)


def test_views_are_listed_beside_tables(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"visits, .*seen|visits, seen, adults|visits, adults, seen"):
        DuckDBEngine.from_file(database(tmp_path, "SELECT * FROM visits"))

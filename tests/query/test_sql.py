"""What the reader of SQL accepts, and that everything else is refused in the user's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import UnsupportedQueryError
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.expression import Column
from deniable.query.sql import parse
from tests.query.conftest import frame, table_of

TABLE = table_of(DuckDBEngine.from_arrow(frame()))


def ask(text: str):
    return parse(text, {"t": TABLE})


def test_the_parts_of_a_query_are_read() -> None:
    query = ask(
        "SELECT region AS r, COUNT(*) AS n, AVG(age) FROM t AS x WHERE x.age BETWEEN 18 AND 65 AND note LIKE 'a%' "
        "GROUP BY region HAVING COUNT(*) > 10 ORDER BY n DESC NULLS FIRST LIMIT 5"
    )
    assert [output.name for output in query.outcome.outputs] == ["r", "n", "avg_age"]
    assert query.question.key_values == (("north", "south", "west"),)
    assert [aggregate.function for aggregate in query.question.aggregates] == ["count", "sum", "count"]
    assert query.outcome.limit == 5
    assert query.outcome.order[0].descending
    assert query.outcome.order[0].nulls_first


def test_equal_aggregates_are_asked_once() -> None:
    query = ask("SELECT COUNT(*) AS a, COUNT(*) * 2 AS b, SUM(age) AS c FROM t HAVING SUM(age) > COUNT(*)")
    assert len(query.question.aggregates) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT SUM(agee) FROM t", r"line 1, column 12: .*Did you mean 'age'\?"),
        ("SELECT COUNT(*)\nFROM tt", r"line 2, column 6: there is no table 'tt'"),
        ("SELECT COUNT(*) FROM (SELECT 1)", r"the query needs FROM"),
        ("SELECT COUNT(*) FROM t JOIN u ON 1 = 1", r"line 1, column 29: there is no table 'u'"),
        ("WITH a AS (SELECT 1) SELECT COUNT(*) FROM t", r"the query needs FROM"),
        ("SELECT COUNT(*) FROM t\nWHERE age", r"line 2, column 7: WHERE takes a condition"),
        ("SELECT COUNT(*) FROM t WHERE 5", r"line 1, column 30: WHERE takes a condition"),
        ("SELECT COUNT(*) FILTER (WHERE age) FROM t", r"line 1, column 31: FILTER takes a condition"),
        ("SELECT COUNT(*) AS n FROM t GROUP BY member HAVING n", r"line 1, column 52: HAVING takes a condition"),
        ("SELECT COUNT(*) FROM t GROUP BY note", r"line 1, column 33: .*columns=\{'note': dn.Keys"),
        ("SELECT upper(note) AS u, COUNT(*) FROM t\nGROUP BY u", r"line 2, column 10: .*\{'UPPER\(note\)': dn.Keys"),
        (
            "SELECT COUNT(*)\nFROM t\nWHERE\n  age > 'x'",
            "line 4, column 3: > takes .* age of kind integer and 'x' of kind",
        ),
        ("SELECT COUNT(*) FROM tt", r"Did you mean 't'\?"),
        ("SELECT CUONT(*) FROM t", r"column 8: the function CUONT\(\) .*Did you mean 'COUNT'\?"),
        ('SELECT COUNT(*) FROM t WHERE region = "north"', "Double quotes name a column; text is written 'north'"),
        ("SELECT STDDEV_POP(3) FROM t", "STDDEV_POP of a value that is always 3 is the same"),
        ("SELECT date_trunc('month', day), COUNT(*) FROM t GROUP BY 1", r"DATE_TRUNC.*'day': dn\.Date\(lower"),
        ("SELECT COUNT(*) FROM t GROUP BY DATE_TRUNC('hour', seen)", "DATE_TRUNC takes 'year'"),
        (
            "SELECT COUNT(*) FROM t GROUP BY WIDTH_BUCKET(age, 9, 3, 2)",
            "WIDTH_BUCKET takes a value, constants low < high",
        ),
        ("SELECT COUNT(*) FROM t GROUP BY WIDTH_BUCKET(age, 0, income, 2)", "WIDTH_BUCKET takes a value, constants"),
        ("SELECT COUNT(*) FROM t WHERE income < 1e300", r"column 39: the number 1e300 is too large.*2\*\*63"),
        ("SELECT BOOL_OR(member) FROM t", r"BOOL_OR\(\).*COUNTIF"),
        ("SELECT COUNT(*) FROM t GROUP BY YEAR(day)", r"YEAR\(day\).*'day': dn\.Date\(lower"),
        ("SELECT AVG(5) FROM t", "always 5 is the same"),
        ("SELECT SUM(0) FROM t", "always 0 is the same"),
    ],
)
def test_a_refusal_says_where_and_what_to_do(text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnsupportedQueryError, match=said):
        ask(text)
    assert capsys.readouterr() == ("", "")


def test_an_average_is_centred_in_the_middle_of_the_bounds() -> None:
    total, _ = ask("SELECT AVG(income) FROM t").question.aggregates
    assert total.centre == 50


def test_a_sum_beside_its_count_is_centred_too_and_alone_is_not() -> None:
    assert ask("SELECT SUM(age) FROM t").question.aggregates[0].centre == 0
    beside = ask("SELECT SUM(age), AVG(age) FROM t").question.aggregates
    assert [(a.function, getattr(a, "centre", 0)) for a in beside] == [("sum", 50), ("count", 0)]


def test_names_ignore_case_and_quotes() -> None:
    where = ask('SELECT COUNT(*) FROM T WHERE "Age" > 3').question.where
    assert where is not None
    assert where.arguments[0] == Column("age", TABLE.column("age").facts)


def test_groups_may_be_expressions_with_few_values() -> None:
    query = ask(
        "SELECT CASE WHEN age < 18 THEN 'minor' ELSE 'adult' END AS g, EXTRACT(month FROM day), member, "
        "FLOOR(age / 50), COUNT(*) FROM t GROUP BY 1, 2, 3, 4"
    )
    assert query.question.key_values == (("minor", "adult"), tuple(range(1, 13)), (False, True), (0, 1, 2))


REFUSED = {
    "SELECT * FROM t": "list rows",
    "SELECT t.* FROM t": "list rows",
    "SELECT age FROM t": "neither grouped nor aggregated",
    "SELECT region, COUNT(*), age FROM t GROUP BY region": "neither grouped nor aggregated",
    "SELECT region FROM t GROUP BY region": "no aggregate",
    "SELECT COUNT(*) FROM nowhere": "there is no table 'nowhere'",
    "SELECT COUNT(nothing) FROM t": "no column 'nothing'",
    "SELECT COUNT(*) FROM t WHERE nothing > 1": "no column 'nothing'",
    "SELECT COUNT(*) FROM 'data.parquet'": "there is no table",
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')": "function",
    "SELECT COUNT(*) FROM t, t AS u": "JOIN",
    "SELECT COUNT(*) FROM t JOIN t AS u ON t.age = u.age": "different units",
    "SELECT COUNT(*) FROM (SELECT * FROM t LIMIT 10)": "subquer",
    "WITH RECURSIVE x AS (SELECT * FROM t) SELECT COUNT(*) FROM x": "RECURSIVE",
    "SELECT COUNT(*) FROM t WHERE age IN (SELECT age FROM t)": "QUERY",
    "SELECT COUNT(*) FROM t WHERE age > (SELECT 1)": "needs FROM",
    "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1)": "not supported",
    "SELECT SUM(big) FROM t": "needs public bounds",
    "SELECT AVG(big + 1) FROM t": "needs public bounds",
    "SELECT SUM(1 / big) FROM t": "columns={'big'",
    "SELECT SUM(1 / age) FROM t": "bounds. Write LEAST",
    "SELECT SUM(note) FROM t": "takes numbers",
    "SELECT SUM(DISTINCT age) FROM t": "DISTINCT",
    "SELECT COUNT(DISTINCT person, age) FROM t": "one value",
    "SELECT SUM(COUNT(*)) FROM t": "aggregate",
    "SELECT COUNT(*) FROM t WHERE COUNT(*) > 1": "aggregate",
    "SELECT COUNT(*) OVER () FROM t": "window",
    "SELECT ROW_NUMBER() OVER (ORDER BY age) FROM t": "window",
    "SELECT COUNT(*) FROM t WHERE RANDOM() < 0.5": "RAND",
    "SELECT COUNT(*) FROM t WHERE my_function(age) = 1": "MY_FUNCTION",
    "SELECT COUNT(*) FROM t TABLESAMPLE 10%": "SAMPLE",
    "SELECT region, COUNT(*) FROM t GROUP BY ALL": "ALL",
    "SELECT region, COUNT(*) FROM t GROUP BY ROLLUP (region)": "ROLLUP",
    "SELECT DISTINCT COUNT(*) FROM t": "DISTINCT",
    "SELECT COUNT(*) FROM t OFFSET 1": "OFFSET",
    "SELECT COUNT(*) FROM t LIMIT 10%": "LIMIT",
    "SELECT COUNT(*) FROM t QUALIFY 1 = 1": "QUALIFY",
    "SELECT COUNT(*) FROM t FOR UPDATE": "FOR UPDATE",
    "SELECT age, COUNT(*) FROM t GROUP BY income": "needs a public list",
    "SELECT COUNT(*) FROM t GROUP BY FLOOR(income * 1e15)": "needs a public list",
    "SELECT note, COUNT(*) FROM t GROUP BY note": "needs a public list",
    "SELECT COUNT(*) FROM t; DROP TABLE t": "2 statements",
    "DROP TABLE t": "only SELECT",
    "SET threads = 1": "only SELECT",
    "SELECT COUNT(*) FROM t UNION SELECT COUNT(*) FROM t": "only SELECT",
    "SELECT COUNT(*)": "needs FROM",
    "SELECT COUNT(*) FROM t WHERE age": "takes a condition",
    "SELECT COUNT(*) FROM t WHERE age LIKE note": "constant pattern",
    "SELECT COUNT(*) FROM t WHERE note > 3": "takes",
    "SELECT COUNT(*) FROM t WHERE day > 'soon'": "is not a valid date",
    "SELECT COUNT(*) FROM t WHERE u.age > 1": "not a table of this query",
    "SELECT COUNT(*) AS n, SUM(age) AS N FROM t": "two columns",
    "SELECT CAST(COUNT(*) AS JSON) FROM t": "CAST",
    "SELECT COUNT(*) FROM t WHERE age > 99999999999999999999999": "too large",
    "SELECT x -> x + 1 FROM t": "not supported",
    "SELECT COUNT(*) FROM t GROUP BY 7": "GROUP BY 7",
    "SELECT COUNT(*) FROM t ORDER BY 7": "ORDER BY 7",
    "SELECT": "needs FROM",
    "SELECT (": "not valid SQL",
    "": "must be text",
    "SELECT COUNT(*) FROM t WHERE age = 1e": "too long",
    "SELECT COUNT(*) FROM t WHERE age < 1e8000000": "too long",
    "SELECT COUNT(*) FROM t LIMIT '²'": "LIMIT",
    "SELECT COUNT(*) FROM t WHERE nonsense.z.t.age = 1": "not supported",
    "SELECT COUNT(*) FROM t WHERE note = '\ud800'": "not valid UTF-8",
    "hello there": "only SELECT",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_listed_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedQueryError) as caught:
        ask(text)
    assert REFUSED[text].lower() in str(caught.value).lower()


def test_deep_nesting_is_refused_and_does_not_crash() -> None:
    with pytest.raises(UnsupportedQueryError):
        ask("SELECT COUNT(*) FROM t WHERE " + "(" * 3000 + "age > 1" + ")" * 3000)


@given(st.text(max_size=60))
def test_any_text_gives_a_plan_or_a_refusal(text: str) -> None:
    for query in (text, f"SELECT COUNT(*) FROM t WHERE {text}", f"SELECT {text} FROM t"):
        try:
            ask(query)
        except UnsupportedQueryError:
            continue


SOUP = (
    "SELECT FROM t WHERE GROUP BY HAVING ORDER LIMIT COUNT ( ) * , age region income member 1 'x' AND OR NOT NULL "
    "SUM AVG CASE WHEN THEN ELSE END IN BETWEEN LIKE = < > + - / DISTINCT AS n OVER UNION ALL WITH JOIN ON"
)
WORDS = st.sampled_from(SOUP.split())


@given(st.lists(WORDS, max_size=14))
def test_any_words_give_a_plan_or_a_refusal(words: list[str]) -> None:
    text = " ".join(words)
    for query in (text, f"SELECT COUNT(*) FROM t {text}", f"SELECT COUNT(*), {text} FROM t GROUP BY region"):
        try:
            ask(query)
        except UnsupportedQueryError:
            continue


def test_cures_say_what_to_write_in_a_policy_too() -> None:
    with pytest.raises(UnsupportedQueryError) as found:
        parse("SELECT SUM(big) FROM t", {"t": TABLE})
    assert (
        "columns={'big': dn.Number(lower=..., upper=...)} (in a policy, lower = ... and upper = ... under [col"
        in str(found.value)
    )

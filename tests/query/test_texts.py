"""No row decides how much text a question makes: the bound follows from the question, and holds for every row."""

import duckdb
import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import UnsupportedQueryError
from deniable.query.expression import LONGEST_TEXT, Column, Facts, Kind, literal
from deniable.query.operators import OPERATORS, call
from deniable.query.sql import parse
from deniable.query.texts import MOST_TEXT, characters
from tests.query.conftest import frame, table_of
from tests.query.engines.duckdb.test_sql import ENGINE

NESTED = "SELECT person, note AS a FROM t"
for _ in range(14):
    NESTED = f"SELECT person, a || a AS a FROM ({NESTED})"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT COUNTIF(LENGTH(a) > 0) FROM ({NESTED})",
        "SELECT " + ", ".join(f"COUNT(note || '{n}')" for n in range(17)) + " FROM t",
        "SELECT COUNT(*) FROM t WHERE " + " OR ".join(f"note || '{n}' || note LIKE 'a%'" for n in range(9)),
        "SELECT COUNT(*) FROM (SELECT person, note || note AS a FROM t UNION ALL SELECT person, region FROM t) "
        "WHERE a || a || a || a || a LIKE '%'",
        "SELECT COUNT(*) FROM t WHERE " + " AND ".join(f"note || '{n}' ILIKE 'a%'" for n in range(9)),
    ],
)
def test_a_question_that_can_make_much_text_of_a_row_is_refused_unpaid(text: str) -> None:
    db = dn.connect(frame(), name="t", unit="person", columns={"note": dn.Text()}, budget=dn.Budget(epsilon=1))
    with pytest.raises(UnsupportedQueryError, match="characters of text from one row"):
        db.sql(text, epsilon=0.5)
    assert db.ledger.entries() == []


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("SELECT COUNTIF(UPPER(note) = 'A'), COUNTIF(UPPER(note) = 'B') FROM t", LONGEST_TEXT),
        (
            "SELECT COUNT(*) FROM t WHERE SUBSTRING(note, 3, 100) || '-' || CAST(age AS TEXT) = 'a'",
            100 + 101 + 20 + 121,
        ),
        ("SELECT COUNT(*) FROM (SELECT person, TRIM(note) AS b FROM t) WHERE b || b = 'x'", 3 * LONGEST_TEXT),
        ("SELECT COUNT(*) FROM t WHERE note ILIKE 'a%' OR COALESCE(note, region, 'abc') = 'x'", LONGEST_TEXT),
    ],
)
def test_what_a_question_makes_is_counted_once(text: str, made: int) -> None:
    assert characters(parse(text, {"t": table_of(ENGINE)}).question) == made


def test_no_letter_becomes_several() -> None:
    """LOWER and UPPER change each character into one, on DuckDB and so on engines that follow it."""
    every = [chr(place) for place in range(1, 0x110000) if not 0xD800 <= place < 0xE000]
    found = duckdb.from_arrow(pa.table({"c": every})).aggregate("max(length(lower(c))), max(length(upper(c)))")
    assert found.fetchall() == [(1, 1)]


def test_every_operator_that_gives_text_says_how_long() -> None:
    """None gives more than its arguments together hold, and a column without a stated length counts in full."""
    column, short = Column("s", Facts(kind=Kind.TEXT)), literal("abc")
    assert column.facts.longest == LONGEST_TEXT
    assert call("concat", column, short).facts.longest == LONGEST_TEXT + 3
    assert call("case", literal(True), short, column).facts.longest == LONGEST_TEXT
    assert [call("to_text", literal(each)).facts.longest for each in (True, -(2**63))] == [5, 20]  # type: ignore[arg-type]
    assert {name for name, each in OPERATORS.items() if each.length is not OPERATORS["lower"].length} == {
        "concat",
        "substring",
    }
    assert LONGEST_TEXT * 16 == MOST_TEXT


def test_a_longer_text_is_missing_in_its_row_alone() -> None:
    rows = pa.table({"person": [1, 2, 3], "s": ["x" * LONGEST_TEXT, "\u00e9" * (LONGEST_TEXT // 2 + 1), "x"]})
    db = dn.connect(rows, name="t", unit="person", columns={"s": dn.Text()}, budget=dn.Budget(epsilon=9999))
    text = "SELECT COUNT(s) AS known, COUNTIF(s IS NULL) AS missing, COUNTIF(LENGTH(s || s) > 9) AS long FROM t"
    (row,) = db.sql(text, epsilon=3000).to_dicts()
    assert [round(row[name]) for name in ("known", "missing", "long")] == [2, 1, 1]

"""Exact counts for the owner, who is warned; nothing is charged or written."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from tests.app.conftest import SECRETS, Call
from tests.postgres import as_reader


def counts(text: str) -> dict[str, int]:
    """The count of every line, by its words."""
    rows = [line.rsplit(maxsplit=1) for line in text.splitlines() if line[-1:].isdigit()]
    return {" ".join(words.split()): int(count.replace(",", "")) for words, count in rows}


def test_the_owner_is_warned_first_and_nothing_is_charged_or_written(call: Call, place: Path) -> None:
    before = sorted(place.iterdir())
    result = call("doctor", "policy.toml")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("FOR THE OWNER OF THE DATA ALONE. DO NOT PUBLISH.")
    assert sorted(place.iterdir()) == before


def test_what_is_odd_is_counted_and_no_value_is_listed(call: Call) -> None:
    text = call("doctor", "policy.toml", "--all").stdout
    found = counts(text)
    expected = {
        "rows rows in the source": 601,
        "person rows without a unit: they are always left out": 1,
        "person units": 300,
        "person most rows of one unit": 2,
        "person units in more than groups=1 groups of region; they keep 1": 200,
        "age values above upper=100; they are clamped to it": 1,
        "age values below lower=0; they are clamped to it": 0,
        "region values that are not among the declared keys; their rows are in no group": 1,
        "income values that are NaN; they count as missing": 200,
        "income missing values": 1,
    }
    assert {words: found.get(words) for words in expected} == expected
    assert not [secret for secret in SECRETS if secret in text]


CLEAN = (
    '[data]\nsource = "clean.csv"\n[privacy]\nunit = "person"\n[budget]\nepsilon = 1\n'
    '[columns.age]\ntype = "integer"\nlower = 0\nupper = 9\n'
)


def test_a_clean_table_is_said_to_be_clean(call: Call, place: Path) -> None:
    (place / "clean.csv").write_text("person,age\nx,5\ny,6\n")
    (place / "clean.toml").write_text(CLEAN)
    assert call("import", "clean.toml").exit_code == 0
    assert "Nothing is odd" in call("doctor", "clean.toml").stdout


def test_what_an_import_lost_is_odd(call: Call, place: Path) -> None:
    content = "person,age\nx,five\nX ,6\nz\u00e9,6,7\n" + "y\u00e9,5\n" * 10
    (place / "clean.csv").write_text(content, encoding="latin-1")
    (place / "clean.toml").write_text(CLEAN)
    assert call("import", "clean.toml").exit_code == 0
    text = call("doctor", "clean.toml").stdout
    found = counts(text)
    expected = {
        "lines more fields than columns; the line was not read": 1,
        "person no text in utf-8": 10,
        "age cannot be read as integer": 1,
        "person units that differ from another by case or spaces alone": 1,
    }
    assert {words: found.get(words) for words in expected} == expected
    assert "Nothing is odd" not in text


def test_python_tells_what_an_import_lost(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "lost.csv").write_text("person,age\n1,five\n2,6\n")
    dn.import_csv(place / "lost.csv", dn.Csv(columns={"age": dn.CsvColumn(type="integer")}))
    dn.connect(place / "lost.csv", unit="person", budget=dn.Budget(epsilon=1)).doctor()
    assert "cannot be read as integer" in capsys.readouterr().out


def test_each_of_several_tables_is_examined(call: Call, place: Path) -> None:
    """Lines whose key two people hold count for both, and those of nobody for none: the owner is told."""
    pq.write_table(pa.table({"key": [1, 1, 2, 3], "who": ["a", "b", "b", None]}), place / "orders.parquet")
    (place / "lines.csv").write_text("key,x\n1,5\n1,6\n2,99\n3,1\n4,1\n")
    (place / "two.toml").write_text(
        '[tables.orders]\nsource = "orders.parquet"\n[tables.lines]\nsource = "lines.csv"\npath = ["key", "orders"]\n'
        '[tables.lines.columns.key]\ntype = "integer"\n[tables.lines.columns.x]\ntype = "integer"\n'
        "lower = 0\nupper = 9\n"
        '[privacy]\nunit = "who"\nrows = 9\n[budget]\nepsilon = 1\n'
    )
    assert call("import", "two.toml").exit_code == 0
    result = call("doctor", "two.toml")
    assert result.exit_code == 0, result.stderr
    found = counts(result.stdout)
    assert found["lines.key rows whose key several hold in orders; they count for each of them"] == 2
    assert found["lines.key rows without a unit: no who holds their key in orders"] == 2
    assert found["lines.who most rows of one unit"] == 3
    assert found["lines.x values above upper=9; they are clamped to it"] == 1
    sql = "SELECT COUNT(*) AS n FROM lines JOIN orders USING (key)"
    assert call("explain", "two.toml", sql, "--epsilon", "0.5").exit_code == 0
    assert call("query", "two.toml", sql, "--epsilon", "0.5").exit_code == 0
    assert "left epsilon=0.5" in call("budget", "two.toml").stdout


def test_a_policy_may_name_tables_of_a_server(call: Call, place: Path, postgres: str) -> None:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE TABLE orders AS SELECT n % 3 AS key, n AS who FROM generate_series(0, 5) AS n")
        connection.execute("CREATE TABLE lines AS SELECT key, 9.5 * key AS x, DATE '2024-02-29' AS d FROM orders")
    (place / "server.toml").write_text(
        f'[tables.orders]\nsource = "{as_reader(postgres)}"\ntable = "orders"\n'
        f'[tables.lines]\nsource = "{as_reader(postgres)}"\ntable = "public.lines"\npath = ["key", "orders"]\n'
        "[tables.lines.columns.x]\nlower = 0\nupper = 9\n"
        '[privacy]\nunit = "who"\nrows = 9\n[budget]\nepsilon = 1\n'
    )
    result = call("doctor", "server.toml")
    assert result.exit_code == 0, result.stderr
    found = counts(result.stdout)
    assert found["lines.key rows whose key several hold in orders; they count for each of them"] == 6
    assert found["lines.x values above upper=9; they are clamped to it"] == 4
    answer = call("query", "server.toml", "SELECT SUM(x) AS s FROM orders JOIN lines USING (key)", "--epsilon", "1")
    assert answer.exit_code == 0, answer.stderr
    for text in (result.stdout, answer.stdout, answer.stderr):
        assert not [secret for secret in (*SECRETS, "battery", "horse") if secret in text]

"""A stranger's file becomes a policy, and the policy an answer."""

import json
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from deniable.query.expression import Kind
from deniable.query.policy import read_policy
from tests.app.conftest import SECRETS, Call
from tests.postgres import PASSWORD, Server, as_reader

CSV = "patient;region;cost;day;note\n" + "".join(
    f"p{index // 2};{('north', 'south')[index % 2]};{index % 90}.5;2025-03-{1 + index % 28:02};Rumpelstiltskin\n"
    for index in range(400)
)


def test_a_parquet_file_gives_names_and_types_and_no_value(call: Call, place: Path) -> None:
    result = call("init", "survey.parquet")
    assert (result.exit_code, result.stderr) == (0, "")
    (place / "new.toml").write_text(result.stdout.replace('# unit = "..."', 'unit = "person"'))
    policy = read_policy(place / "new.toml")
    assert list(policy.columns) == ["person", "age", "region", "income", "day"]
    assert "guessed" not in result.stdout
    assert not [secret for secret in SECRETS if secret in result.stdout]


def test_a_strangers_csv_is_answered_by_editing_text(call: Call, place: Path) -> None:
    (place / "visits.csv").write_text(CSV, encoding="utf-8")
    text = call("init", "visits.csv").stdout
    assert "The types are guesses" in text
    assert "Rumpelstiltskin" not in text
    bounds = "# lower = 0\n# upper = 100"
    for line, filled in (
        ('# unit = "..." ', 'unit = "patient" '),
        ("rows = 1 ", "rows = 2 "),
        (f'[columns.cost]\ntype = "real"\n{bounds}', '[columns.cost]\ntype = "real"\nlower = 0\nupper = 90'),
        ('[columns.region]\ntype = "text"\n# keys', '[columns.region]\ntype = "text"\nkeys'),
    ):
        assert line in text
        text = text.replace(line, filled)
    (place / "visits.toml").write_text(text, encoding="utf-8")
    assert "deniable import" in call("query", "visits.toml", "SELECT COUNT(*) FROM visits", "--epsilon", "1").stderr
    assert call("import", "visits.toml").exit_code == 0
    sql = "SELECT region, COUNT(*) AS n, AVG(cost) AS cost FROM visits WHERE day < '2026-01-01' GROUP BY region"
    result = call("query", "visits.toml", sql, "--epsilon", "1", "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert [row["region"] for row in told["rows"]] == ["north", "south"]
    assert all(abs(row["n"] - 200) < 200 for row in told["rows"])  # P[|noise| >= 200] < 1e-21


def test_a_table_of_a_duckdb_file_is_named_in_the_policy(call: Call, place: Path) -> None:
    with duckdb.connect(str(place / "many.duckdb")) as connection:
        connection.execute("CREATE TABLE first (x INTEGER); CREATE TABLE second (person INTEGER, y DATE)")
    result = call("init", "many.duckdb", "--table", "second")
    (place / "many.toml").write_text(result.stdout.replace('# unit = "..."', 'unit = "person"'))
    assert read_policy(place / "many.toml").table == "second"
    result = call("query", "many.toml", "SELECT COUNT(*) FROM second", "--epsilon", "1")
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("name", ["lost.parquet", "policy.toml", "broken.parquet", "headless.csv", "many.duckdb"])
def test_what_is_no_table_is_refused(call: Call, place: Path, name: str) -> None:
    (place / "broken.parquet").write_bytes(b"PAR1 nothing PAR1")
    (place / "headless.csv").write_text("\n1,2\n")
    with duckdb.connect(str(place / "many.duckdb")) as connection:
        connection.execute("CREATE TABLE first (x INTEGER); CREATE TABLE second (x INTEGER)")
    result = call("init", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("deniable: ")


SHOP = """
CREATE TYPE ward AS ENUM ('surgery', 'children');
CREATE TABLE people (patient text PRIMARY KEY);
INSERT INTO people SELECT 'Rumpelstiltskin' || i FROM generate_series(1, 200) AS i;
CREATE TABLE visits (visit bigint PRIMARY KEY, patient text REFERENCES people, ward ward, cost numeric, "odd one" json);
INSERT INTO visits SELECT 8675309 + i, 'Rumpelstiltskin' || (1 + i % 200), 'surgery', i % 90
FROM generate_series(1, 400) AS i;
COMMENT ON TABLE visits IS E'One row a visit.\n[budget]';
COMMENT ON COLUMN visits.cost IS 'in euros';
CREATE VIEW total AS SELECT patient, sum(cost) FROM visits GROUP BY patient;
CREATE TABLE closed AS SELECT 1 AS x; REVOKE ALL ON closed FROM reader
"""


@pytest.fixture
def shop(postgres: str, postgres_server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a server with tables, as a role that may read them; environment as the policy's comment says."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(SHOP.encode())
    for name, value in (("HOST", str(postgres_server.folder)), ("USER", "reader"), ("PASSWORD", PASSWORD)):
        monkeypatch.setenv(f"PG{name}", value)
    return as_reader(postgres)


def test_a_policy_of_a_servers_table_is_drafted_from_its_catalogue_alone(call: Call, place: Path, shop: str) -> None:
    result = call("init", shop, "--table", "public.visits")
    assert (result.exit_code, result.stderr) == (0, "")
    text = result.stdout
    for said in ("comment: One row a visit. [budget]", "PRIMARY KEY (visit)", "FOREIGN KEY (patient)", "# in euros"):
        assert said in text
    assert not [secret for secret in (*SECRETS, "correct", "staple", "reader") if secret in text]
    for line, filled in (
        ('# unit = "..." ', 'unit = "patient" '),
        ("rows = 1 ", "rows = 2 "),
        ('# keys = ["surgery", "children"]', 'keys = ["surgery", "children"]'),
    ):
        assert text.count(line) == 1
        text = text.replace(line, filled)
    (place / "visits.toml").write_text(text, encoding="utf-8")
    result = call(
        "query", "visits.toml", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "--epsilon", "1", "--json"
    )
    assert result.exit_code == 0, result.stderr
    surgery, children = (row["n"] for row in json.loads(result.stdout)["rows"])
    assert abs(surgery - 400) < 100 > abs(children)  # P[|noise| >= 100] < 1e-21


def test_all_tables_of_a_server_that_can_be_asked_are_drafted(call: Call, place: Path, shop: str) -> None:
    result = call("init", shop)
    assert result.exit_code == 0
    assert result.stderr.startswith("left out: 'public.total' cannot be asked: ")
    assert "closed" not in result.stdout + result.stderr
    (place / "shop.toml").write_text(result.stdout.replace('# unit = "..."', 'unit = "patient"'), encoding="utf-8")
    policy = read_policy(place / "shop.toml")
    assert {name: each.table for name, each in policy.several.items()} == {
        "people": "public.people", "visits": "public.visits",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("table", "words"), [("nothing", "it is not there"), ("closed", "may not read it"), ("total", "cannot be asked")]
)
def test_a_servers_table_that_cannot_be_asked_is_refused(call: Call, shop: str, table: str, words: str) -> None:
    result = call("init", shop, "--table", table)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert call("init", "postgresql://reader:SECRET").stderr.startswith("deniable: the address cannot be told apart")
    assert call("init", shop.replace("reader:", "nobody:")).stderr.count("does not let this user in") == 1


def test_no_password_of_an_address_is_printed(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a server: whatever it says, the policy holds the address without user, password and options."""
    runner = SimpleNamespace(schema=lambda: {"age": Kind.INTEGER})
    room = "deniable.query.engines.postgres"
    monkeypatch.setattr(f"{room}.runner.PostgresRunner", lambda url, name: runner)
    monkeypatch.setattr(f"{room}.described.describe", lambda _: SimpleNamespace(notes=(), comments={}, labels={}))
    monkeypatch.setattr(f"{room}.described.readable", lambda _: ["public.t", "public.u"])
    address = "postgresql://ada:sesame@host/db?sslkey=sesame"
    for words in ((address,), (address, "--table", "public.t")):
        told = call("init", *words)
        assert told.exit_code == 0
        assert "host/db" in told.stdout
        assert "sesame" not in told.output
        assert "ada" not in told.output

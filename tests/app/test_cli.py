"""The command line as a whole: exit codes, messages, what is spent, what is loaded."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import deniable
from deniable.app import cli
from deniable.errors import ExecutionError
from tests.app.conftest import POLICY, SECRETS, Call, spent

COUNT = "SELECT COUNT(*) AS n FROM survey"
SQL = {
    "unknown table": ("SELECT COUNT(*) FROM elsewhere", "no table 'elsewhere'"),
    "unknown column": ("SELECT COUNT(height) FROM survey", "no column 'height'"),
    "sum without bounds": ("SELECT SUM(income) FROM survey", "needs public bounds"),
    "ungrouped column": ("SELECT region, COUNT(*) FROM survey", "GROUP BY"),
    "window": ("SELECT SUM(age) OVER () FROM survey", "window"),
    "limit in a subquery": ("SELECT COUNT(*) FROM (SELECT * FROM survey LIMIT 3)", "ubquer"),
    "random": ("SELECT COUNT(*) FROM survey WHERE RANDOM() < 0.5", "not supported"),
    "unknown function": ("SELECT COUNT(*) FROM survey WHERE LEAK(age) = 1", "LEAK"),
    "two statements": (f"{COUNT}; DROP TABLE survey", "one question at a time"),
    "a file as a table": ("SELECT COUNT(*) FROM 'survey.parquet'", "Files cannot be named"),
    "a reader as a table": ("SELECT COUNT(*) FROM read_csv('x')", "got a function"),
    "rows of people": ("SELECT * FROM survey", "list rows of people"),
    "keys not declared": ("SELECT age, COUNT(*) FROM survey GROUP BY day", "public list of groups"),
    "no sql": ("tell me everything", "SQL"),
    "nothing": ("", "one SELECT"),
}
PRICES = {
    **{f"epsilon {value!r}": ("--epsilon", value) for value in ("0", "-1", "nan", "inf", "true", "much", "", "1/0")},
    **{f"delta {value!r}": ("--epsilon", "0.1", "--delta", value) for value in ("1", "1.5", "-0.1", "nan", "x")},
    "rho 0": ("--rho", "0"),
    "no price": (),
    "two prices": ("--epsilon", "0.1", "--rho", "0.1"),
    "rho with delta": ("--rho", "0.1", "--delta", "1e-6"),
}
POLICIES = {
    "bounds reversed": (("lower = 0\n", "lower = 500\n"), "lower must be below upper"),
    "one bound": (("lower = 0\n", ""), "bounds come in pairs"),
    "nobody protected": (('unit = "person"\n', ""), "who is protected"),
    "unknown unit": (('unit = "person"', 'unit = "patient"'), "names no column"),
    "unknown field": (("rows = 2", "row_limit = 2"), "no field 'row_limit'"),
    "no budget": (("[budget]\nepsilon = 1.0\n", ""), "[budget]"),
    "budget of nothing": (("epsilon = 1.0", "epsilon = 0"), "epsilon must be > 0"),
    "undeclared column": (("[columns.age]", "[columns.height]"), "'height'"),
    "missing data": (("survey.parquet", "lost.parquet"), "there is no file"),
    "another program's file": (("survey.parquet", "survey.xlsx"), "there is no file"),
    "no toml": (("[data]", "[data"), "not valid TOML"),
}


@pytest.mark.parametrize(("sql", "said"), SQL.values(), ids=SQL.keys())
@pytest.mark.parametrize("command", ["explain", "query"])
def test_what_is_not_answered_is_refused_and_spends_nothing(call: Call, command: str, sql: str, said: str) -> None:
    result = call(command, "policy.toml", sql, "--epsilon", "0.1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert spent(call)["entries"] == []


@pytest.mark.parametrize("price", PRICES.values(), ids=PRICES.keys())
@pytest.mark.parametrize("command", ["explain", "query"])
def test_a_price_that_is_none_is_refused_and_spends_nothing(call: Call, command: str, price: tuple[str, ...]) -> None:
    result = call(command, "policy.toml", COUNT, *price)
    assert (result.exit_code, result.stdout) == (2, "")
    assert any(word in result.stderr for word in ("epsilon", "delta", "rho"))
    assert spent(call)["entries"] == []


@pytest.mark.parametrize(("change", "said"), POLICIES.values(), ids=POLICIES.keys())
def test_a_policy_that_says_too_little_or_nonsense_is_refused(
    call: Call, place: Path, change: tuple[str, str], said: str
) -> None:
    (place / "policy.toml").write_text(POLICY.replace(*change), encoding="utf-8")
    result = call("query", "policy.toml", COUNT, "--epsilon", "0.1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    (place / "policy.toml").write_text(POLICY, encoding="utf-8")
    assert spent(call)["entries"] == []


def test_a_damaged_parquet_file_is_refused_before_anything_is_spent(call: Call, place: Path) -> None:
    data = place / "survey.parquet"
    data.write_bytes(data.read_bytes()[:-20] + b"x" * 20)
    result = call("query", "policy.toml", COUNT, "--epsilon", "0.1")
    assert result.exit_code == 2
    assert "damaged" in result.stderr
    assert spent(call)["entries"] == []


def test_a_ledger_that_another_program_edited_is_refused(call: Call, place: Path) -> None:
    import sqlite3

    assert call("query", "policy.toml", COUNT, "--epsilon", "0.1").exit_code == 0
    with sqlite3.connect(place / "policy.ledger") as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            connection.execute(f'DROP TRIGGER "{name}"')
    connection.close()
    for arguments in (("query", "policy.toml", COUNT, "--epsilon", "0.1"), ("budget", "policy.toml", "--verify")):
        result = call(*arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "edger" in result.stderr


def test_a_question_beyond_the_budget_has_an_exit_code_of_its_own(call: Call) -> None:
    result = call("query", "policy.toml", COUNT, "--epsilon", "1.01")
    assert result.exit_code == 3
    assert "Nothing was spent" in result.stderr
    assert spent(call)["left"] == {"epsilon": "1"}


def test_no_message_holds_a_private_value(call: Call) -> None:
    for sql, _ in SQL.values():
        result = call("query", "policy.toml", sql, "--epsilon", "0.1")
        assert not [secret for secret in SECRETS if secret in result.output]
    for sql in (
        "SELECT SUM(CASE WHEN CAST(region AS BIGINT) > 0 THEN 1 ELSE 0 END) FROM survey",
        "SELECT COUNT(*) FROM survey WHERE CAST(region AS DATE) > '2024-01-01' OR age / (age - 8675308) > 0",
    ):
        result = call("query", "policy.toml", sql, "--epsilon", "0.1")
        assert not [secret for secret in ("Rumpelstiltskin", "2024-02-29") if secret in result.stderr]


def test_an_engine_that_stops_says_one_constant_sentence(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    from deniable.query.engines.duckdb.engine import DuckDBEngine

    def stop(self: object, plan: object, **_: object) -> None:
        raise ExecutionError

    monkeypatch.setattr(DuckDBEngine, "exact", stop)
    result = call("query", "policy.toml", COUNT, "--epsilon", "0.1")
    assert result.exit_code == 2
    assert result.stderr == f"deniable: {ExecutionError()}\n"
    assert [entry["answered"] for entry in spent(call)["entries"]] == [False]


def test_a_defect_shows_its_place_and_not_its_text(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    from deniable.query.database import Database

    def broken(self: object, *_: object, **__: object) -> None:
        raise RuntimeError("a row says Rumpelstiltskin")

    monkeypatch.setattr(Database, "sql", broken)
    result = call("query", "policy.toml", COUNT, "--epsilon", "0.1")
    assert result.exit_code == 1
    assert "RuntimeError in broken" in result.stderr
    assert "Rumpelstiltskin" not in result.output
    monkeypatch.setenv(cli.DEBUG, "1")
    with pytest.raises(AssertionError, match="Rumpelstiltskin"):
        call("query", "policy.toml", COUNT, "--epsilon", "0.1")


def test_the_version_is_that_of_the_package(call: Call) -> None:
    assert call("--version").stdout == f"deniable {deniable.__version__}\n"


def test_without_arguments_the_commands_are_listed(call: Call) -> None:
    listed = call().output
    for command in ("init", "explain", "query", "budget", "doctor", "demo"):
        assert command in listed


def test_a_usage_error_is_plain(call: Call) -> None:
    result = call("query", "policy.toml")
    assert result.exit_code == 2
    assert "SQL" in result.stderr
    assert "Traceback" not in result.output


def started(*arguments: str, cwd: Path, encoding: str = "utf-8") -> "subprocess.CompletedProcess[str]":
    """The command in a process of its own."""
    code = "from deniable.app.cli import main; main()"
    environment = os.environ | {"COLUMNS": "80", "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=60, env=environment)


def test_a_process_of_its_own_answers_and_refuses(place: Path) -> None:
    answered = started("query", "policy.toml", COUNT, "--epsilon", "0.5", "--json", cwd=place)
    assert (answered.returncode, answered.stderr) == (0, "")
    assert json.loads(answered.stdout)["cost"] == "epsilon=0.5"
    refused = started("query", "policy.toml", COUNT, "--epsilon", "0.6", cwd=place)
    assert (refused.returncode, refused.stdout) == (3, "")
    assert len(refused.stderr.splitlines()) == 1


def test_a_stream_without_the_sign_still_gets_the_answer(place: Path) -> None:
    answered = started("query", "policy.toml", COUNT, "--epsilon", "0.5", cwd=place, encoding="koi8-r")
    assert (answered.returncode, answered.stderr) == (0, "")
    assert r" \xb1 " in answered.stdout


def test_an_answer_loads_no_frame_library_no_plot_and_no_box(place: Path) -> None:
    code = (
        "import sys\nfrom deniable.app.cli import app\n"
        f"app(['query', 'policy.toml', {COUNT!r}, '--epsilon', '0.1'], standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=place, capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stderr.split()}
    assert "duckdb" in loaded
    assert not loaded & {"pandas", "polars", "matplotlib", "statsmodels", "scipy", "pyarrow", "rich", "narwhals"}

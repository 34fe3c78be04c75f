"""A log of exact counts, run on one's own file."""

import json
from pathlib import Path

import numpy as np
import pytest

from deniable.app.commands.attack.differencing import condition_of
from deniable.attacks import isolate_people, subtract_counts
from tests.app.commands.attack.test_reconstruction import ask, open_people
from tests.app.conftest import Call

LOG = """-- a comment, then four counts
SELECT COUNT(*) FROM people WHERE age < 60;
SELECT count(*) AS n FROM people WHERE age < 60 AND NOT (zip = '02138' AND age = 41)
zip = '02138'
SELECT COUNT(*) FROM people

SELECT AVG(age) FROM people
SELECT zip, COUNT(*) FROM people GROUP BY zip
"""


@pytest.fixture
def log(place: Path) -> Path:
    rows = "\n".join(f"{20 + index % 50},{'02138' if index == 21 else '02139'}" for index in range(60))
    (place / "people.csv").write_text(f"age,zip\n{rows}\n99,02138\n", encoding="utf-8")
    (place / "log.sql").write_text(LOG, encoding="utf-8")
    return place / "log.sql"


def test_two_counts_that_differ_by_one_person_are_named_by_their_lines(call: Call, log: Path) -> None:
    result = call("attack", "differencing", "log.sql", "people.csv", "--fewer-than", "2")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "line 2 - line 3: 1 person" in result.stdout
    assert "were not looked at: 7, 8." in result.stdout
    data = json.loads(call("attack", "differencing", "log.sql", "people.csv", "--json").stdout)
    assert data["lines"] == [2, 3, 4, 5]
    assert data["not_read"] == [7, 8]
    assert data["determined"] >= 1


def test_suppressed_answers_are_left_out(call: Call, log: Path) -> None:
    result = call("attack", "differencing", "log.sql", "people.csv", "--fewer-than", "2", "--suppress", "61")
    assert "does not prove privacy" in result.stdout


def test_a_condition_is_what_a_plain_count_has() -> None:
    assert condition_of("SELECT COUNT(*) FROM t WHERE a > 3 OR b") == "a > 3 OR b"
    assert condition_of("a > 3") == "a > 3"
    assert condition_of("select count(*) from t") == "TRUE"
    for other in (
        "SELECT COUNT(*) FROM t JOIN u USING (x)",
        "SELECT COUNT(*) FROM t WHERE a GROUP BY b",
        "SELECT COUNT(*) FROM t WHERE a LIMIT 1",
        "SELECT DISTINCT COUNT(*) FROM t",
        "SELECT COUNT(a) FROM t",
        "SELECT COUNT(DISTINCT a) FROM t",
        "SELECT COUNT(*), COUNT(*) FROM t",
        "SELECT COUNT(*) FROM t WHERE a IN (SELECT a FROM u)",
        "WITH t AS (SELECT 1) SELECT COUNT(*) FROM t",
        "SELECT COUNT(*) FROM t QUALIFY TRUE",
        "SELECT COUNT(*) FROM t USING SAMPLE 10",
        "SELECT COUNT(*) FROM (SELECT * FROM t WHERE b)",
        "DROP TABLE t",
        "SELECT COUNT(*",
        "max(a) > 3",
    ):
        assert condition_of(other) is None, other


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing.sql", "people.csv"), "cannot be read as text"),
        (("people.csv", "people.csv"), "has no line with a plain count"),
        (("log.sql", "missing.csv"), "there is no file"),
        (("log.sql", "survey.parquet"), "The columns are person, age"),
    ],
)
def test_what_cannot_be_read_is_refused(call: Call, log: Path, words: tuple[str, str], message: str) -> None:
    if words[0] == "people.csv":
        (log.parent / "people.csv").write_text("SELECT 1\n", encoding="utf-8")
    result = call("attack", "differencing", *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_database_answers_single_counts_and_differences_and_keeps_the_secrets() -> None:
    """Repeated questions cost nothing and get the same answer, so that nothing averages out.

    Eight targets at epsilon 1/16 a count: chance alone is right on all of them once in 60 draws; the key fixes which.
    """
    secrets = np.arange(16) % 2 == 0
    data = {"person": np.arange(16), "secret": secrets.astype(int)}
    database = open_people(data, epsilon=1)
    result = subtract_counts(ask(database, "1/16"), secrets, targets=np.arange(8), repeats=4)
    assert not result.succeeded
    assert len(set(result.curves[0].y)) == 1
    assert not isolate_people(ask(open_people(data, epsilon=1), "1/8"), secrets, targets=np.arange(8)).succeeded


def test_the_same_attacks_break_a_database_whose_budget_is_boundless() -> None:
    """The twin: the harness finds what is there to be found."""
    secrets = np.arange(8) % 2 == 0
    database = open_people({"person": np.arange(8), "secret": secrets.astype(int)}, epsilon=10**6)
    assert subtract_counts(ask(database, 1000), secrets).success.value == 1
    assert isolate_people(ask(database, 1000), secrets).success.value == 1

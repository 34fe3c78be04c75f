"""A policy is written from a schema, filled in by a person, and read back; mistakes are named."""

from datetime import date
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.app.draft import Found, write_policy
from deniable.errors import CatalogError, DeniableError, SourceError
from deniable.files.write import import_csv
from deniable.privacy import Budget, Replace
from deniable.query.connect import connect
from deniable.query.expression import Kind
from deniable.query.policy import read_policy

SCHEMA = {
    "person": Kind.INTEGER,
    "the age": Kind.REAL,
    "region": Kind.TEXT,
    "ok": Kind.BOOLEAN,
    "day": Kind.DATE,
    "seen": Kind.TIMESTAMP,
    "blob": None,
}
FILLED = """
[data]
source = "data.parquet"
name = "visits"
[privacy]
unit = "person"
ids = 2
relation = "replace"
rows = 3
groups = 2
[budget]
epsilon = 0.1
delta = 1e-7
[columns.age]
type = "integer"
lower = 0
upper = 0.5e2
null = 1
[columns.region]
keys = ["north", "south"]
null_group = true
[columns.note]
type = "text"
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_policy_may_hold_a_budget_of_any_currency(tmp_path: Path) -> None:
    text = FILLED.replace("epsilon = 0.1\ndelta = 1e-7", "renyi = 0.5\norder = 8")
    assert read_policy(written(tmp_path, text)).budget == Budget(renyi="0.5", order=8)


def test_a_policy_says_everything(tmp_path: Path) -> None:
    policy = read_policy(written(tmp_path, FILLED))
    assert policy.source == (tmp_path / "data.parquet").resolve()
    assert policy.ledger == (tmp_path / "policy.ledger").resolve()
    assert (policy.name, policy.rows, policy.groups, policy.relation) == ("visits", 3, 2, Replace)
    assert (policy.unit.column, policy.unit.ids) == ("person", 2)
    assert (policy.budget.epsilon, policy.budget.delta) == (Fraction(1, 10), Fraction(1, 10**7))
    age = policy.columns["age"]
    assert (age.kind, age.lower, age.upper, age.null) == (Kind.INTEGER, 0, 50, 1)
    assert policy.columns["region"].keys == ("north", "south", None)
    assert policy.columns["note"].kind is Kind.TEXT


def test_names_of_every_script_survive(tmp_path: Path) -> None:
    schema = {"größe \U0001f600": Kind.INTEGER, 'a"b\\c\x7f': Kind.TEXT}
    text = write_policy(Found(Path("data.duckdb"), schema, "日本"))
    path = written(tmp_path, text.replace('# row = "person"', 'row = "person"'))
    policy = read_policy(path)
    assert set(policy.columns) == set(schema)
    assert policy.table == "日本"


def test_rows_may_be_bounded_in_all(tmp_path: Path) -> None:
    text = FILLED.replace("rows = 3\ngroups = 2", "total_rows = 9")
    assert read_policy(written(tmp_path, text)).total_rows == 9


def test_a_fresh_policy_is_toml_that_asks_who_is_protected(tmp_path: Path) -> None:
    path = written(tmp_path, write_policy(Found(Path("my data.parquet"), SCHEMA)))
    with pytest.raises(CatalogError, match="who is protected"):
        read_policy(path)
    path.write_text(path.read_text().replace('# row = "person"', 'row = "person"'))
    policy = read_policy(path)
    assert policy.name == "my_data"
    assert policy.unit.column is None
    assert set(policy.columns) == set(SCHEMA) - {"blob"}
    assert policy.columns["the age"].kind is Kind.REAL


MISTAKES = {
    "no toml": ("[data", "not valid TOML"),
    "no data": ("[privacy]\nrow='x'", r"\[data\]"),
    "unknown section": (FILLED + "[extra]\n", "extra"),
    "unknown field": (FILLED.replace("ids = 2", "idz = 2"), "idz"),
    "unit and row": (FILLED.replace("ids = 2", 'row = "x"'), "one of two ways"),
    "relation": (FILLED.replace('"replace"', '"swap"'), "relation"),
    "column type": (FILLED.replace('"text"', '"blob"'), r"columns.note"),
    "column field": (FILLED.replace("null = 1", "nul = 1"), r"columns.age"),
    "reversed bounds": (FILLED.replace("lower = 0", "lower = 99"), r"columns.age.*below"),
    "text as bound": (FILLED.replace("lower = 0", 'lower = "low"'), r"columns.age"),
    "ledger that is no text": (FILLED.replace("epsilon = 0.1", "epsilon = 0.1\nledger = 4"), "ledger must be text"),
    "keys that are no list": (FILLED.replace('["north", "south"]', "3"), "keys must be a list"),
    "rows that are no number": (FILLED.replace("rows = 3", 'rows = "3"'), "rows must be a whole number"),
    "rows that are true": (FILLED.replace("rows = 3", "rows = true"), "rows must be a whole number"),
    "epsilon that is true": (FILLED.replace("epsilon = 0.1", "epsilon = true"), "epsilon must be a number"),
    "a column that is no section": (FILLED.replace("[columns.note]\ntype", "[columns]\nnote"), "columns"),
    "no budget": (FILLED.replace("epsilon = 0.1\ndelta = 1e-7", ""), "budget"),
    "negative budget": (FILLED.replace("0.1", "-0.1"), "epsilon"),
    "budget that is no number": (FILLED.replace("epsilon = 0.1", "epsilon = nan"), "epsilon"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(tmp_path: Path, name: str) -> None:
    text, words = MISTAKES[name]
    with pytest.raises(DeniableError, match=words):
        read_policy(written(tmp_path, text))


def test_a_missing_policy_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="deniable init"):
        read_policy(tmp_path / "policy.toml")


TEXT = (
    FILLED.replace("data.parquet", "data.csv")
    + """
[columns.day]
type = "date"
format = "%d/%m/%Y"
[csv]
encoding = "latin-1"
delimiter = ";"
decimal = ","
null = ["NA"]
"""
)


def test_a_policy_says_how_a_text_file_is_read(tmp_path: Path) -> None:
    csv = read_policy(written(tmp_path, TEXT)).csv
    assert csv is not None
    assert (csv.encoding, csv.delimiter, csv.decimal, csv.null, csv.row_lines) == ("latin-1", ";", ",", ("NA",), 1)
    assert {name: column.type for name, column in csv.columns.items()} == {
        "age": "integer",
        "region": "text",
        "note": "text",
        "day": "date",
    }
    assert csv.column("day").format == "%d/%m/%Y"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("data.csv", "data.parquet", "for text files"),
        ('decimal = ","', 'decimal = ";"', "decimal must be"),
        ('decimal = ","', 'decimals = ","', "no field 'decimals'"),
        ("%d/%m/%Y", "day", r"columns.day.*format must be"),
        ('"latin-1"', '"utf-7"', "encoding"),
    ],
)
def test_a_mistake_about_a_text_file_is_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(CatalogError, match=words):
        read_policy(written(tmp_path, TEXT.replace(old, new)))


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ('keys = ["a"]\nlower = 0\nupper = 9', "lower has no meaning beside keys"),
        ('keys = ["a"]\nnull = 0', "null has no meaning beside keys"),
        ('keys = ["a"]\ntype = "integer"', "type is 'integer', but keys are of type 'text'"),
        ("keys = [1.50, 1.5]", "keys cannot be fractions"),
        ("lower = 0\nupper = 9\nnull_group = true", "null_group has no meaning without keys"),
        ('type = "text"\nlower = 0', "lower has no meaning for a column of type 'text'"),
        ('type = "date"\nnull = 0', "null has no meaning for a column of type 'date'"),
        ('type = "date"\nlower = 3\nupper = 4', "lower must be a date"),
    ],
)
def test_no_field_is_dropped_in_silence(tmp_path: Path, column: str, said: str) -> None:
    text = f"{FILLED}[columns.x]\n{column}\n"
    with pytest.raises(CatalogError, match=said):
        read_policy(written(tmp_path, text))


def test_keys_keep_their_type_and_dates_their_bounds(tmp_path: Path) -> None:
    text = FILLED + '[columns.x]\ntype = "integer"\nkeys = [1, 2]\n'
    text += '[columns.d]\ntype = "date"\nlower = 2024-01-01\nupper = 2024-12-31\n'
    columns = read_policy(written(tmp_path, text)).columns
    assert (columns["x"].kind, columns["x"].keys) == (Kind.INTEGER, (1, 2))
    assert columns["d"].upper is not None
    assert columns["d"].upper - (columns["d"].lower or 0) == 365


def test_a_policy_declares_groups_of_an_expression_for_text_files_too(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("ward\n" + "a\nA\nb\n" * 10)
    text = """
[data]
source = "visits.csv"
[csv]
[privacy]
row = "person"
[budget]
epsilon = 1000
[columns.ward]
type = "text"
[columns."UPPER(ward)"]
keys = ["A", "B"]
"""
    policy = read_policy(written(tmp_path, text))
    assert policy.csv is not None
    assert dict(import_csv(policy.source, policy.csv).losses) == {}
    release = connect(tmp_path / "policy.toml").sql(
        "SELECT UPPER(ward) AS w, COUNT(*) FROM visits GROUP BY w", epsilon=99
    )
    assert [row["w"] for row in release.to_dicts()] == ["A", "B"]
    misspelt = read_policy(written(tmp_path, text.replace("UPPER(ward)", "wrad")))
    assert misspelt.csv is not None
    with pytest.raises(SourceError, match="no column 'wrad'"):
        import_csv(misspelt.source, misspelt.csv)
    misread = read_policy(written(tmp_path, text.replace("UPPER(ward)", "UPPER(wrad)")))
    assert misread.csv is not None
    import_csv(misread.source, misread.csv)  # the text of an expression says nothing here
    with pytest.raises(CatalogError, match="no column"):
        connect(tmp_path / "policy.toml")


def test_keys_stand_in_public_files_and_go_together(tmp_path: Path) -> None:
    (tmp_path / "wards.csv").write_text("code,ward,since\n007,a,2025-01-01\n008,b,2025-01-02\n007,a,2025-01-01\n")
    pq.write_table(pa.table({"ward": ["b", "a"], "code": ["1", "2"]}), tmp_path / "wards.parquet")
    text = (
        FILLED.partition("[columns")[0]
        + """
        [columns."ward, code"]
        without = [["b", "007"]]
        [columns.code]
        keys = "wards.csv"
        [columns.ward]
        keys = "wards.csv"
        null_group = true
        [columns.since]
        type = "date"
        keys = "wards.csv"
        [columns."code, ward"]
        keys = "wards.parquet"
        [columns."region, note"]
        keys = [["n", "x"], ["s", "y"]]
    """
    )
    columns = read_policy(written(tmp_path, text)).columns
    assert columns["code"].keys == ("007", "008")
    assert columns["since"].keys == (date(2025, 1, 1), date(2025, 1, 2))
    assert columns["ward, code"].joint == (("a", "007"), ("a", "008"), ("b", "008"), (None, "007"), (None, "008"))
    assert columns["code, ward"].joint == (("1", "b"), ("2", "a"))
    assert columns["region, note"].joint == (("n", "x"), ("s", "y"))


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ('[columns.region]\nkeys = "nowhere.csv"', "cannot be read from 'nowhere.csv'"),
        ('[columns."a, b"]\nwithout = [["x", "y"]]', "keys are missing"),
        ("[columns.region]\nkeys = 3", "a list, or a file of keys"),
    ],
)
def test_keys_that_cannot_be_had_are_refused(tmp_path: Path, section: str, said: str) -> None:
    with pytest.raises(CatalogError, match=said):
        read_policy(written(tmp_path, FILLED.partition("[columns")[0] + section))

"""Exact counts for the owner, who is warned; nothing is charged or written."""

from pathlib import Path

from ..conftest import SECRETS, Call


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
        "person rows of nobody: the unit is missing, they are always left out": 1,
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


def test_a_clean_table_is_said_to_be_clean(call: Call, place: Path) -> None:
    (place / "clean.csv").write_text("person,age\n1,5\n2,6\n")
    (place / "clean.toml").write_text(
        '[data]\nsource = "clean.csv"\n[privacy]\nunit = "person"\n[budget]\nepsilon = 1\n'
        '[columns.age]\ntype = "integer"\nlower = 0\nupper = 9\n'
    )
    assert "Nothing is odd" in call("doctor", "clean.toml").stdout

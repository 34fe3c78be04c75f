"""Measures and attacks on a file, and the same table in several releases."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable import attacks
from tests.app.conftest import Call

ASKED = ("attack", "anonymity", "staff.parquet", "--quasi", "department, age")


@pytest.fixture
def staff(place: Path) -> Path:
    pq.write_table(dn.datasets.survey(), place / "staff.parquet")
    return place


def test_the_measures_are_those_of_the_library(call: Call, staff: Path) -> None:
    result = call(*ASKED, "--sensitive", "satisfaction,leaving", "--json", "--plot", "bars.svg")
    assert (result.exit_code, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    quasi, sensitive = ["department", "age"], ["satisfaction", "leaving"]
    assert (
        told["measures"] == attacks.measure_anonymity(dn.datasets.survey(), quasi=quasi, sensitive=sensitive).to_data()
    )
    assert list(told["homogeneity"]) == sensitive
    assert "comparison" not in told
    assert (staff / "bars.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_releases_are_compared_where_it_is_asked(call: Call, staff: Path) -> None:
    plain = call(*ASKED, "--sensitive", "leaving", "--compare")
    assert plain.exit_code == 0
    assert "4-anonymous: 4,000 people in 294 classes of department, age" in plain.stdout
    assert "intersection" in plain.stdout
    private = json.loads(call(*ASKED, "--sensitive", "leaving", "--epsilon", "0.5", "--json").stdout)["comparison"]
    for one in private["attacks"].values():
        assert list(one) == ["exact", "suppressed", "rounded", "k-anonymous", "private"]


@pytest.mark.parametrize("number", ["1", "1.5"])
def test_private_counts_cover_fractions_and_what_has_no_value(call: Call, place: Path, number: str) -> None:
    (place / "gaps.csv").write_text(f"a,b\n{number},x\n{number},\n,x\n2,y\n", encoding="utf-8")
    asked = ("attack", "anonymity", "gaps.csv", "--quasi", "a", "--sensitive", "b", "--k", "2")
    told = json.loads(call(*asked, "--epsilon", "10000", "--json").stdout)
    assert told["measures"]["k"] == 1
    by_class = told["comparison"]["attacks"]["homogeneity"]
    assert by_class["private"]["right"] == by_class["exact"]["right"] == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--sensitive", "shoe"), "sensitive names no column of the table: shoe. It has: respondent, department"),
        (("--sensitive", "age"), "age must not be both a quasi-identifier and sensitive"),
        (("--sensitive", "leaving,years", "--compare"), "a comparison takes one sensitive column, got leaving, years"),
        (("--sensitive", "leaving", "--epsilon", "-1"), "epsilon must be > 0"),
        (("--sensitive", "respondent", "--epsilon", "1"), "private counts are too many"),
    ],
)
def test_bad_questions_are_refused(call: Call, staff: Path, words: tuple[str, ...], message: str) -> None:
    result = call(*ASKED, *words)
    assert result.exit_code == 2
    assert message in result.stderr

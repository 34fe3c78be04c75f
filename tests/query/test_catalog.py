"""Declarations fail closed, and say what to do."""

from datetime import date

import pytest

import deniable as dn
from deniable.errors import CatalogError, UnsupportedQueryError
from deniable.privacy import PrivacyUnit
from deniable.query.catalog import DeclaredTable
from deniable.query.expression import Call, Column, Kind

SCHEMA = {"person": Kind.INTEGER, "Age": Kind.REAL, "ok": Kind.BOOLEAN, "blob": None}


def table(**options: object) -> DeclaredTable:
    chosen: dict[str, object] = {"name": "t", "schema": SCHEMA, "unit": PrivacyUnit(column="person", noun="person")}
    return DeclaredTable(**(chosen | options))  # type: ignore[arg-type]


def test_columns_are_found_by_any_case_and_carry_their_facts() -> None:
    described = table(columns={"Age": dn.Number(lower=0, upper=9)})
    column = described.column("age")
    assert isinstance(column, Column)
    assert (column.name, column.facts.upper) == ("Age", 9)
    assert described.column("ok").facts.keys == (False, True)


def test_a_missing_value_may_count_as_a_number() -> None:
    filled = table(columns={"Age": dn.Number(lower=0, upper=9, null=2)}).column("Age")
    assert isinstance(filled, Call)
    assert filled.operator == "coalesce"
    assert not filled.facts.nullable


def test_bounds_of_days_are_shown_as_days() -> None:
    day = {"lower": date(2024, 1, 1), "upper": date(2024, 12, 31)}
    schema = {**SCHEMA, "born": Kind.DATE, "seen": Kind.TIMESTAMP}
    shown = table(schema=schema, columns={"born": dn.Date(**day), "seen": dn.Timestamp(**day)})
    assert {bounds for *_, bounds, _, _ in shown.described()} == {"", "2024-01-01 to 2024-12-31"}
    with pytest.raises(CatalogError, match="lower=2024-12-31 and upper=2024-01-01"):
        dn.Date(lower=day["upper"], upper=day["lower"])


@pytest.mark.parametrize("name", ["blob", "other"])
def test_columns_that_cannot_be_used_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=name):
        table().column(name)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"unit": PrivacyUnit(column="blob", noun="x")}, "cannot identify"),
        ({"unit": PrivacyUnit(column="nobody", noun="x")}, "each_row"),
        ({"rows": 0}, "rows"),
        ({"groups": True}, "groups"),
        ({"total_rows": 0}, "total_rows"),
        ({"total_rows": 3, "rows": 2}, "one of them"),
        ({"unit": dn.each_row("person"), "total_rows": 2}, "need a unit column"),
        ({"rows": 10**9}, "rows"),
        ({"unit": dn.each_row("person"), "groups": 2}, "need a unit column"),
        ({"columns": {"nothing": dn.Text()}}, "nothing"),
    ],
)
def test_tables_that_contradict_themselves_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(CatalogError, match=words):
        table(**options)

"""Declared expressions are parsed once, where a table is made, and are data in it."""

import pytest

import deniable as dn
from deniable.errors import CatalogError
from deniable.query.catalog import DeclaredTable
from deniable.query.declarations import Declaration
from deniable.query.declared import declared_table, redeclared, stated
from deniable.query.expression import Call, Kind

WARDS = {"ward": Kind.TEXT, "age": Kind.INTEGER}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"wrad": dn.Keys(["A"])}, r"Did you mean 'ward'"),
        ({"Ward": dn.Keys(["A"])}, r"Did you mean 'ward'"),
        ({"UPPER(wrad)": dn.Keys(["A"])}, r"As an expression: .*Did you mean 'ward'"),
        ({"COUNT(*)": dn.Keys([1])}, "As an expression: an aggregate"),
        ({"UPPER(ward)": dn.Text()}, "only its keys can be declared"),
        ({"age % 7": dn.Number(lower=0, upper=6)}, "only its keys can be declared"),
        ({"UPPER(ward)": dn.Keys([1])}, "kind integer for .* of kind text"),
        ({"age / 2": dn.Keys([1])}, "CAST to BIGINT"),
        ({"UPPER(ward)": dn.Keys(["A"]), "upper( ward )": dn.Keys(["B"])}, "declares already"),
        *(
            ({text: dn.Keys(["A"])}, "does not have")
            for text in ("", "ward, age", "ward AS w", "ward FROM t", "'A'", "*")
        ),
    ],
)
def test_a_declared_name_is_a_column_or_an_expression_with_keys(columns: dict[str, Declaration], words: str) -> None:
    with pytest.raises(CatalogError, match=words):
        declared_table(name="t", schema=WARDS, columns=columns, unit=dn.each_row())


def test_a_table_holds_what_its_declared_names_mean() -> None:
    columns = {"UPPER(ward)": dn.Keys(["A"]), "ward, age": dn.Keys([("a", 1)]), "age": dn.Number(lower=0, upper=9)}
    table = declared_table(name="t", schema=WARDS, columns=columns, unit=dn.each_row())
    (upper,) = table.declared_expressions["UPPER(ward)"]
    assert isinstance(upper, Call)
    assert upper.operator == "upper"
    assert table.expressions == {"UPPER(ward)": upper}
    assert len(table.declared_expressions["ward, age"]) == 2
    assert "age" not in table.declared_expressions


def test_other_declarations_are_parsed_anew() -> None:
    """A missing value that counts as a number is part of the expression."""
    table = declared_table(name="t", schema=WARDS, columns={"age % 7": dn.Keys(range(7))}, unit=dn.each_row())
    filled = redeclared(table, {**table.columns, "age": dn.Number(null=3)})
    assert filled.expressions["age % 7"] != table.expressions["age % 7"]
    one = stated({"t": table}, {"age": dn.Number(null=3)})["t"]
    assert one == filled
    assert stated({"t": table}, None) == {"t": table}


def test_a_table_without_its_expressions_is_refused() -> None:
    with pytest.raises(CatalogError, match="does not have"):
        DeclaredTable(name="t", schema=WARDS, unit=dn.each_row(), columns={"UPPER(ward)": dn.Keys(["A"])})

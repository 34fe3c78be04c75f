"""Domains of columns from public facts, and the tables that a number of columns stands for."""

from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import deniable as dn
from deniable.errors import CatalogError, InvalidParameterError
from deniable.query.domains import attribute_of, domain_of, max_rows_of, named_tables
from deniable.query.expression import Facts, Kind
from tests.query.test_synthetic import connected


@pytest.mark.parametrize(
    ("facts", "size"),
    [
        (Facts(kind=Kind.BOOLEAN), 3),
        (Facts(kind=Kind.TEXT, keys=("a", "b", None)), 3),
        (Facts(kind=Kind.INTEGER, lower=Fraction(0), upper=Fraction(9)), 11),
        (Facts(kind=Kind.INTEGER, lower=Fraction(1, 2), upper=Fraction(5, 2)), 3),
        (Facts(kind=Kind.INTEGER, lower=Fraction(1, 3), upper=Fraction(2, 3)), None),
        (Facts(kind=Kind.INTEGER, lower=Fraction(0), upper=Fraction(10**12)), 101),
        (Facts(kind=Kind.REAL, lower=Fraction(0), upper=Fraction(1)), 101),
        (Facts(kind=Kind.REAL), None),
        (Facts(kind=Kind.TEXT), None),
    ],
    ids=str,
)
def test_levels_are_those_that_public_facts_leave(facts: Facts, size: int | None) -> None:
    attribute = attribute_of("x", facts, 100)
    assert (None if attribute is None else attribute.size) == size


def test_all_tables_of_some_columns_and_tables_by_name() -> None:
    table = connected().tables["visits"]
    names, domain, left_out = named_tables(table, 2, ["ward", "ill", "day"], 10)
    assert names == [(), ("ward",), ("ill",), ("day",), ("ward", "ill"), ("ward", "day"), ("ill", "day")]
    assert (domain.names, left_out) == (("ward", "ill", "day"), ())
    assert named_tables(table, 99, ["ward", "ill"], 10)[0][-1] == ("ward", "ill")
    assert named_tables(table, ["ill", ["ward", "age"]], None, 10)[1].names == ("ill", "ward", "age")
    assert domain_of(table, None, 10)[1] == ("note",)
    assert max_rows_of(table) == 2


def test_too_many_tables_are_refused() -> None:
    columns: Any = {f"c{at}": dn.Keys([1]) for at in range(30)}
    source = pd.DataFrame({name: [1] for name in columns})
    db = dn.connect(source, name="t", unit=dn.each_row(), columns=columns, budget=dn.Budget(epsilon=1))
    with pytest.raises(InvalidParameterError, match="tables=9 of 30 columns are more than 10,000"):
        named_tables(db.tables["t"], 9, None, 10)
    with pytest.raises(CatalogError, match="has no declared domain"):
        domain_of(connected().tables["visits"], ["note"], 10)

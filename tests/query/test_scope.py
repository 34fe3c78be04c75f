"""What names mean in the row part of a query."""

import pytest
import sqlglot
from sqlglot import exp

from deniable.errors import UnsupportedQueryError
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.expression import Column
from deniable.query.scope import Item, RowScope
from deniable.query.table_expression import Scan
from tests.query.conftest import frame, table_of

ROWS = Scan(table_of(DuckDBEngine.from_arrow(frame())))
SCOPE = RowScope(ROWS, [Item(("x", "t"), ROWS)])


def node(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, dialect="duckdb")


@pytest.mark.parametrize("text", ["age", "AGE", '"age"', "x.age", "X.Age", "t.age"])
def test_a_column_is_found_under_all_its_names(text: str) -> None:
    resolved = SCOPE.resolve(node(text))
    assert isinstance(resolved, Column)
    assert resolved.name == "age"


def test_other_nodes_are_left_to_the_reader() -> None:
    assert SCOPE.resolve(node("1 + 1")) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [("y.age", "not a table"), ("COUNT(*)", "aggregate"), ("x.*", "list rows"), ("nothing", "no column")],
)
def test_what_has_no_meaning_in_a_row_is_refused(text: str, words: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=words):
        SCOPE.resolve(node(text))

"""The list itself: what it names exists, and an argument that it does not name is refused."""

import pytest
import sqlglot
from sqlglot import exp

from deniable.errors import UnsupportedQueryError
from deniable.query.allowlist import ARGUMENTS, BINARY, UNARY, VARIADIC, checked, spoken
from deniable.query.operators import OPERATORS


def test_every_listed_argument_exists_in_this_version_of_the_parser() -> None:
    for kind, arguments in ARGUMENTS.items():
        assert arguments <= set(kind.arg_types), kind
    assert {*BINARY.values(), *UNARY.values(), *VARIADIC.values()} <= set(OPERATORS)


def test_an_argument_that_is_not_listed_is_refused() -> None:
    select = sqlglot.parse_one("SELECT a FROM t GROUP BY ALL", dialect="duckdb")
    assert checked(select) is select
    with pytest.raises(UnsupportedQueryError, match="ALL in GROUP"):
        checked(select.args["group"])


def test_a_class_that_is_not_listed_is_refused_by_its_name() -> None:
    with pytest.raises(UnsupportedQueryError, match=r"MY_FUNCTION\(\)"):
        checked(sqlglot.parse_one("my_function(1)", dialect="duckdb"))
    assert spoken(exp.Star()) == "*"
    assert spoken(exp.Subquery()) == "a subquery"

"""What all aggregates have in common: a name in the ledger that lasts."""

from typing import Any

import pytest

from deniable.query.aggregates.aggregate import BoundedAggregate
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.sql import parse
from tests.query.conftest import frame, plan_of, table_of

ENGINE = DuckDBEngine.from_arrow(frame())


def bounded(text: str, **options: object) -> list[BoundedAggregate]:
    question = parse(text, {"t": table_of(ENGINE, **options)}).question  # type: ignore[arg-type]
    return [aggregate.bounded(question) for aggregate in question.aggregates]


@pytest.mark.parametrize(
    ("text", "options", "key"),
    [
        (
            "SELECT region, COUNT(*), SUM(age), AVG(income), COUNT(DISTINCT person), COUNT(income) FROM t "
            "WHERE age > 3 GROUP BY region",
            {"rows": 2, "groups": 2},
            "f912c232d7c29a7ef3ae83f2da4b02682e10153d1cb081fd7c7673e0aa2fb404",
        ),
        ("SELECT COUNT(*) FROM t", {"unit": None}, "0ae270be60013d58617a2e70f3105c2f208e5ad6052fbecc822b94254d181817"),
    ],
    ids=["several", "one"],
)
def test_a_question_keeps_its_name_in_ledgers(text: str, options: dict[str, Any], key: str) -> None:
    """As the versions before this one wrote it: another name would pay again for what is known."""
    assert plan_of(table_of(ENGINE, **options), text).key == key

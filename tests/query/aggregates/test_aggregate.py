"""What all aggregates have in common: a name in the ledger that lasts."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from deniable.query.aggregates import aggregate
from deniable.query.aggregates.aggregate import CODES, BoundedAggregate, Tally, tallied
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


@pytest.mark.parametrize("held", [0, 7, 1000])
def test_keys_are_counted_in_whatever_batches_they_come(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregate, "MOST_HELD", held)
    rng = np.random.default_rng(3)
    batches = [rng.integers(0, 3, size) * CODES + rng.integers(0, 4, size) for size in (0, 5, 90, 1, 4)]
    one, other = tallied(batches), tallied(iter(batches[1:2]))
    tally = Tally.of([one, other, tallied([])], 3)
    expected = Counter(divmod(key, CODES) for key in np.concatenate([*batches, batches[1]]).tolist())
    found = dict(zip(zip(tally.cells.tolist(), tally.codes.tolist(), strict=True), tally.counts.tolist(), strict=True))
    assert found == expected
    assert list(found) == sorted(found)
    assert [part.size for part in next(Tally.of([], 1).groups())] == [0, 0]

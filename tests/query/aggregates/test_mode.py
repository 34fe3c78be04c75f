"""MODE in SQL: what is counted, what a choice costs, and how near the most frequent value it is."""

from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import UnsupportedQueryError
from deniable.mechanisms.price import Price
from deniable.privacy import AddRemove, Relation, Replace
from deniable.query.aggregates.aggregate import Tally
from deniable.query.aggregates.mode import PricedMode
from deniable.query.declarations import Keys
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.rules import price
from deniable.query.sql import parse
from tests.query.conftest import SECRET, table_of

SOURCE = pa.table(
    {
        "person": [0, 0, 0, 0, 1, 2, 3, 4, None],
        "g": ["a", "a", "a", "a", "a", "a", "b", "b", "a"],
        "s": ["u", "u", "u", "v", "v", "w", "other", None, "u"],
    }
)
COLUMNS = {"g": Keys(["a", "b"]), "s": Keys(["w", "v", "u"])}


def planned(text: str, asked: Price | None = None, **bounds: Any) -> tuple[PricedMode, Any]:
    engine = DuckDBEngine.from_arrow(SOURCE, threads=1)
    query = parse(text, {"t": table_of(engine, columns=COLUMNS, **bounds)})
    plan = price(query, asked or Price(epsilon=Fraction(1)))
    (part,) = plan.parts
    assert isinstance(part, PricedMode)
    return part, engine.exact(plan, secret=SECRET)[0]


def listed(tally: Tally) -> list[tuple[int, int, int]]:
    return list(zip(tally.cells.tolist(), tally.codes.tolist(), tally.counts.tolist(), strict=True))


def test_counts_are_those_of_listed_values_and_of_few_rows_a_unit() -> None:
    text = "SELECT g, MODE(s) FROM t GROUP BY g"
    assert listed(planned(text, rows=9, groups=2)[1]) == [(0, 0, 1), (0, 1, 2), (0, 2, 3)]
    bounded = listed(planned(text, rows=1, groups=2)[1])
    assert sum(count for _, _, count in bounded) == 3
    filtered = planned("SELECT MODE(s) FILTER (WHERE s <> 'u') FROM t", rows=9)[1]
    assert listed(filtered) == [(0, 0, 1), (0, 1, 2)]


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("asked", [Price(epsilon=Fraction(1)), Price(rho=Fraction(1, 8))])
def test_the_laws_of_neighbours_are_as_far_apart_as_is_paid(relation: Relation, asked: Price) -> None:
    """Two rows of a unit come, and where it is replaced go; the twin lets a third one count."""
    part, _ = planned("SELECT MODE(s) FROM t", asked, rows=2, relation=relation)
    epsilon = 1.0  # what rho = 1/8 buys of the exponential mechanism

    def apart(here: list[int], there: list[int]) -> float:
        one, other = (part.mechanism.pmf(np.array(scores)) for scores in (here, there))
        return max(abs(np.log(one[each].upper / other[each].upper)) for each in range(3))

    pairs = [([4, 4, 1], [4, 4 + b, 1 + 2 - b]) for b in range(3)] + [([0, 0, 0], [2, 0, 0]), ([9, 8, 8], [9, 10, 8])]
    if relation is Replace:
        pairs += [([6, 4, 0], [4, 6, 0]), ([2, 0, 0], [0, 0, 2]), ([2, 2, 2], [1, 1, 4])]
    assert 0.3 < max(apart(here, there) for here, there in pairs) <= epsilon * (1 + 1e-9)
    assert max(apart([0, 0, 40], [0, 3, 40]), apart([40, 0, 0], [37, 3, 0]), apart([3, 0, 0], [0, 0, 3])) > epsilon


@pytest.mark.parametrize(("relation", "groups", "times"), [(AddRemove, 1, 1), (AddRemove, 9, 2), (Replace, 1, 2)])
def test_a_choice_is_paid_once_for_every_group_of_a_unit(relation: Relation, groups: int, times: int) -> None:
    part, _ = planned("SELECT g, MODE(s) FROM t GROUP BY g", groups=groups, relation=relation)
    assert part.bounded.times == times
    assert part.loss.pure_epsilon is not None
    assert part.loss.pure_epsilon <= 1
    assert part.mechanism.rate == Fraction(1, times) / (1 if relation is AddRemove else 2)


def test_the_choice_is_as_near_the_most_frequent_as_it_says() -> None:
    part, _ = planned("SELECT MODE(s) FROM t", rows=2)
    gap = int(part.mechanism.gap_bound(3, failure=0.05))  # type: ignore[attr-defined]
    beyond, within = (part.mechanism.pmf(np.array([0, 0, best])) for best in (gap + 1, gap - 2))
    assert 1 - beyond[2].lower <= 0.05 < 1 - within[2].upper


def test_answers_are_values_of_the_column_and_are_stored_as_such() -> None:
    days = [date(2025, 1, 1 + p % 3 // 2) for p in range(3000)]
    table = pa.table({"p": range(3000), "d": days, "k": [p % 4 // 3 for p in range(3000)]})
    columns = {"d": dn.Date(lower=date(2025, 1, 1), upper=date(2025, 1, 9)), "k": dn.Number(lower=0, upper=9)}
    db = dn.connect(table, name="t", unit="p", columns=columns, budget=dn.Budget(epsilon=9))
    text = "SELECT MODE(d) AS d, MODE(k) AS k, MODE(k > 0) AS b, MODE(MONTH(d)) AS m, COUNT(*) AS n FROM t"
    for answer in (db.sql(text, epsilon=3), db.sql(text, epsilon=3)):  # the second one is remembered
        row = answer.to_dicts()[0]
        assert [row[name] for name in "dkbm"] == [date(2025, 1, 1), 0, False, 1]
    assert "of the most frequent" in str(db.explain(text, epsilon=2))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT MODE(person) FROM t", "public list"),
        ("SELECT MODE(1) FROM t", "2 to 1,000 public values, got 1"),
        ("SELECT g, MODE(s) AS m FROM t GROUP BY g ORDER BY m", "neither order nor choose"),
        ("SELECT g, COUNT(*) FROM t GROUP BY g HAVING MODE(s) IS NULL", "neither order nor choose"),
        ("SELECT COALESCE(MODE(s), 0) AS m FROM t", "column of its own"),
    ],
)
def test_what_a_choice_cannot_do_is_refused(text: str, words: str) -> None:
    db = dn.connect(SOURCE, name="t", unit="person", columns=COLUMNS, budget=dn.Budget(epsilon=1))
    with pytest.raises(UnsupportedQueryError, match=words):
        db.explain(text, epsilon=1)

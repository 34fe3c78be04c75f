"""Quantiles in SQL: what is tallied, what one unit changes, what it costs, and how often intervals hold the truth."""

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.errors import UnsupportedQueryError
from deniable.mechanisms.price import Price
from deniable.mechanisms.ranks.records import RankWindow
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.query.aggregates.aggregate import Tally
from deniable.query.aggregates.order import Order, PricedOrder
from deniable.query.declarations import Keys, Number
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.plan import PricedPlan
from deniable.query.rules import price
from deniable.query.sql import parse
from tests.query.conftest import SECRET, table_of

COLUMNS = {"g": Keys([0, 1, 2]), "x": Number(lower=-1, upper=4), "k": Number(lower=0, upper=50)}
Rows = list[tuple[Any, ...]]
ROWS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(0, 3),
        st.sampled_from([-9.0, -1.0, 0.25, 4.0, float("nan"), float("inf"), None]),
        st.sampled_from([0, 3, 50, 99, None]),
    ),
    max_size=12,
)
TEXT = "SELECT g, MEDIAN(x), MAX(k) FILTER (WHERE x > 0), COUNT(*) FROM t GROUP BY g"


def planned(held: Rows, text: str = TEXT, asked: Price | None = None, **bounds: Any) -> tuple[PricedPlan, list[Any]]:
    kinds = {"person": pa.int64(), "g": pa.int64(), "x": pa.float64(), "k": pa.int64()}
    source = pa.table({name: pa.array([row[i] for row in held], kind) for i, (name, kind) in enumerate(kinds.items())})
    engine = DuckDBEngine.from_arrow(source, threads=1)
    query = parse(text, {"t": table_of(engine, columns=COLUMNS, **bounds)})
    plan = price(query, asked or Price(epsilon=Fraction(1)))
    return plan, engine.exact(plan, secret=SECRET)


def counted(tally: Tally) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    for cell, code, count in zip(tally.cells.tolist(), tally.codes.tolist(), tally.counts.tolist(), strict=True):
        found[cell, code] = count
    return found


@given(ROWS, ROWS, st.sampled_from([AddRemove, Replace]), st.integers(1, 3), st.integers(1, 3))
def test_one_unit_moves_the_tallies_no_further_than_the_loss_says(
    rows: Rows, others: Rows, relation: Relation, most: int, groups: int
) -> None:
    kept = [row for row in rows if row[0] != 0]
    there = kept + [(0, *row[1:]) for row in others] if relation is Replace else kept
    plan, here = planned(rows, relation=relation, rows=most, groups=groups)
    _, then = planned(there, relation=relation, rows=most, groups=groups)
    for part, one, other in zip(plan.parts, here, then, strict=True):
        if not isinstance(part, PricedOrder):
            continue
        a, b = counted(one), counted(other)
        gone, come = a - b, b - a
        cells = {cell for cell, _ in (*gone, *come)}
        assert len(cells) <= part.bounded.times
        for cell in cells:
            assert max(sum(n for (c, _), n in side.items() if c == cell) for side in (gone, come)) <= most
            if relation is AddRemove:
                assert not come


@given(ROWS, st.integers(1, 3))
def test_every_unit_counts_with_rows_of_its_own(rows: Rows, most: int) -> None:
    """Values on their points, NULL and NaN nowhere; of more than `rows` values so many, of fewer all."""
    plan, found = planned(rows, rows=most, groups=3)
    place = next(i for i, part in enumerate(plan.parts) if str(part.aggregate) == "MEDIAN(x)")
    tally = counted(found[place])
    values: dict[tuple[int, int], list[int]] = {}
    for person, g, x, _ in rows:
        if x is not None and x == x and g < 3:
            code = round((min(max(x, -1.0), 4.0) + 1) * 10**5)
            values.setdefault((person, g), []).append(code)
    for cell in range(3):
        mine = [codes for (_, g), codes in values.items() if g == cell]
        assert sum(n for (c, _), n in tally.items() if c == cell) == sum(min(len(codes), most) for codes in mine)
        every = Counter(code for codes in mine for code in codes)
        assert all(n <= every[code] for (c, code), n in tally.items() if c == cell)
        for (c, code), n in tally.items():
            if c == cell and all(len(codes) <= most for codes in mine):
                assert n == every[code]


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(-2, 13), st.integers(0, 13))
def test_a_tally_knows_what_listed_records_know(codes: list[int], first: int, length: int) -> None:
    counts = np.bincount(np.array(codes, dtype=np.int64), minlength=10)
    held = np.flatnonzero(counts)
    window = RankWindow.tallied(held, counts[held], first, first + length)
    whole = RankWindow.of(np.array(codes, dtype=np.int64), 10)
    assert window.total == whole.total
    assert window.known.tolist() == whole.known[window.start : window.end].tolist()
    if codes:
        assert window.start <= max(0, min(first, len(codes) - 1))
        assert window.end > max(0, min(first + length, len(codes) - 1))
    for code in range(10):
        assert window.below(code) == whole.below(code)
        assert window.beside(code) == whole.beside(code)


@pytest.mark.parametrize(
    ("relation", "groups", "cells", "times"),
    [(AddRemove, 1, 3, 1), (AddRemove, 2, 3, 2), (AddRemove, 9, 3, 3), (Replace, 1, 3, 2), (Replace, 2, 3, 3)],
)
def test_a_choice_is_paid_once_for_every_group_of_a_unit(
    relation: Relation, groups: int, cells: int, times: int
) -> None:
    text = "SELECT g, MEDIAN(x) FROM t GROUP BY g"
    plan, _ = planned([], text, relation=relation, groups=groups)
    (part,) = plan.parts
    assert isinstance(part, PricedOrder)
    assert (part.bounded.times, plan.query.question.cells) == (times, cells)
    assert plan.loss.pure_epsilon == 1
    assert part.statistic.privacy_loss.pure_epsilon == Fraction(1, times)
    plan, _ = planned([], text.replace("g, ", "").replace(" GROUP BY g", ""), relation=relation, groups=groups)
    assert isinstance(plan.parts[0], PricedOrder)
    assert plan.parts[0].bounded.times == 1


def test_many_groups_are_paid_in_rho_where_that_buys_more() -> None:
    text = "SELECT g, MEDIAN(x), COUNT(*) FROM t GROUP BY g"
    plain, _ = planned([], text, groups=3)
    better, _ = planned([], text, Price(epsilon=Fraction(1), delta=Fraction(1, 10**6)), groups=3)
    one, other = (next(p for p in plan.parts if isinstance(p, PricedOrder)) for plan in (plain, better))
    assert other.statistic.epsilons[0] >= one.statistic.epsilons[0]
    assert better.loss.epsilon(Fraction(1, 10**6)).upper <= 1


def test_the_grid_is_whole_for_whole_numbers_and_fine_for_others() -> None:
    (median, count, largest) = planned([])[0].query.question.aggregates[:3]
    named = {str(each): each for each in (median, count, largest)}
    assert isinstance(named["MEDIAN(x)"], Order)
    assert named["MEDIAN(x)"].grid.size == 500_001
    whole = next(each for each in named.values() if isinstance(each, Order) and each.share == 1)
    assert (whole.step, whole.whole) == (1, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT MEDIAN(x) * 2 FROM t", "in a column of its own"),
        ("SELECT QUANTILE_CONT(x, 2) FROM t", "a share from 0 to 1"),
        ("SELECT QUANTILE_CONT(x, x) FROM t", "a share from 0 to 1"),
        ("SELECT MEDIAN(person) FROM t", "needs public bounds"),
        ("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x DESC) FROM t", "write PERCENTILE_CONT"),
        ("SELECT MEDIAN(MAX(x)) FROM t", "an aggregate"),
    ],
)
def test_what_has_no_interval_or_no_bounds_is_refused(text: str, words: str) -> None:
    source = pa.table({"person": [1], "g": [1], "x": [1.0], "k": [1]})
    db = dn.connect(source, name="t", unit="person", columns=COLUMNS, budget=dn.Budget(epsilon=1))
    with pytest.raises(UnsupportedQueryError, match=words):
        db.sql(text, epsilon=1)
    assert db.ledger.spent().epsilon == 0


def test_intervals_hold_the_quantiles_as_often_as_they_say() -> None:
    """100 groups a question: a level of 95% holds fewer than 88 of 100 in one of 1,400 seeds. The widths are bounded
    too, so that intervals which always hold would be seen."""
    rng = np.random.default_rng(5)
    groups, size = 100, 2_000
    g = np.repeat(np.arange(groups), size)
    x = rng.gamma(2.0, 10.0, groups * size)
    source = pa.table({"person": np.arange(g.size), "g": g, "x": x})
    columns = {"g": Keys(list(range(groups))), "x": Number(lower=0, upper=200)}
    db = dn.connect(source, unit="person", columns=columns, budget=dn.Budget(epsilon=99))
    db._bits = DeterministicBits(3)
    answer = db.sql("SELECT g, MEDIAN(x) AS m, QUANTILE_CONT(x, 0.9) AS q FROM data GROUP BY g", epsilon=2)
    for name, share in (("m", 0.5), ("q", 0.9)):
        truth = np.quantile(x.reshape(groups, size), share, axis=1)
        bounds = answer.intervals(0.95)[name]
        assert np.count_nonzero((bounds.lower <= truth) & (truth <= bounds.upper)) >= 88
        assert np.median(np.abs(answer[name] - truth)) < 1
        assert np.median(bounds.upper - bounds.lower) < 12

"""Undeclared groups: who is found, what one unit changes, and that a key of one unit stays hidden."""

from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import deniable as dn
from deniable.errors import InvalidParameterError, UnsupportedQueryError
from deniable.mechanisms import Gaussian, TruncatedLaplace
from deniable.mechanisms.price import Price
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.keys import KeySearch, key_searches
from deniable.query.plan import PricedPlan
from deniable.query.rules import price
from deniable.query.sql import parse
from tests.query.conftest import SECRET, table_of

Rows = list[tuple[Any, ...]]
KINDS = {"person": pa.int64(), "k": pa.string(), "z": pa.int64(), "d": pa.date32(), "x": pa.float64()}
ROWS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["a", "b", "é", "e\u0301", "\x00", None]),
        st.sampled_from([1, -(2**63), None]),
        st.just(date(2020, 1, 1)),
        st.sampled_from([0.5, float("nan"), None]),
    ),
    max_size=12,
)
TEXT = "SELECT k, z, COUNT(*) FROM t GROUP BY k, z"


def held(rows: Rows) -> pa.Table:
    return pa.table({name: pa.array([row[i] for row in rows], kind) for i, (name, kind) in enumerate(KINDS.items())})


def planned(
    rows: Rows, text: str = TEXT, epsilon: Any = 1, delta: Any = "1e-3", **bounds: Any
) -> tuple[PricedPlan, DuckDBEngine]:
    engine = DuckDBEngine.from_arrow(held(rows), threads=1)
    query = parse(text, {"t": table_of(engine, columns={"x": dn.Number(lower=0, upper=1)}, **bounds)}, find=True)
    return price(query, Price.of(epsilon, delta, None)), engine


def searched(**bounds: Any) -> KeySearch:
    search = planned([], **bounds)[0].key_search
    assert search is not None
    return search


def counted(plan: PricedPlan, engine: DuckDBEngine) -> dict[tuple[Any, ...], int]:
    keys, weights = engine.keys(plan, secret=SECRET)
    return dict(zip(zip(*(column.to_pylist() for column in keys.columns), strict=True), weights.tolist(), strict=True))


@cache
def searching(relation: Relation, groups: int, weighted: bool) -> PricedPlan:
    plan, _ = planned([], relation=relation, groups=groups)
    both = key_searches(plan.query.question.table, Price.of(1, "1e-3", None), [])
    return replace(plan, key_search=next(search for search, _ in both if (search.steps > 1) is weighted))


@settings(max_examples=12)
@given(ROWS, ROWS, st.sampled_from([AddRemove, Replace]), st.integers(1, 3), st.booleans())
def test_one_unit_moves_the_weights_no_further_than_the_loss_says(
    rows: Rows, others: Rows, relation: Relation, groups: int, weighted: bool
) -> None:
    kept = [row for row in rows if row[0] != 0]
    there = kept + [(0, *row[1:]) for row in others] if relation is Replace else kept
    plan = searching(relation, groups, weighted)
    one, other = (counted(plan, DuckDBEngine.from_arrow(held(side), threads=1)) for side in (rows, there))
    assert not any(None in key for key in one)
    moved = np.array([one.get(key, 0) - other.get(key, 0) for key in {**one, **other}], dtype=float)
    assert plan.key_search is not None
    reach = plan.key_search.sensitivity
    assert np.abs(moved).sum() <= reach.l1
    assert (moved**2).sum() <= reach.l2_squared
    assert np.abs(moved).max(initial=0) <= reach.linf


def tail(search: KeySearch, above: int) -> float:
    """P(noise > above), from the formula of the law."""
    noise = search.mechanism.noise
    if isinstance(noise, Gaussian):  # so wide, in steps, that its sums are those of the normal law
        return float(norm.sf((above + 0.5) / float(noise.sigma_squared) ** 0.5))
    assert isinstance(noise, TruncatedLaplace)
    k = np.arange(-noise.bound, noise.bound + 1)
    mass = np.exp(-np.abs(k) / float(noise.scale))
    return float(mass[k > above].sum() / mass.sum())


SETTINGS: list[dict[str, Any]] = [
    {"groups": groups, "epsilon": epsilon, "delta": delta, "relation": relation}
    for groups, epsilon, delta, relation in [
        (1, 1, "1e-6", AddRemove), (1, "0.1", "1e-3", Replace), (2, 3, "1e-5", AddRemove), (20, 1, "1e-6", AddRemove),
        (300, 3, "1e-5", Replace),
    ]
]  # fmt: skip


@pytest.mark.parametrize("setting", SETTINGS)
def test_keys_that_one_unit_alone_has_are_shown_with_a_part_of_delta_at_most(setting: dict[str, Any]) -> None:
    search = searched(**setting)
    chance = max(
        m * tail(search, search.mechanism.threshold - (1 if search.steps == 1 else int((search.steps - 1) / m**0.5)))
        for m in range(1, setting["groups"] + 1)
    )
    part = Fraction(setting["delta"]) / (1 if search.steps == 1 else 2)
    assert chance <= part
    assert chance > 0.5 * float(part) * (1 - 0.9 * (search.steps == 1))  # the threshold is not far too high


def test_a_lower_threshold_is_refused() -> None:
    """Twin of the test above."""
    for setting in SETTINGS:
        search = searched(**setting)
        steps = search.sensitivity.linf // 8 + 1
        low = replace(search, mechanism=replace(search.mechanism, threshold=search.mechanism.threshold - steps))
        search.losses([])
        with pytest.raises(InvalidParameterError, match="threshold must be at least"):
            low.losses([])


@pytest.mark.parametrize("setting", SETTINGS[:4])
def test_so_many_units_are_needed_as_the_explanation_says(setting: dict[str, Any]) -> None:
    search = searched(**setting)
    for keys in (1, setting["groups"]):
        weight = 1 if search.steps == 1 else int((search.steps - 1) / keys**0.5)
        for level in (0.5, 0.99):
            units = search.needed(keys, level)
            shown = [tail(search, search.mechanism.threshold - count * weight) for count in (units, units - 2)]
            assert shown[0] >= level > shown[1]


def test_the_way_with_the_fewer_units_is_taken() -> None:
    assert searched(groups=1).steps == 1
    assert searched(groups=20).steps > 1
    assert searched(total_rows=20).groups == 20


@pytest.mark.parametrize("unit", ["person", None])
def test_threshold_and_weights_have_one_scale_for_any_number_of_totals(unit: str | None) -> None:
    """Rows weighed one step each below a threshold of 5,111,052 steps, from 12 totals on: nothing was ever found."""
    rows: Rows = [(person, "a", 1, date(2020, 1, 1), 0.5) for person in range(7)]
    plan, engine = planned(rows, "SELECT k, COUNT(*) FROM t GROUP BY k", unit=unit)
    table, rules = plan.query.question.table, set()
    reach = dn.privacy.of_count(rows=1, groups=1, relation=AddRemove)
    for totals in range(41):
        for search, noises in key_searches(table, Price.of(1, "1e-6", None), [reach] * totals):
            assert len(noises) == totals
            search.losses([])
            weighted = isinstance(search.mechanism.noise, Gaussian)
            if weighted not in rules:  # weights depend on the rule alone
                rules.add(weighted)
                (found,) = counted(replace(plan, key_search=search), engine).values()
                assert found == 7 * search.weight(1)
            assert search.mechanism.threshold < 40 * search.weight(1) * (1 + totals)
            assert search.weight(1) * search.needed(1, 0.5) > search.mechanism.threshold
    assert rules == {True, False}


def test_the_loss_is_the_price_and_holds_the_delta() -> None:
    for setting in SETTINGS:
        for text in (TEXT, "SELECT k FROM t GROUP BY k", "SELECT k, AVG(x), MEDIAN(x) FROM t GROUP BY k"):
            plan, _ = planned([], text, **{**setting, "groups": min(setting["groups"], 20)})
            charge = plan.loss.charge()
            assert (charge.epsilon, charge.delta) == (Fraction(setting["epsilon"]), Fraction(setting["delta"]))


MANY = [
    (person, key, z, date(2020, 1, 1 + z), 0.5)
    for person in range(300)
    for key, z in [("b", 1), ("é" if person % 2 else "e\u0301", 0), (None, 2)]
] + [(1000, "rare", 1, date(2020, 1, 9), 0.5)]


def connected(**options: Any) -> dn.Database:
    settings: dict[str, Any] = {"unit": "person", "rows": 3, "groups": 3, "columns": {"x": dn.Number(lower=0, upper=1)}}
    settings["budget"] = dn.Budget(epsilon=90, delta="1e-2")
    db = dn.connect(held(MANY), name="t", **{**settings, **options})
    db._bits = DeterministicBits(7)
    return db


def asked(db: dn.Database, text: str) -> dn.Release:
    return db.sql(text, epsilon=4, delta="1e-5")


def test_keys_are_found_sorted_and_byte_for_byte() -> None:
    db = connected()
    text = "SELECT k, COUNT(DISTINCT person) AS n, AVG(x) AS a, MEDIAN(x) AS m FROM t GROUP BY k"
    found = asked(db, text)
    assert found["k"].tolist() == ["b", "e\u0301", "é"]
    assert np.abs(found["n"] - [300, 150, 150]).max() < 30
    left = str(db.budget)
    again = asked(db, text)
    assert [again[name].tolist() for name in "kn"] == [found[name].tolist() for name in "kn"]
    assert str(db.budget) == left
    assert any("Groups were found" in note for note in found.notes)


def test_null_is_a_group_only_where_it_is_asked_for() -> None:
    found = asked(connected(), "SELECT COALESCE(k, 'none') AS k, COUNT(*) AS n FROM t GROUP BY COALESCE(k, 'none')")
    assert found["k"].tolist() == ["b", "e\u0301", "none", "é"]


def test_declared_groups_go_with_every_key_that_is_found() -> None:
    db = connected(columns={"z": dn.Keys([0, 1])})
    found = asked(db, "SELECT z, k, COUNT(*) AS n FROM t GROUP BY z, k HAVING COUNT(*) > 50 ORDER BY n DESC LIMIT 2")
    assert [found["z"].tolist()[0], found["k"].tolist()[0]] == [1, "b"]
    whole = asked(db, "SELECT z, d, k, COUNT(*) AS n FROM t GROUP BY k, z, d")
    pairs = list(zip(whole["d"].tolist(), whole["k"].tolist(), whole["z"].tolist(), strict=True))
    days = [("b", date(2020, 1, 2)), ("e\u0301", date(2020, 1, 1)), ("é", date(2020, 1, 1))]
    assert pairs == [(day, key, z) for key, day in days for z in (0, 1)]


def test_nothing_may_be_found() -> None:
    db = connected()
    for columns in ("k, COUNT(*) AS n, MEDIAN(x) AS m", "k"):
        for _ in ("fresh", "stored"):
            assert len(asked(db, f"SELECT {columns} FROM t WHERE z > 5 GROUP BY k")) == 0


def test_rows_that_are_units_are_searched_too() -> None:
    db = connected(unit=dn.each_row("person"), rows=None, groups=None)
    assert asked(db, "SELECT z FROM t GROUP BY z")["z"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("column", ["x", "CAST(d AS TIMESTAMP)", "z / 2"])
def test_fractions_and_moments_are_no_keys(column: str) -> None:
    with pytest.raises(UnsupportedQueryError, match="needs a public list"):
        asked(connected(), f"SELECT {column} AS c, COUNT(*) FROM t GROUP BY {column}")


def test_a_price_without_delta_says_what_to_do() -> None:
    db = connected()
    for paid in ({"epsilon": 1}, {"rho": 1}):
        with pytest.raises(UnsupportedQueryError, match="give delta too"):
            db.sql("SELECT k, COUNT(*) FROM t GROUP BY k", **paid)
    with pytest.raises(UnsupportedQueryError, match="found only for epsilon with delta"):
        price(parse(TEXT, db.tables, find=True), Price.of(None, None, 1))
    assert not db.history()


@pytest.mark.parametrize("first", [{"epsilon": "0.1"}, {"epsilon": "0.1", "delta": "1e-7"}, {"rho": "0.001"}])
def test_keys_are_found_on_a_ledger_that_began_with_counts(first: dict[str, str]) -> None:
    """It was refused: such a ledger adds up rho or mu, and left no room for what may fail."""
    for groups in (1, 40):  # counts with bounded noise, and weights with Gaussian noise
        db = connected(groups=groups, budget=dn.Budget(epsilon=3, delta="1e-4"))
        db.sql("SELECT COUNT(*) AS n FROM t", **first)
        plan = db.explain("SELECT k, COUNT(*) AS n FROM t GROUP BY k", epsilon="0.3", delta="1e-5").plan
        assert plan.key_search is not None
        assert (plan.key_search.steps == 1) == (groups == 1)
        db.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k", epsilon="0.3", delta="1e-5")
        assert len(db.history()) == 2
        db.ledger.verify()


def test_it_is_explained_before_it_is_paid() -> None:
    said = connected().explain("SELECT k, COUNT(*) FROM t GROUP BY k", epsilon=4, delta="1e-5")
    text = str(said)
    assert "those that occur are found where" in text
    groups: Any = said.to_dict()["groups"]
    assert groups["units_50"] < groups["units_99"] < 60
    assert f"{groups['units_99']:,} have" in text


def test_columns_of_public_tables_have_the_keys_of_their_rows() -> None:
    people = pa.table({"person": [1, 2, 3, 4], "code": ["a", "b", "b", "z"]})
    codes = pa.table({"code": ["b", "a", "c", None], "region": ["south", "north", "west", None], "x": [0.5, 1, 2, 3]})
    db = dn.connect(
        {"people": people, "codes": codes}, unit="person", public=["codes"], budget=dn.Budget(epsilon=9000), groups=1
    )
    joined = "FROM people JOIN codes USING (code)"
    found = db.sql(f"SELECT region, COUNT(*) AS n {joined} GROUP BY region", epsilon=1000)
    assert list(zip(found["region"].tolist(), found["n"].tolist(), strict=True)) == [
        ("north", 1),
        ("south", 2),
        ("west", 0),
    ]
    for column in ("x", "people.code"):
        with pytest.raises(UnsupportedQueryError, match="needs a public list"):
            db.sql(f"SELECT COUNT(*) {joined} GROUP BY {column}", epsilon=1)
    assert db.sql(f"SELECT codes.code AS c, COUNT(*) AS n {joined} GROUP BY codes.code", epsilon=9)["c"].tolist() == [
        *"abc"
    ]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64()])
def test_units_and_keys_of_any_width_are_ranked(kind: pa.DataType) -> None:
    """Ranks of groups are computed in 64 bits, whatever the type of the unit: up to 2^63 - 1."""
    most = {pa.int8(): 127, pa.int32(): 2**31 - 1, pa.int64(): 2**63 - 1}[kind]
    source = pa.table(
        {"u": pa.array([1, 1, most, most], kind), "k": ["a", "b", "a", "b"], "z": pa.array([1, 2, most, 3], kind)}
    )
    db = dn.connect(
        source, name="t", unit="u", columns={"k": dn.Keys(["a", "b"])}, budget=dn.Budget(epsilon=9, delta="0.1")
    )
    db.sql("SELECT z FROM t GROUP BY z", epsilon=1, delta="1e-3")
    assert len(db.sql("SELECT k, COUNT(*) FROM t GROUP BY k", epsilon=1)) == 2


@pytest.mark.parametrize("ids", [2, 3])
def test_a_person_of_several_ids_has_the_keys_of_all_of_them(ids: int) -> None:
    """Each id has a key of its own: what moves is `ids` times what one of them moves, in l1."""
    price_, table = Price.of(1, "1e-3", None), searching(AddRemove, 2, True).query.question.table
    alone = {search.steps == 1: search for search, _ in key_searches(table, price_, [])}
    several = key_searches(replace(table, unit=replace(table.unit, ids=ids)), price_, [])
    for search, _ in several:
        one = alone[search.steps == 1]
        assert search.sensitivity.l1 == ids * one.sensitivity.l1
        assert search.mechanism.groups == ids * one.mechanism.groups

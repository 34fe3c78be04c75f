"""Exact integers: bounded per unit, independent of order and threads, and as sensitive as the plan says."""

from collections import Counter
from datetime import date
from fractions import Fraction
from pathlib import Path
from unittest.mock import Mock

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import CatalogError, ExecutionError, InvalidParameterError, SourceError
from deniable.files.guess import guess_csv
from deniable.files.write import import_csv
from deniable.privacy import AddRemove, Relation, Replace
from deniable.query.declarations import Boolean, Date, Keys, Number, Timestamp
from deniable.query.engines.duckdb.engine import DuckDBEngine, _records
from deniable.query.evaluate import evaluate
from deniable.query.expression import Kind
from deniable.query.table_expression import Scan
from tests.query.conftest import INF, NAN, SECRET, Exact, frame, plan_of, table_of

GRID = 2**25  # steps a unit of income in [0, 100]: 2^32 steps at most to the larger bound


def test_each_row_counts_where_a_row_is_a_unit(exact: Exact) -> None:
    counts = exact("SELECT region, COUNT(*), COUNT(income) FROM t GROUP BY region", unit=None)
    assert counts == [[5, 3, 0], [4, 3, 0]]


def test_missing_values_are_left_out_and_infinities_are_clamped(exact: Exact) -> None:
    ((total,), (count,)) = exact("SELECT SUM(income), COUNT(income) FROM t", unit=None)
    clamped = [10.5, 100, 0, 100, 99.25, 0, 50, 0]  # without NULL and NaN
    assert count == len(clamped)
    assert total == sum(int(value * GRID) - 50 * GRID for value in clamped)


def test_rows_of_no_unit_and_of_no_declared_group_are_left_out(exact: Exact) -> None:
    assert exact("SELECT region, COUNT(*) FROM t GROUP BY region", rows=10, groups=10) == [[4, 3, 0]]
    assert exact("SELECT COUNT(*) FROM t", rows=10) == [[9]]


def test_years_and_days_of_dates_with_public_bounds_are_groups(exact: Exact) -> None:
    columns = {
        "day": Date(lower=date(2023, 12, 31), upper=date(2025, 2, 1)),
        "seen": Timestamp(lower=date(2024, 1, 1), upper=date(2025, 3, 1)),
    }
    assert exact("SELECT YEAR(day), COUNT(*) FROM t GROUP BY 1", unit=None, columns=columns) == [[0, 1, 1]]
    assert exact("SELECT YEAR(seen), COUNT(*) FROM t GROUP BY 1", unit=None, columns=columns) == [[0, 1]]
    (days,) = exact("SELECT day, COUNT(*) FROM t GROUP BY day", unit=None, columns=columns)
    assert (len(days), sum(days), days[date(2024, 2, 29).toordinal() - date(2023, 12, 31).toordinal()]) == (399, 2, 1)
    assert exact("SELECT SUM(YEAR(day)) FROM t", unit=None, columns=columns) == [[2025 + 2024 + 7 * 2023]]


def test_histograms_of_numbers_and_of_time(exact: Exact) -> None:
    values = [-INF, -0.1, 0.0, 0.3, 0.3 - 1e-17, 0.6, 0.9, 0.8999999999999999, 1.2, NAN, None]
    days = [date(2024, month, 2) for month in range(1, 12)]
    source = pa.table({"x": values, "day": days})
    columns = {"day": Date(lower=date(2024, 2, 28), upper=date(2024, 10, 1))}
    options = {"source": source, "unit": None, "columns": columns}
    assert exact("SELECT WIDTH_BUCKET(x, 0, 0.9, 3), COUNT(*) FROM t GROUP BY 1", **options) == [[2, 1, 2, 2, 2]]
    assert exact("SELECT DATE_TRUNC('quarter', day), COUNT(*) FROM t GROUP BY 1", **options) == [[3, 3, 3, 2]]
    assert exact("SELECT WIDTH_BUCKET(MONTH(day), 1, 11, 2), COUNT(*) FROM t GROUP BY 1", **options) == [[0, 5, 5, 1]]


def test_one_group_more_holds_missing_keys(exact: Exact) -> None:
    columns = {"region": Keys(["south", "north"], null=True)}
    assert exact("SELECT region, COUNT(*) FROM t GROUP BY region", unit=None, columns=columns) == [[3, 5, 1]]


def test_a_unit_with_too_many_rows_counts_as_their_mean(exact: Exact) -> None:
    source = pa.table({"person": [1, 1, 1, 2], "income": [10.0, 20.0, 60.0, 5.0]})
    columns = {"income": Number(lower=0, upper=100)}
    totals = exact("SELECT COUNT(*), SUM(income) FROM t", source=source, columns=columns, rows=2)
    assert totals == [[3], [(60 + 5) * GRID]]


def test_units_are_counted_once(exact: Exact) -> None:
    assert exact("SELECT COUNT(DISTINCT person) FROM t") == [[5]]
    by_region = exact("SELECT region, COUNT(DISTINCT person) FROM t GROUP BY region", groups=3)
    assert by_region == [[3, 3, 0]]
    adults = exact("SELECT COUNT(DISTINCT person) FILTER (WHERE age > 20), COUNT(DISTINCT person) FROM t", rows=2)
    assert adults == [[3], [5]]


def test_a_unit_counts_in_no_more_groups_than_it_may(exact: Exact) -> None:
    people, regions = np.repeat(np.arange(200), 8), np.tile(np.arange(8), 200)
    source = pa.table({"person": people, "region": regions})
    for groups in (1, 3, 7, 8):
        options = {"source": source, "columns": {"region": Keys(range(8))}, "groups": groups}
        (counts,) = exact("SELECT region, COUNT(*) FROM t GROUP BY region", **options)
        assert sum(counts) == 200 * groups
        if groups < 8:  # each group is chosen by 200 coins of probability groups/8: 6 standard deviations
            assert max(abs(count - 25 * groups) for count in counts) < 6 * (200 * 1 / 4) ** 0.5


def test_copies_of_a_row_change_nothing_at_bound_one(exact: Exact) -> None:
    rows = [{"person": p, "region": p % 2, "income": float(p)} for p in range(20)]
    columns = {"region": Keys([0, 1]), "income": Number(lower=0, upper=30)}
    text = "SELECT region, COUNT(*), SUM(income), COUNT(DISTINCT person) FROM t GROUP BY region"
    once = exact(text, source=pa.Table.from_pylist(rows), columns=columns)
    copied = exact(text, source=pa.Table.from_pylist(rows + rows[:7] * 3), columns=columns)
    assert once == copied


ROWS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(0, 3),
        st.one_of(st.none(), st.floats(), st.floats(-6, 6)),
        st.one_of(st.none(), st.integers(-9, 9)),
    ),
    max_size=14,
)
QUERY = (
    "SELECT g, COUNT(*), COUNT(x), SUM(x), SUM(k), AVG(k * 2), SUM(x * k), COUNT(DISTINCT person), "
    "COUNT(DISTINCT person) FILTER (WHERE x > 0), "
    "SUM(1) FILTER (WHERE k > 0), COUNT(*) FILTER (WHERE x > 0), COUNT(x) FILTER (WHERE k > 0), "
    "AVG(x) FILTER (WHERE k > 3), SUM(CASE WHEN x > 0 THEN 1 ELSE -1 END) FROM t GROUP BY g"
)
DECLARED = {
    "g": Keys([0, 1, 2]),
    "x": Number(lower="-1.3", upper=4),
    "k": Number(lower=2, upper=5),
}


BOUNDS = st.one_of(
    st.fixed_dictionaries({"rows": st.integers(1, 3), "groups": st.integers(1, 4)}),
    st.fixed_dictionaries({"total_rows": st.integers(1, 5)}),
)


def _source(rows: list[tuple[object, ...]]) -> pa.Table:
    kinds = {"person": pa.int64(), "g": pa.int64(), "x": pa.float64(), "k": pa.int64()}
    return pa.table(
        {name: pa.array([row[i] for row in rows], type=kind) for i, (name, kind) in enumerate(kinds.items())}
    )


def _answers(rows: list[tuple[object, ...]], relation: Relation, bounds: dict[str, int], text: str):
    engine = DuckDBEngine.from_arrow(_source(rows), threads=1)
    table = table_of(engine, columns=DECLARED, relation=relation, **bounds)
    plan = plan_of(table, text)
    return plan, engine.exact(plan, secret=SECRET)


@given(ROWS, ROWS, st.sampled_from([AddRemove, Replace]), BOUNDS, st.booleans())
def test_one_unit_moves_the_integers_no_further_than_the_plan_says(
    rows: list, others: list, relation: Relation, bounds: dict[str, int], grouped: bool
) -> None:
    text = QUERY if grouped else QUERY.replace("g, ", "", 1).replace(" GROUP BY g", "")
    if "total_rows" in bounds:
        text = text.replace("COUNT(DISTINCT person), COUNT(DISTINCT person) FILTER (WHERE x > 0), ", "")
    neighbour = [row for row in rows if row[0] != 0]
    if relation is Replace:
        neighbour += [(0, *row[1:]) for row in others]
    plan, here = _answers(rows, relation, bounds, text)
    _, there = _answers(neighbour, relation, bounds, text)
    assert plan.parts
    for part, a, b in zip(plan.parts, here, there, strict=True):
        change = [abs(int(x) - int(y)) for x, y in zip(a, b, strict=True)]
        assert sum(change) <= part.sensitivity.l1
        assert sum(step**2 for step in change) <= part.sensitivity.l2_squared
        assert max(change) <= part.sensitivity.linf


@given(ROWS, st.sampled_from(["g", "x", "k"]), st.booleans())
def test_one_unit_moves_no_column_of_another(rows: list, unit: str, filtered: bool) -> None:
    """The columns for statistics: without one unit they are what its absence leaves, whatever its rows hold."""
    names = ["person", "g", "x", "k"]

    def columns(rows: list) -> list[tuple[float | None, ...]]:
        engine = DuckDBEngine.from_arrow(_source(rows), threads=1)
        table = table_of(engine, columns=DECLARED, unit=unit)
        plan = plan_of(table, "SELECT COUNT(*) FROM t" + " WHERE x * k > 0 OR g = 0" * filtered)
        asked = [table.column(name) for name in names]
        found = engine.columns(plan.query.question.source, asked).to_pylist()
        return sorted((tuple(row.values()) for row in found), key=repr)

    place = names.index(unit)
    mine = rows[0][place] if rows else None
    others = [row for row in rows if row[place] != mine]
    assert columns(others) == [row for row in columns(rows) if row[-1] != mine]


ASKED = {
    "COUNT(*)": lambda x, k: 1,
    "COUNT(x)": lambda x, k: x is not None,
    "COUNT(*) FILTER (WHERE k > 3)": lambda x, k: k is not None and k > 3,
    "SUM(x)": lambda x, k: 0 if x is None else min(max(Fraction(x), Fraction("-1.3")), 4),
    "SUM(k)": lambda x, k: 0 if k is None else min(max(k, 2), 5),
    "SUM(2) FILTER (WHERE k > 3)": lambda x, k: 2 * (k is not None and k > 3),
}


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize(
    "bounds", [{"unit": None}, {"rows": 1, "groups": 3}, {"rows": 3, "groups": 9}, {"total_rows": 1}, {"total_rows": 7}]
)
def test_every_aggregate_weighs_the_same_rows_alike(bounds: dict[str, object], relation: Relation) -> None:
    """What keeping rows at random gives on average, exactly: the share of a row is the same whatever is asked of it."""
    rng = np.random.default_rng(8)
    people = [f"{person}" for person in rng.integers(0, 40, 400)]
    groups = [int(g) for g in rng.integers(0, 4, 400)]  # the last is not declared
    values = [None if coin < 0.2 else float(coin * 9 - 4) for coin in rng.random(400)]
    wholes = [None if whole == 0 else int(whole) for whole in rng.integers(0, 8, 400)]
    size = (
        Counter(zip(people, groups, strict=True))
        if "rows" in bounds
        else Counter(person for person, g in zip(people, groups, strict=True) if g < 3)
    )
    most = bounds.get("rows", bounds.get("total_rows"))
    expected = {text: [Fraction(0)] * 3 for text in ASKED}
    for person, g, x, k in zip(people, groups, values, wholes, strict=True):
        if g < 3:
            rows = size[person, g] if "rows" in bounds else size[person]
            weight = Fraction(1) if most is None else min(Fraction(1), Fraction(most, rows))  # type: ignore[arg-type]
            for text, value in ASKED.items():
                expected[text][g] += weight * value(x, k)
    engine = DuckDBEngine.from_arrow(pa.table({"person": people, "g": groups, "x": values, "k": wholes}), threads=1)
    table = table_of(engine, columns=DECLARED, relation=relation, **bounds)  # type: ignore[arg-type]
    for texts in [[text] for text in ASKED] + [list(ASKED)]:  # alone, and all together
        plan = plan_of(table, f"SELECT g, {', '.join(texts)} FROM t GROUP BY g")
        found = engine.exact(plan, secret=SECRET)
        bases = {f"base {i}": part.lattice.to_reals(found[i]) for i, part in enumerate(plan.parts)}
        for text, output in zip(texts, plan.query.outcome.outputs[1:], strict=True):
            answer = evaluate(output.expression, bases)
            assert answer == pytest.approx([float(total) for total in expected[text]], abs=len(people) * 2.0**-20)


def test_shares_of_units_with_many_rows_are_right(exact: Exact) -> None:
    """Means of whole numbers once lost their fractions: 0.7 became 0. A filtered count once kept one row of each."""
    source = pa.table({"person": np.repeat(np.arange(1000), 10), "flag": np.tile(np.arange(10) < 7, 1000)})
    (total,), (count,) = exact("SELECT AVG(CAST(flag AS INTEGER)) FROM t", source=source, columns={})
    assert total / count == pytest.approx(0.7, abs=1e-5)
    (some,), (every,) = exact("SELECT COUNT(*) FILTER (WHERE flag), COUNT(*) FROM t", source=source, columns={})
    assert some / 2**20 / every == pytest.approx(0.7, abs=1e-5)


def test_the_sensitivity_of_every_aggregate_is_attained() -> None:
    """The twin of the test above: a bound that is too large by any factor would be seen here."""
    rows = [(0, g, x, k) for g in range(2) for x, k in ((4.0, 5), (4.0, 5))]
    text = "SELECT g, COUNT(*), SUM(x), SUM(k), COUNT(DISTINCT person) FROM t GROUP BY g"
    plan, here = _answers([*rows, (1, 0, 1.0, 1)], AddRemove, {"rows": 2, "groups": 2}, text)
    _, there = _answers([(1, 0, 1.0, 1)], AddRemove, {"rows": 2, "groups": 2}, text)
    for part, a, b in zip(plan.parts, here, there, strict=True):
        if not part.centre:
            assert sum(abs(int(x) - int(y)) for x, y in zip(a, b, strict=True)) == part.sensitivity.l1


def test_rows_bounded_in_all_count_as_shares(exact: Exact) -> None:
    source = pa.table({"person": [1, 1, 1, 1, 2], "g": [0, 0, 0, 1, 1], "x": [4.0, 4.0, None, 2.0, 3.0], "k": [3] * 5})
    options = {"source": source, "columns": DECLARED, "total_rows": 2}
    counts, values, sums, whole = exact("SELECT g, COUNT(*), COUNT(x), SUM(k), SUM(x) FROM t GROUP BY g", **options)
    one = 2**20
    assert counts == [3 * one // 2, one // 2 + one, 0]
    assert values == [one, one // 2 + one, 0]
    assert sums == [3 * 3 * one // 2, 3 * one // 2 + 3 * one, 0]
    grid = 2**30  # the largest bound is 4, and it gets 2^32 steps; SUM(x) beside its count is centred at 1.35
    centre = Fraction(plan_centre(source)) * grid
    assert whole[0] == 2 * ((4 * grid - centre) / 2)


def plan_centre(source: pa.Table) -> Fraction:
    engine = DuckDBEngine.from_arrow(source)
    table = table_of(engine, columns=DECLARED, total_rows=2)
    return plan_of(table, "SELECT COUNT(x), SUM(x) FROM t").query.question.aggregates[0].centre


def test_sums_do_not_depend_on_order_or_threads() -> None:
    rng = np.random.default_rng(5)
    count = 200_000
    source = pa.table(
        {
            "person": rng.integers(0, 5000, count),
            "g": rng.integers(0, 3, count),
            "x": rng.normal(0, 1e6, count) * rng.choice([1e-12, 1, 1e12], count),
            "k": rng.integers(-9, 9, count),
        }
    )
    answers = []
    for order, threads in ((np.arange(count), 1), (rng.permutation(count), 2), (np.arange(count)[::-1], 4)):
        engine = DuckDBEngine.from_arrow(source.take(order), threads=threads)
        plan = plan_of(table_of(engine, columns=DECLARED, rows=20, groups=2), QUERY)
        answers.append([list(map(int, values)) for values in engine.exact(plan, secret=SECRET)])
    assert answers[0] == answers[1] == answers[2]


def test_large_integers_neither_wrap_nor_stop(exact: Exact) -> None:
    source = pa.table({"person": list(range(40)), "k": [2**63 - 1] * 20 + [-(2**63)] * 20})
    columns = {"k": Number(lower=-(2**53), upper=2**53)}
    assert exact("SELECT SUM(k), SUM(k + 1) FROM t", source=source, columns=columns)[0] == [0]


def test_trouble_in_rows_changes_no_shape(exact: Exact) -> None:
    text = (
        "SELECT region, COUNT(*) FROM t WHERE CAST(note AS DATE) > '2020-01-01' OR 1 / zero > 0 OR big + 1 > 0 "
        "OR EXTRACT(year FROM seen) > 3 OR note LIKE 'a%' GROUP BY region"
    )
    assert len(exact(text, unit=None)[0]) == 3
    assert exact("SELECT COUNT(*) FROM t WHERE 1 / zero > 100", unit=None) == [[0]]
    empty = frame().slice(0, 0)
    assert exact(text, source=empty, unit=None) == [[0, 0, 0]]


def test_files_are_read_and_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(frame(), path)
    engine = DuckDBEngine.from_file(path)
    assert engine.schema()["age"] is Kind.INTEGER
    for statement in (
        f"SELECT * FROM read_csv('{__file__}')",
        f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        f"ATTACH '{tmp_path}/other.duckdb' AS other",
        "INSTALL httpfs",
        "SET threads = 1",
        "SET enable_external_access = true",
    ):
        with pytest.raises(duckdb.Error):
            engine._connection.execute(statement)


def test_a_table_of_a_database_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people AS SELECT 1 AS person, 5 AS age")
        connection.execute("CREATE TABLE other AS SELECT 1 AS x")
    assert set(DuckDBEngine.from_file(path, table="people").schema()) == {"person", "age"}
    with pytest.raises(SourceError, match=r"which table.*other.*people|which table.*people"):
        DuckDBEngine.from_file(path)


def test_what_cannot_be_opened_is_said(tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 this is private PAR1")
    with pytest.raises(SourceError, match="damaged") as caught:
        DuckDBEngine.from_file(broken)
    assert "private" not in str(caught.value)
    with pytest.raises(SourceError, match="no file"):
        DuckDBEngine.from_file(tmp_path / "absent.parquet")
    (tmp_path / "data.xlsx").write_text("x")
    with pytest.raises(SourceError, match="cannot be read"):
        DuckDBEngine.from_file(tmp_path / "data.xlsx")
    with pytest.raises(InvalidParameterError, match="memory"):
        DuckDBEngine.from_arrow(frame(), memory="a lot")


def test_a_failure_while_running_has_one_constant_text(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"person": list(range(10_000)), "age": list(range(10_000))}), path, compression="zstd")
    engine = DuckDBEngine.from_file(path)
    content = bytearray(path.read_bytes())
    content[4:25_000] = b"\xff" * 24_996
    path.write_bytes(bytes(content))
    plan = plan_of(table_of(engine, columns={"age": Number(lower=0, upper=9)}), "SELECT SUM(age) FROM t")
    with pytest.raises(ExecutionError) as caught:
        engine.exact(plan, secret=SECRET)
    assert str(caught.value) == str(ExecutionError())
    assert caught.value.__context__ is None


def test_a_memory_limit_spills_and_does_not_fail() -> None:
    rng = np.random.default_rng(1)
    count = 2_000_000
    source = pa.table({"person": rng.integers(0, 600_000, count), "g": rng.integers(0, 3, count)})
    totals = []
    for memory in ("60MB", None):
        engine = DuckDBEngine.from_arrow(source, memory=memory, threads=1)
        plan = plan_of(
            table_of(engine, columns={"g": Keys([0, 1, 2])}, groups=2, rows=2), "SELECT g, COUNT(*) FROM t GROUP BY g"
        )
        totals.append([list(map(int, values)) for values in engine.exact(plan, secret=SECRET)])
    assert totals[0] == totals[1]


def test_another_secret_chooses_other_groups() -> None:
    people, regions = np.repeat(np.arange(300), 4), np.tile(np.arange(4), 300)
    engine = DuckDBEngine.from_arrow(pa.table({"person": people, "region": regions}))
    table = table_of(engine, columns={"region": Keys(range(4))})
    plan = plan_of(table, "SELECT region, COUNT(*) FROM t GROUP BY region")
    found = Counter(
        tuple(map(int, engine.exact(plan, secret=secret)[0])) for secret in (SECRET, SECRET, bytes(32), SECRET[::-1])
    )
    assert max(found.values()) == 2
    assert len(found) == 3


@pytest.mark.parametrize("writer", ["arrow", "polars"])
def test_statistics_of_other_rows_decide_nothing_about_nan(tmp_path: Path, writer: str) -> None:
    """Parquet's minimum and maximum leave NaN out; the engine must not conclude from them that there is none."""
    text = "SELECT COUNT(*) FILTER (WHERE x > 0), COUNT(x), SUM(LEAST(x, 50)), AVG(x), SUM(x) FROM t"
    for others in ([], [5.0], [-5.0, 200.0], [50.0, 60.0]):
        answers = []
        for values in (others, [*others, *[NAN] * 100]):
            path = tmp_path / f"{len(values)}.parquet"
            source = pa.table({"person": np.arange(len(values)), "x": pa.array(values, type=pa.float64())})
            if writer == "arrow":
                pq.write_table(source, path)
            else:
                pl.from_arrow(source).write_parquet(path)  # type: ignore[union-attr]
            engine = DuckDBEngine.from_file(path)
            plan = plan_of(table_of(engine, unit=None, columns={"x": Number(lower=0, upper=100)}), text)
            answers.append([int(values[0]) for values in engine.exact(plan, secret=SECRET)])
        assert answers[0] == answers[1]


def test_units_that_are_nan_are_nobody(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"person": [1.0, NAN, NAN, 2.0, -0.0, 0.0]}), path)
    engine = DuckDBEngine.from_file(path)
    plan = plan_of(table_of(engine, columns={}, rows=5), "SELECT COUNT(*), COUNT(DISTINCT person) FROM t")
    assert [int(values[0]) for values in engine.exact(plan, secret=SECRET)] == [4, 3]


@pytest.mark.parametrize("bounds", [{"rows": 2, "groups": 2}, {"total_rows": 3}])
def test_passes_agree_and_leave_rows_of_nobody_out(bounds: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    people = [None if person == 0 else float(person) - 5 for person in rng.integers(0, 40, 3000)]
    source = pa.table(
        {"person": pa.array(people, type=pa.float64()), "g": rng.integers(0, 3, 3000), "x": rng.normal(size=3000)}
    )
    text = "SELECT g, COUNT(*), SUM(x), COUNT(x) FROM t GROUP BY g"
    answers = []
    for passes in (1, 4, 16):
        monkeypatch.setattr(DuckDBEngine, "_passes", lambda self, passes=passes: passes)
        engine = DuckDBEngine.from_arrow(source)
        columns = {name: DECLARED[name] for name in ("g", "x")}
        plan = plan_of(table_of(engine, columns=columns, **bounds), text)  # type: ignore[arg-type]
        answers.append([list(map(int, values)) for values in engine.exact(plan, secret=SECRET)])
    assert answers[0] == answers[1] == answers[2]


def test_a_failure_between_two_batches_of_keys_is_told_by_its_kind_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    late = "SELECT CAST(CASE WHEN range = 2500000 THEN 'secret' ELSE '1' END AS BIGINT) FROM range(3000000)"
    for said, raised in (("", duckdb.FatalException), ("Out of Memory Error: secret", MemoryError)):
        if said:
            monkeypatch.setattr("deniable.query.engines.duckdb.engine.tallied", Mock(side_effect=OSError(said)))
        with pytest.raises(raised) as failure:
            _records(duckdb.connect(config={"threads": 1}), late)
        assert not failure.value.args
        assert failure.value.__cause__ is failure.value.__context__ is None


def test_a_lack_of_memory_multiplies_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = DuckDBEngine.from_arrow(frame())
    run, turns = engine._run, []

    def once_too_little(statement: str, **given: object) -> list[tuple[object, ...]]:
        turns.append(statement)
        if len(turns) == 1:
            raise duckdb.OutOfMemoryException
        return run(statement)

    monkeypatch.setattr(engine, "_run", once_too_little)
    plan = plan_of(table_of(engine, rows=10), "SELECT COUNT(*) FROM t")
    assert [int(values[0]) for values in engine.exact(plan, secret=SECRET)] == [9]
    assert len(turns) == 5  # one that failed, and four turns
    turns.clear()
    rows = plan_of(table_of(engine, unit=None), "SELECT COUNT(*) FROM t")
    with pytest.raises(ExecutionError):
        engine.exact(rows, secret=SECRET)


def test_a_date_beyond_every_timestamp_stops_nothing() -> None:
    days = pa.array([150_000_000, 0], type=pa.int32()).cast(pa.date32())
    source = pa.table({"person": [1, 2], "d": days, "s": pa.array([0, 5], type=pa.timestamp("us"))})
    engine = DuckDBEngine.from_arrow(source)
    for where in (
        "d < s",
        "d IN ('2020-01-01 00:00:00')",
        "NULLIF(d, s) IS NULL",
        "CASE WHEN d < s THEN d ELSE s END > s",
    ):
        plan = plan_of(table_of(engine, columns={}), f"SELECT COUNT(*) FROM t WHERE {where}")
        assert 0 <= int(engine.exact(plan, secret=SECRET)[0][0]) <= 2


def test_an_engine_that_broke_down_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = DuckDBEngine.from_arrow(frame())
    plan = plan_of(table_of(engine, rows=10), "SELECT COUNT(*) FROM t")

    class Broken:
        def execute(self, statement: str) -> None:
            raise duckdb.FatalException("a private value")

    engine._connection = Broken()  # type: ignore[assignment]
    with pytest.raises(ExecutionError):
        engine.exact(plan, secret=SECRET)
    engine.check(plan)
    assert [int(values[0]) for values in engine.exact(plan, secret=SECRET)] == [9]


def test_the_units_of_an_enum_are_their_texts(tmp_path: Path) -> None:
    """An ENUM's code depends on which other texts exist, and must not choose the groups of a unit."""
    answers = []
    for number, names in enumerate((["a", "b", "c"], ["b", "c"])):
        path = tmp_path / f"{number}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE TYPE who AS ENUM ({', '.join(repr(name) for name in names)})")
            connection.execute(
                "CREATE TABLE t AS SELECT u::who AS person, g FROM (VALUES ('b'), ('c')) AS x(u), range(40) AS y(g)"
            )
        engine = DuckDBEngine.from_file(path)
        plan = plan_of(
            table_of(engine, columns={"g": Keys(range(40))}, groups=3), "SELECT g, COUNT(*) FROM t GROUP BY g"
        )
        answers.append([int(value) for value in engine.exact(plan, secret=SECRET)[0]])
    assert answers[0] == answers[1]


def test_text_is_equal_where_its_letters_are_whatever_the_table_collates(tmp_path: Path) -> None:
    """With a collation "a" equals "A": a row counted in two public groups at once, and two people were one unit."""
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (person VARCHAR COLLATE NOCASE, g VARCHAR COLLATE NOCASE.NOACCENT)")
        connection.execute("INSERT INTO t VALUES ('a', 'e'), ('A', 'E'), ('b', 'é'), ('b', 'x')")
        connection.execute("CREATE VIEW v AS SELECT person, g AS g FROM t WHERE g <> 'X'")
    for table, people in (("t", 3), ("v", 3)):
        engine = DuckDBEngine.from_file(path, table=table)
        declared = table_of(engine, columns={"g": Keys(["e", "E", "é", "ë"])}, groups=4)
        plan = plan_of(declared, "SELECT g, COUNT(*), COUNT(DISTINCT person) FROM t GROUP BY g")
        assert [total.tolist() for total in engine.exact(plan, secret=SECRET)] == [[1, 1, 1, 0]] * 2
        for text, total in (("COUNT(DISTINCT person) FROM t", people), ("COUNT(*) FROM t WHERE g = 'E'", 1)):
            (count,) = engine.exact(plan_of(declared, f"SELECT {text}"), secret=SECRET)
            assert count.tolist() == [total]


def test_columns_that_the_engine_would_rename_are_refused(tmp_path: Path) -> None:
    table = pa.table([[1], [2]], names=["a", "A"])
    with pytest.raises(CatalogError, match="two columns"):
        DuckDBEngine.from_arrow(table)
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(CatalogError, match="two columns"):
        DuckDBEngine.from_file(tmp_path / "a.parquet")


def test_a_path_says_nothing_about_rows(tmp_path: Path) -> None:
    folder = tmp_path / "person=5"
    folder.mkdir()
    pq.write_table(pa.table({"person": [1, 2, 3]}), folder / "a.parquet")
    engine = DuckDBEngine.from_file(folder / "a.parquet")
    plan = plan_of(table_of(engine, columns={}), "SELECT COUNT(DISTINCT person) FROM t")
    assert int(engine.exact(plan, secret=SECRET)[0][0]) == 3
    pq.write_table(pa.table({"person": [1]}), tmp_path / "a[1].parquet")
    with pytest.raises(SourceError, match="Rename"):
        DuckDBEngine.from_file(tmp_path / "a[1].parquet")


def test_a_database_file_may_be_opened_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS person")
    first, second = DuckDBEngine.from_file(path, memory="1GB"), DuckDBEngine.from_file(path, threads=1)
    assert first.schema() == second.schema()


def test_columns_come_in_the_types_of_their_kinds_whatever_the_rows_hold(tmp_path: Path) -> None:
    trouble = frame()
    pq.write_table(trouble, tmp_path / "t.parquet")
    trouble.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    import_csv(tmp_path / "t.csv", guess_csv(tmp_path / "t.csv"))
    declared = {"age": Number(integer=True), "income": Number(integer=False), "member": Boolean(), "day": Date()}
    kinds = ["int64", "double", "string", "bool", "date32[day]"]
    for engine in (
        DuckDBEngine.from_arrow(trouble),
        DuckDBEngine.from_file(tmp_path / "t.parquet"),
        DuckDBEngine.from_file(tmp_path / "t.csv"),
        DuckDBEngine.from_arrow(trouble.slice(0, 0)),
    ):
        for unit, where in ((None, ""), ("person", " WHERE age > 0")):
            table = table_of(engine, columns=declared, unit=unit)
            asked = [table.column(name) for name in ("age", "income", "note", "member", "day")]
            rows = plan_of(table, f"SELECT COUNT(*) FROM t{where}").query.question.source
            found = engine.columns(rows, asked)
            assert [str(field.type) for field in found.schema][:5] == kinds
            assert found.num_rows == (0 if found.num_rows == 0 else 10 if unit is None else 8)
        assert not found.num_rows or sorted(Counter(found["unit"].to_pylist()).values()) == [1, 2, 2, 3]


def test_columns_that_cannot_be_had_have_one_constant_text(tmp_path: Path) -> None:
    pq.write_table(frame(), tmp_path / "t.parquet")
    engine = DuckDBEngine.from_file(tmp_path / "t.parquet")
    table = table_of(engine)
    (tmp_path / "t.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(ExecutionError) as caught:
        engine.columns(Scan(table), [table.column("age")])
    assert str(caught.value) == str(ExecutionError())
    assert caught.value.__context__ is None


def told(engine: DuckDBEngine, *, unit: str | None = "person") -> tuple[list[float], int]:
    """The shares that a question tells, and its answer."""
    shares: list[float] = []
    bounds = {} if unit is None else {"rows": 10_000}
    plan = plan_of(table_of(engine, unit=unit, columns={}, **bounds), "SELECT COUNT(*) FROM t")  # type: ignore[arg-type]
    (total,) = engine.exact(plan, secret=SECRET, progress=shares.append)
    return shares, int(total[0])


def test_the_shares_that_are_told_follow_from_public_facts_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of one size tell the same whatever their rows; frames, single passes and what begins anew tell nothing."""
    monkeypatch.setattr("deniable.query.engines.duckdb.engine.ROW_BYTES", 300_000)
    sources = [pa.table({"person": np.arange(4000)}), pa.table({"person": np.full(4000, 7)})]
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for source, path in zip(sources, paths, strict=True):
        pq.write_table(source, path, compression="none", use_dictionary=False, write_statistics=False)
    assert paths[0].stat().st_size == paths[1].stat().st_size
    engines = [DuckDBEngine.from_file(path, memory="1GB", threads=1) for path in paths]
    passes = engines[0]._passes()
    assert passes > 3
    for engine in engines:
        assert told(engine) == ([turn / passes for turn in range(1, passes + 1)], 4000)
        assert told(engine, unit=None) == ([], 4000)
    assert DuckDBEngine.from_arrow(sources[0], memory="1GB")._passes() > 1
    assert told(DuckDBEngine.from_arrow(sources[0], memory="1GB")) == ([], 4000)
    assert told(DuckDBEngine.from_file(paths[0])) == ([], 4000)
    run, turns = engine._run, []

    def third_pass_needs_too_much(statement: str, **given: object) -> list[tuple[object, ...]]:
        turns.append(statement)
        if len(turns) == 4:  # the first asks for the limit
            raise duckdb.OutOfMemoryException
        return run(statement)

    monkeypatch.setattr(engine, "_run", third_pass_needs_too_much)
    assert told(engine) == ([1 / passes, 2 / passes], 4000)


def test_a_bar_that_fails_costs_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDBEngine, "_passes", lambda self: 3)
    pq.write_table(frame(), tmp_path / "t.parquet")
    engine = DuckDBEngine.from_file(tmp_path / "t.parquet")
    plan = plan_of(table_of(engine, rows=10), "SELECT COUNT(*) FROM t")

    def failing(share: float) -> None:
        raise ValueError(share)

    assert int(engine.exact(plan, secret=SECRET, progress=failing)[0][0]) == 9

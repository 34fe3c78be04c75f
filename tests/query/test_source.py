"""Sources: frames of every library, files, and clear refusals."""

from contextlib import suppress
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.errors import LedgerError, SourceError, UnsupportedQueryError
from deniable.query.expression import Kind
from deniable.query.source import _to_arrow, open_source, open_sources
from tests.query.engines.test_runner import Broken
from tests.rows.containers import ODD as EVERY_ODD

WANTED = {"a": Kind.INTEGER, "b": Kind.REAL, "c": Kind.TEXT}
DATA = {"a": [1, 2], "b": [0.5, None], "c": ["x", None]}


def as_objects(rows: list[Any]) -> Any:
    """An array of objects, whose entries numpy 2.2 does not look at, as it does at those of a list."""
    array = np.empty(len(rows), dtype=object)
    for place, row in enumerate(rows):
        array[place] = row
    return array


def of_pandas(rows: list[Any]) -> Any:
    return pd.DataFrame({"a": pd.Series(as_objects(rows), dtype=object), "b": range(len(rows))})


def of_polars(rows: list[Any]) -> Any:
    return pl.DataFrame({"a": pl.Series(rows, dtype=pl.Object), "b": range(len(rows))})


def of_categories(rows: list[Any]) -> Any:
    """Pandas takes the type of the categories from the rows."""
    return pd.DataFrame({"a": pd.Series(rows, dtype="category"), "b": range(len(rows))})


def of_index(rows: list[Any]) -> Any:
    return pd.DataFrame({"b": range(len(rows))}, index=pd.Index(as_objects(rows), dtype=object, name="a"))


def of_levels(rows: list[Any]) -> Any:
    levels = [pd.Series(rows, dtype=object), range(len(rows))]
    return pd.DataFrame(index=pd.MultiIndex.from_arrays(levels, names=["a", "b"]))


@pytest.mark.parametrize(
    "source",
    [pa.table(DATA), pd.DataFrame(DATA), pl.DataFrame(DATA), pl.DataFrame(DATA).lazy()],
    ids=["arrow", "pandas", "polars", "lazy polars"],
)
def test_frames_are_taken_with_their_types(source: object) -> None:
    """A text column of pandas 2 is one of objects, which have no type."""
    untyped = isinstance(source, pd.DataFrame) and source["c"].dtype == object
    assert open_source(source).schema() == (WANTED | {"c": None} if untyped else WANTED)


@pytest.mark.parametrize("source", [{"a": [1]}, [1], 3, None, pd.Series([1])])
def test_what_is_no_table_is_refused(source: object) -> None:
    with pytest.raises(SourceError):
        open_source(source)


MIXED = [1] * 60
ODD = [1, 1.5, "secret-value", None, 2**70, Decimal("1.5"), date(2020, 1, 1), object()]


@pytest.mark.parametrize("make", [of_pandas, of_polars, of_categories, of_index, of_levels])
def test_entries_without_a_type_are_read_as_declared_and_refused_where_nothing_is(make: Any) -> None:
    """An object column of pandas took its type, its lattice and the stated loss from its rows."""
    for declared in ("real", "integer", "text", "boolean", "date", "timestamp", None):
        kinds = {_to_arrow(make([*MIXED, odd]), {"a": declared} if declared else {}).schema for odd in ODD}
        assert len(kinds) == 1
    for rows in (MIXED, [*MIXED, "secret-value"]):  # categories are text, where nothing is declared
        frame, categories = make(rows), make in (of_categories, of_levels)
        assert open_source(frame).schema()["a"] is (Kind.TEXT if categories else None)
        assert open_source(frame, unit="a").schema()["a"] is Kind.TEXT
        assert open_source(frame, columns={"a": dn.Number()}, unit="a").schema()["a"] is Kind.REAL
        assert open_source(frame, columns={"a": dn.Keys([1, 2])}).schema()["a"] is Kind.INTEGER
        db = dn.connect(frame, name="t", unit=dn.each_row(), budget=dn.Budget(epsilon=9))
        if not categories:
            with pytest.raises(UnsupportedQueryError, match=r"for example columns=\{'a': dn.Text"):
                db.sql("SELECT COUNT(a) FROM t", epsilon=1)
        assert db.sql("SELECT COUNT(*) FROM t", epsilon=1).safe


def test_a_question_on_declared_entries_has_one_type_and_one_loss() -> None:
    def asked(make: Any, odd: object) -> tuple[object, ...]:
        frame = make([*MIXED, odd])
        db = dn.connect(
            frame,
            name="t",
            unit="a",
            columns={"a": dn.Number(lower=0, upper=9)},
            rows=1,
            groups=1,
            budget=dn.Budget(epsilon=9),
        )
        explained = str(db.explain("SELECT SUM(a) AS s, AVG(a) AS m FROM t", epsilon=1))
        answer = db.sql("SELECT SUM(a) AS s, AVG(a) AS m FROM t", epsilon=1)
        return str(answer.cost), answer.to_arrow().schema, answer["s"].dtype, explained

    for make in (of_pandas, of_categories, of_index, of_levels):
        assert len({str(asked(make, odd)) for odd in (1, 1.5, "x", None, 2**70)}) == 1


PLACES = ["COUNT(DISTINCT a), COUNT(a)", "COUNTIF(a IS NULL)", "COUNTIF(LOWER(CAST(a AS TEXT)) LIKE '%x%')"]


@pytest.mark.parametrize("make", [of_pandas, of_index])
@pytest.mark.parametrize(
    "declared", [dn.Text(), dn.Number(lower=0, upper=9, integer=True), dn.Boolean(), dn.Date(), dn.Keys([3, 5]), None]
)
def test_every_odd_entry_may_be_a_unit_a_value_or_a_filter(make: Any, declared: Any) -> None:
    frame = make(list(EVERY_ODD.values()))
    for unit in ("a", "b"):
        columns = {} if declared is None else {"a": declared}
        db = dn.connect(frame, name="t", unit=unit, columns=columns, rows=3, budget=dn.Budget(epsilon=99))
        for asked in PLACES if declared or unit == "a" else ["COUNT(*)"]:
            with suppress(UnsupportedQueryError):
                assert len(db.sql(f"SELECT {asked} FROM t", epsilon=1).to_dicts()) == 1
        assert all(entry.answered for entry in db.ledger.entries())


def test_units_without_a_type_are_one_person_in_every_spelling() -> None:
    ids = [1, 1.0, True, Decimal("1.00"), "1", "b", None, "\ud800"]
    table = _to_arrow(of_pandas(ids), {"a": "text"})
    assert table["a"].to_pylist() == ["1"] * 5 + ["b", None, None]


def test_named_indices_of_pandas_are_columns() -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([5, 6], name="who"))
    assert open_source(frame).schema() == {"who": Kind.INTEGER, "a": Kind.INTEGER}
    assert open_source(frame.reset_index(drop=True)).schema() == {"a": Kind.INTEGER}


def test_a_server_is_asked_for_tables_by_name_and_other_servers_are_none() -> None:
    with pytest.raises(SourceError, match="say which table"):
        open_source("postgresql://localhost/x")
    with pytest.raises(SourceError, match="say which table"):
        open_sources({"a": "postgresql://localhost/x"}, columns={}, unit="who")
    with pytest.raises(SourceError, match="those of PostgreSQL"):
        open_source("mysql://localhost/x")


def test_two_frames_of_spark_never_share_a_view(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame that is gone leaves its place in memory to the next, which must not be read in its stead."""
    views: list[str] = []

    class Frame:
        __module__ = "pyspark.sql"
        sparkSession = None

    def opened(session: None, view: str, frame: Frame) -> Broken:
        views.append(view)
        return Broken()

    monkeypatch.setattr("deniable.query.engines.spark.runner.SparkRunner", opened)
    for _ in range(3):
        open_source(Frame())
    assert len(set(views)) == 3


def test_a_ledger_of_one_shop_is_not_that_of_another(tmp_path: Path) -> None:
    """Three units of shop a were answered, and the same answer was served for the fifty of shop b."""
    for shop, units in (("a", 3), ("b", 50)):
        (tmp_path / shop).mkdir()
        for name in ("c", "d"):
            pq.write_table(pa.table({"who": range(units), "k": [1] * units}), tmp_path / shop / f"{name}.parquet")

    def ask(shop: str, **how: Any) -> Any:
        files = {name: tmp_path / shop / f"{name}.parquet" for name in ("c", "d")}
        db = dn.connect(files, unit="who", columns={}, budget=dn.Budget(epsilon=9), name="shop",
                        ledger=tmp_path / "shop.ledger", **how)  # fmt: skip
        return db.sql("SELECT COUNT(*) AS n FROM d", epsilon=1)

    first = ask("a").to_dicts()
    assert ask("a").to_dicts() == first
    for shop, how in (("b", {}), ("a", {"public": ["c"]}), ("a", {"public": ["c"], "moved": True})):
        with pytest.raises(LedgerError, match="was opened for the table 'c' in"):
            ask(shop, **how)

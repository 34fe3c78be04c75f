"""Streams of a database: one charge, each step read once after it ended, and what is refused before."""

from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.errors import CatalogError, ExecutionError, InvalidParameterError, StreamError, UnprovedError

DAYS = [date(2026, 1, 1 + index % 10) for index in range(900)]
COLUMNS = {"ward": dn.Keys(["a", "b"]), "cost": dn.Number(lower=0, upper=10), "ill": dn.Boolean()}
START = date(2026, 1, 1)
FACTS: dict[str, Any] = {"moment": "day", "start": START, "steps": 20, "rho": 10**6}  # hardly any noise


def rows(days: list[Any] = DAYS) -> pa.Table:
    index, random = np.arange(len(days)), np.random.default_rng(1)
    return pa.table(
        {
            "person": index // 3,
            "ward": random.choice(["a", "b", " ", "c"], len(days)),
            "cost": np.where(random.random(len(days)) < 0.2, np.nan, random.integers(-5, 20, len(days))),
            "ill": random.random(len(days)) < 0.5,
            "day": days,
            "note": ["secret"] * len(days),
        }
    )


def database(source: Any, **given: Any) -> dn.Database:
    settings = {"name": "visits", "unit": dn.each_row("visit"), "columns": COLUMNS, "budget": dn.Budget(rho=10**7)}
    return dn.connect(source, **settings | given)


def test_steps_that_have_ended_are_released_once_and_paid_once(tmp_path: Path) -> None:
    db = database(rows())
    stream = db.stream(tmp_path / "x.stream", windows=(2,), **FACTS)
    assert stream.advance(datetime(2026, 1, 1, 12)) is None
    first = stream.advance(datetime(2026, 1, 4))
    assert first is not None
    assert first["total"] == pytest.approx([90, 180, 270], abs=2)
    assert first["last_2"] == pytest.approx([90, 180, 180], abs=2)
    later = stream.advance(datetime(2026, 1, 12, 3))
    assert later is not None
    assert later["total"] == pytest.approx([*range(90, 901, 90), 900], abs=3)
    assert later["total"][:3].tolist() == first["total"].tolist()
    zoned = datetime(2026, 1, 12, 4, tzinfo=timezone(timedelta(hours=1)))
    for same in (date(2026, 1, 12), zoned):
        again = stream.advance(same)
        assert again is not None
        assert again["total"].tolist() == later["total"].tolist()
    back = stream.advance(datetime(2025, 1, 1))  # a clock that goes back
    assert back is not None
    assert back["total"].tolist() == later["total"].tolist()
    assert len(db.history()) == 1
    assert "protects one visit" not in later.text


@pytest.mark.parametrize("kind", ["frame", "folder", "duckdb"])
def test_sums_by_key_of_every_source(kind: str, tmp_path: Path) -> None:
    """Against pandas: values clamped to [0, 10], missing ones and undeclared wards left out."""
    source: Any = rows() if kind == "frame" else tmp_path / "parts"
    if kind != "frame":
        source.mkdir()
        pq.write_table(rows(), source / "1.parquet")
    if kind == "duckdb":
        import duckdb

        with duckdb.connect(str(tmp_path / "x.duckdb")) as connection:
            connection.execute(f"CREATE TABLE visits AS SELECT * FROM '{source}/*.parquet'")
        source = tmp_path / "x.duckdb"
    given = {"table": "visits"} if kind == "duckdb" else {}
    stream = database(source, **given).stream(tmp_path / "x.stream", key="ward", value="cost", where="ill", **FACTS)
    released = stream.advance(datetime(2026, 1, 5))
    table: Any = rows().to_pandas()
    table = table[table.ill & (table.day.astype(str) < "2026-01-05")]
    known = table.cost.clip(0, 10).groupby([table.day.astype(str), table.ward]).sum().unstack().cumsum()[["a", "b"]]
    assert released is not None
    assert released["total"].reshape(4, 2) == pytest.approx(known.to_numpy(), abs=0.3)
    assert released["key"].tolist() == ["a", "b"] * 4


def test_a_growing_folder_goes_on_and_late_rows_do_not_count(tmp_path: Path) -> None:
    folder, state = tmp_path / "parts", tmp_path / "x.stream"
    folder.mkdir()
    ledger = tmp_path / "books.ledger"
    totals = []
    for number, days in enumerate(([START] * 5, [START] * 7 + [date(2026, 1, 2)] * 3), start=1):
        pq.write_table(rows(days), folder / f"{number}.parquet")
        with_ledger = database(folder, ledger=ledger)
        released = with_ledger.stream(state, **FACTS).advance(datetime(2026, 1, 1 + number))
        assert released is not None
        totals.append(released["total"])
    assert totals[1] == pytest.approx([5, 8], abs=1)
    assert len(with_ledger.history()) == 1


def test_persons_count_on_so_many_days(tmp_path: Path) -> None:
    days = [date(2026, 1, 1 + index % 3) for index in range(30)]  # ten persons, on three days each
    db = database(rows(days), unit="person", rows=3, budget=dn.Budget(rho=10**7))
    for limit, known in ((1, [10, 10, 10]), (2, [10, 20, 20]), (3, [10, 20, 30])):
        path = tmp_path / f"{limit}.stream"
        released = db.stream(path, steps_per_unit=limit, **FACTS).advance(datetime(2026, 1, 4))
        assert released is not None
        assert released["total"] == pytest.approx(known, abs=1)
        assert released.protects.startswith("one person, up to 1 rows in each of up to")


def test_which_row_of_a_person_counts_is_left_to_chance(tmp_path: Path) -> None:
    """And not to the order in which an engine hands rows out: of 400 persons about half count in each ward.

    Fails once in 10^6 keys; a choice of first rows counts all in ward a.
    """
    source = pa.table({"person": np.arange(800) // 2, "ward": ["a", "b"] * 400, "day": [START] * 800})
    db = database(source, unit="person", rows=2, columns={"ward": COLUMNS["ward"]})
    released = db.stream(tmp_path / "x.stream", key="ward", **FACTS).advance(datetime(2026, 1, 2))
    assert released is not None
    assert released["total"].sum() == pytest.approx(400, abs=1)
    assert 150 < released["total"][0] < 250


def test_other_moments_are_refused_before_anything_is_paid(tmp_path: Path) -> None:
    db = database(rows())
    wrong: Any = "2026-01-04"
    with pytest.raises(InvalidParameterError, match="until must be a moment"):
        db.stream(tmp_path / "x.stream", **FACTS).advance(wrong)
    assert not db.history()
    assert not (tmp_path / "x.stream").exists()


def test_moments_count_by_the_hour(tmp_path: Path) -> None:
    moments = [datetime(2026, 1, 1, 0, 59, 59, 999999), datetime(2026, 1, 1, 1), datetime(1800, 1, 1), None]
    frame = pa.table({"at": moments})
    stream = database(frame, columns={}).stream(tmp_path / "x", **FACTS | {"moment": "at"}, every="hour")
    released = stream.advance(datetime(2026, 1, 1, 3, 30))
    assert released is not None
    assert released["total"] == pytest.approx([1, 2, 2], abs=0.5)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"moment": "ward"}, InvalidParameterError),
        ({"moment": "nothing"}, Exception),
        ({"every": "hour"}, InvalidParameterError),
        ({"every": "year"}, InvalidParameterError),
        ({"start": "2026-01-01"}, InvalidParameterError),
        ({"key": "note"}, CatalogError),
        ({"value": "day"}, CatalogError),
        ({"where": "cost >"}, Exception),
        ({"rho": None, "epsilon": 1}, InvalidParameterError),
        ({"steps": 0}, InvalidParameterError),
        ({"stepz": 3}, InvalidParameterError),
        ({"keys": ["a"]}, InvalidParameterError),
    ],
)
def test_mistakes_cost_nothing_and_leave_no_file(changed: dict[str, Any], error: Any, tmp_path: Path) -> None:
    db = database(rows())
    with pytest.raises(error):
        db.stream(tmp_path / "x.stream", **FACTS | changed)
    assert len(db.history()) == 0
    assert not (tmp_path / "x.stream").exists()


def test_a_step_that_cannot_be_read_stays_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = database(rows())
    stream = db.stream(tmp_path / "x.stream", **FACTS)

    def fails(*_: object) -> None:
        raise ValueError("8675309")

    with monkeypatch.context() as patch:
        patch.setattr(type(db._responder.engine), "columns", fails)
        with pytest.raises(ExecutionError) as error:
            stream.advance(datetime(2026, 1, 3))
    assert error.value.__context__ is None
    released = stream.advance(datetime(2026, 1, 3))
    assert released is not None
    assert released["total"] == pytest.approx([90, 180], abs=2)
    assert len(db.history()) == 1
    with pytest.raises(StreamError, match="another stream"):
        db.stream(tmp_path / "x.stream", **FACTS | {"steps": 21}).advance(datetime(2026, 1, 3))


def test_units_of_several_ids_are_refused(tmp_path: Path) -> None:
    unit = dn.PrivacyUnit(column="person", noun="household", ids=2)
    db = database(rows(), unit=unit)
    with pytest.raises(UnprovedError, match="may own 2"):
        db.stream(tmp_path / "x.stream", **FACTS).advance(datetime(2026, 1, 3))

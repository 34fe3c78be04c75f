"""HAVING, ORDER BY and LIMIT act on noisy numbers, and say so."""

from datetime import date

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.noise.bits import DeterministicBits
from deniable.query.answer import CHOSEN
from deniable.query.database import Database
from deniable.release import Release


@pytest.fixture
def db() -> Database:
    source = pa.table(
        {"g": [0] * 900 + [1] * 500 + [2] * 100, "h": [True, False, False] * 500, "x": [1.0, 2.0, 4.5] * 500}
    )
    made = dn.connect(
        source,
        name="t",
        unit=dn.each_row(),
        budget=dn.Budget(epsilon=100),
        columns={"g": dn.Keys([3, 2, 1, 0]), "x": dn.Number(lower=0, upper=10)},
    )
    made._bits = DeterministicBits(8)
    return made


def ask(db: Database, text: str) -> Release:
    return db.sql(text, epsilon=10)


def test_every_declared_group_appears_in_the_declared_order(db: Database) -> None:
    answer = ask(db, "SELECT g, h, COUNT(*) AS n FROM t GROUP BY g, h")
    assert list(answer["g"]) == [3, 3, 2, 2, 1, 1, 0, 0]
    assert list(answer["h"]) == [False, True] * 4
    np.testing.assert_allclose(answer["n"], [0, 0, 67, 33, 333, 167, 600, 300], atol=10)


def test_order_and_limit_come_after_the_noise(db: Database) -> None:
    answer = ask(db, "SELECT g, COUNT(*) AS n FROM t GROUP BY g ORDER BY n DESC LIMIT 2")
    assert list(answer["g"]) == [0, 1]
    assert CHOSEN in answer.notes
    by_key = ask(db, "SELECT g, COUNT(*) AS n FROM t GROUP BY g ORDER BY g LIMIT 2")
    assert list(by_key["g"]) == [0, 1]
    assert CHOSEN not in by_key.notes


def test_having_may_use_aggregates_aliases_and_keys(db: Database) -> None:
    answer = ask(db, "SELECT g, COUNT(*) AS n FROM t GROUP BY g HAVING n > 50 AND COUNT(*) < 800 AND g <> 1")
    assert list(answer["g"]) == [2]
    assert CHOSEN in answer.notes
    assert len(ask(db, "SELECT g, COUNT(*) AS n FROM t GROUP BY g HAVING n > 1e9")) == 0


def test_averages_stay_in_their_bounds_and_say_so(db: Database) -> None:
    answer = ask(db, "SELECT g, AVG(x) AS a, 2 * AVG(x) + 1 AS b FROM t GROUP BY g")
    assert answer["a"][-1] == pytest.approx(2.5, abs=0.1)
    assert answer["b"][-1] == pytest.approx(6, abs=0.2)
    bounds = answer.intervals()["a"]
    assert (bounds.lower[0], bounds.upper[0]) == (0, 10)  # nobody is in group 3: anything is possible
    assert "clamped to [0, 10]" in str(answer)


def test_whole_numbers_stay_whole(db: Database) -> None:
    answer = ask(db, "SELECT COUNT(*) AS n, SUM(x) AS s FROM t")
    assert answer["n"].dtype == np.int64
    assert answer["s"][0] == pytest.approx(3750, abs=20)


def test_public_columns_of_every_kind_can_be_written_out() -> None:
    source = pa.table({"d": [date(2025, 1, 1), date(2025, 1, 2)], "c": ["x", "y"], "h": [True, None]})
    made = dn.connect(
        source,
        name="t",
        unit=dn.each_row(),
        budget=dn.Budget(epsilon=100),
        columns={"d": dn.Keys([date(2025, 1, 1), date(2025, 1, 2)]), "c": dn.Keys(["x", "y"], null=True)},
    )
    answer = made.sql(
        "SELECT d, c, h, TRUE AS yes, NULL AS nothing, h IS NULL AS z, c = 'x' AS e, "
        "CASE WHEN c = 'x' THEN c END AS one, CASE WHEN h THEN d END AS day, COUNT(*) AS n FROM t GROUP BY d, c, h "
        "HAVING d >= '2025-01-01 12:00:00' ORDER BY c NULLS FIRST",
        epsilon=10,
    )
    assert len(answer) == 6
    rows = answer.to_arrow().to_pylist()
    assert rows[0]["c"] is None
    assert rows[0]["one"] is None
    assert rows[0]["yes"] is True
    assert {row["one"] for row in rows} == {None, "x"}
    assert {row["day"] for row in rows} == {None, date(2025, 1, 2)}
    assert "nan" not in str(answer)
    assert answer.to_json()


def test_key_expressions_and_constants_are_public_columns(db: Database) -> None:
    answer = ask(db, "SELECT g * 10 AS k, 'x' AS label, COUNT(*) AS n FROM t GROUP BY g")
    assert list(answer["k"]) == [30, 20, 10, 0]
    assert list(answer["label"]) == ["x"] * 4
    assert answer.to_arrow().num_rows == 4

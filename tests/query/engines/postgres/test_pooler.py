"""A pooler that lends connections for transactions: nothing of ours stays there, and nothing of others counts."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from tests.postgres import Pooler, as_reader

psycopg = pytest.importorskip("psycopg")

# What others leave: settings, prepared statements, cursors, listening, locks, and tables that hide those of the server.
RUDE = """
CREATE TEMP TABLE visits AS SELECT 1 AS who, date '2024-01-01' AS day, 1 AS x;
CREATE TEMP TABLE pg_class AS SELECT * FROM pg_catalog.pg_class LIMIT 0;
PREPARE p AS SELECT 1; LISTEN c; SELECT pg_advisory_lock(pg_backend_pid());
DECLARE c CURSOR WITH HOLD FOR SELECT 1;
SET TimeZone = 'Asia/Kolkata'; SET DateStyle = 'German'; SET search_path = hidden, public; SET row_security = on;
SET standard_conforming_strings = off; SET transform_null_equals = on; SET extra_float_digits = -3;
SET lock_timeout = '5s'; SET idle_in_transaction_session_timeout = '5s'; SET statement_timeout = '5s';
SET default_transaction_isolation = 'serializable'; SET default_transaction_read_only = on
"""
STATE = """
SELECT name || ' ' || setting FROM pg_settings
WHERE source = 'session' AND name NOT IN ('application_name', 'client_encoding') AND name !~ '^transaction_'
UNION ALL SELECT name FROM pg_prepared_statements UNION ALL SELECT name FROM pg_cursors
UNION ALL SELECT pg_listening_channels()
UNION ALL SELECT relname FROM pg_catalog.pg_class WHERE relpersistence = 't'
UNION ALL SELECT objid::text FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()
"""


@pytest.fixture
def shop(postgres: str) -> str:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT n / 2 AS who, date '2024-01-01' + n % 3 AS day, n % 7 AS x "
            "FROM generate_series(0, 199) AS n; GRANT TEMPORARY, CREATE ON DATABASE "
            f"{connection.info.dbname} TO reader; CREATE SCHEMA hidden; GRANT ALL ON SCHEMA hidden TO reader"
        )
    return postgres


def asked(url: str, ledger: Any = None) -> list[tuple[int, ...]]:
    db = dn.connect(
        url, table="visits", unit="who", rows=2, groups=2, ledger=ledger, budget=dn.Budget(epsilon=10**7), columns={
            "x": dn.Number(lower=0, upper=6, integer=True),
            "day": dn.Date(lower="2024-01-01", upper="2024-01-03"),
        },
    )  # fmt: skip
    texts = ("SELECT COUNT(*) AS n, SUM(x) AS s FROM visits", "SELECT day, COUNT(*) AS n FROM visits GROUP BY day")
    rows = [row for text in texts for row in db.sql(text, epsilon=10**5).to_dicts()]
    return [tuple(round(row[name]) for name in ("n", "s") if name in row) for row in rows]


def state(url: str) -> list[tuple[str]]:
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        found: list[tuple[str]] = connection.execute(STATE).fetchall()
        return sorted(found)


def test_questions_and_ledgers_share_a_pool_with_others_who_leave_their_state(
    shop: str, pooler: Pooler, tmp_path: Path
) -> None:
    """Of the reader's pool there is one connection, which all of this goes through; the ledger's role has another."""
    expected = asked(as_reader(shop))
    assert expected == [(200, 594), (67,), (67,), (66,)]
    url, ledger = pooler.of(as_reader(shop)), f"{pooler.of(shop)}&schema=pooled"
    assert asked(url) == expected
    assert state(url) == []
    for mine in (url, pooler.of(shop)):
        with psycopg.connect(mine, autocommit=True, prepare_threshold=None) as rude:
            for statement in RUDE.split(";"):
                rude.execute(statement)
    before = state(url), state(pooler.of(shop))
    assert all(len(each) > 12 for each in before)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(asked, [url] * 4)) == [expected] * 4
        assert list(pool.map(asked, [url] * 4, [ledger] * 4)) == [expected] * 4
    with psycopg.connect(shop) as connection:  # each question was paid once
        assert connection.execute("SELECT count(*) FROM pooled.records WHERE kind = 'entry'").fetchone() == (2,)
    assert (state(url), state(pooler.of(shop))) == before

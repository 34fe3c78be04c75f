"""The server that tests start can be trusted: each test has a database of its own, and nothing stays behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import postgres as servers
from tests.postgres import PASSWORD, Server

psycopg = pytest.importorskip("psycopg")


def test_a_database_is_empty_and_gone_afterwards(postgres_server: Server) -> None:
    listed = "SELECT datname FROM pg_database ORDER BY datname"
    before = postgres_server.execute(listed)
    for _ in range(2):
        with postgres_server.database() as url, psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE t AS SELECT 'Zoë' AS name")
            assert connection.execute("SELECT name, current_user FROM t").fetchall() == [("Zoë", "deniable")]
    assert postgres_server.execute(listed) == before


def test_a_wrong_password_is_refused(postgres_server: Server) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(postgres_server.dsn(password=PASSWORD[:-1]))


def test_it_stops_like_a_host_without_power_and_keeps_what_was_committed(postgres_server: Server) -> None:
    with postgres_server.database() as url:
        with psycopg.connect(url) as kept:
            kept.execute("CREATE TABLE t AS SELECT 7 AS x")
        with psycopg.connect(url, autocommit=True) as lost:
            lost.execute("BEGIN; INSERT INTO t VALUES (8)")
            postgres_server.stop()
            with pytest.raises(psycopg.OperationalError):
                lost.execute("COMMIT")
            with pytest.raises(psycopg.OperationalError):
                psycopg.connect(url)
            postgres_server.start()
        with psycopg.connect(url) as again:
            assert again.execute("SELECT x FROM t").fetchall() == [(7,)]


def test_it_is_gone_when_the_tests_are_killed() -> None:
    """The shell that keeps the server outlives them by a moment, and shares their stderr until it is done."""
    if servers.missing():
        pytest.skip(str(servers.missing()))
    lines = (
        "import os, signal",
        "from tests.postgres import Server, programs",
        "print(Server(programs()).folder, flush=True)",
        "os.kill(os.getpid(), signal.SIGKILL)",
    )
    root = Path(__file__).parents[1]
    killed = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, cwd=root, check=False)
    assert killed.returncode == -signal.SIGKILL
    folder = Path(os.fsdecode(killed.stdout).strip())
    assert folder.name.startswith("deniable-postgres-")
    assert not folder.exists()

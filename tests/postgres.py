"""A PostgreSQL server for tests: made anew in a folder of its own, reached by a socket there, gone with the tests.

A test takes the fixture `postgres` (the URL of an empty database) or `postgres_server` (the `Server` itself: further
databases and roles, statements of a superuser, a restart), or `pooler`, a PgBouncer before it in transaction mode.
Where none can be had they skip, and say why; where NEED_POSTGRES is set, as in the gate, they fail instead.
"""

import getpass
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import quote

PASSWORD = "correct horse/battery@staple"  # of the superuser "deniable"; no message may show it
_NUMBERS = count(1)
# The shell lives as long as its standard input: a line stops the server, an end (the tests were killed) removes it too.
_KEEPER = """
pg_ctl start -w -t 60 -s -D "$1/data" -l "$1/log" -o "-k '$1' -c listen_addresses='' -c max_connections=60"
echo started; read _; kept=$?
pg_ctl stop -m immediate -s -D "$1/data"
[ "$kept" = 0 ] || rm -rf "$1"
"""


class Server:
    """A server with the superuser "deniable", who needs the password."""

    def __init__(self, programs: Path) -> None:
        root = os.geteuid() == 0  # whom PostgreSQL refuses
        names = ("postgres", "nobody") if root else (getpass.getuser(),)
        self._as = {"user": next(name for name in names if _exists(name)), "extra_groups": []} if root else {}
        self._env = {"PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C"}
        self._keeper: subprocess.Popen[bytes] | None = None
        memory = Path("/dev/shm")  # where a sync costs nothing; the path of a socket must be short, too
        roomy = memory.is_dir() and shutil.disk_usage(memory).free > 2**29
        self.folder = Path(tempfile.mkdtemp(prefix="deniable-postgres-", dir=memory if roomy else None))
        if root:
            shutil.chown(self.folder, self._as["user"])
        try:
            self.run("umask 077; cat > password", PASSWORD)
            self.run("initdb -ND data -A scram-sha-256 -U deniable --pwfile=password -E UTF8 --locale=C.UTF-8")
            self.start()
            self.execute(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")
        except BaseException:
            shutil.rmtree(self.folder)
            raise

    def dsn(self, database: str = "postgres", *, user: str = "deniable", password: str = PASSWORD) -> str:
        """The URL of a database, with a password."""
        return f"postgresql://{user}:{quote(password, safe='')}@/{database}?host={quote(str(self.folder), safe='')}"

    def execute(self, statement: str, *, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run a statement as the superuser, or several of which the last gives the rows."""
        import psycopg

        with psycopg.connect(self.dsn(database), autocommit=True) as connection:
            found = connection.execute(statement.encode())
            while found.nextset():
                pass
            return found.fetchall() if found.description else []

    @contextmanager
    def database(self, options: str = "") -> Iterator[str]:
        """The URL of an empty database, which is dropped at the end with all who still use it; see `as_reader`."""
        name = f"test_{next(_NUMBERS)}"
        self.execute(f"CREATE DATABASE {name} {options}")
        self.execute("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO reader", database=name)
        try:
            yield self.dsn(name)
        finally:
            self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._keeper = self.started(_KEEPER)

    def stop(self) -> None:
        """Stop it as a cut of its power would: no transaction ends, and the log is replayed at the next start."""
        assert self._keeper is not None
        self._keeper.communicate(b"stop\n")

    def remove(self) -> None:
        """Stop it and delete its files."""
        assert self._keeper is not None
        self._keeper.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, command: str, given: str = "") -> None:
        """Run a line of the shell as the user of the server, in its folder."""
        subprocess.run(
            ["sh", "-c", command], input=given, text=True, check=True, capture_output=True,
            cwd=self.folder, env=self._env, **self._as,
        )  # fmt: skip

    def started(self, script: str) -> subprocess.Popen[bytes]:
        """A script of the shell that runs until its input ends, as soon as it has written a line."""
        keeper = subprocess.Popen(
            ["sh", "-c", script, "sh", self.folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self.folder,
            env=self._env,
            **self._as,
        )
        assert keeper.stdout is not None
        keeper.stdout.readline()
        return keeper


class Pooler:
    """A PgBouncer, which lends connections of a server for a transaction: so many to each role in a database."""

    def __init__(self, server: Server, program: str, *, size: int) -> None:
        users = "".join(f'"{user}" "{PASSWORD}"\n' for user in ("deniable", "reader"))
        server.run("umask 077; cat > users", users)
        self._port = 6431 + size
        server.run(f"cat > {self._port}.ini", _POOLED.format(folder=server.folder, port=self._port, size=size))
        self._keeper = server.started(_POOLING.format(program=program, port=self._port))

    def of(self, url: str) -> str:
        """The same database, behind it."""
        return f"{url}&port={self._port}"

    def remove(self) -> None:
        """Stop it."""
        self._keeper.communicate()


_POOLED = """[databases]
* = host={folder}
[pgbouncer]
listen_port = {port}
unix_socket_dir = {folder}
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {size}
query_wait_timeout = 20
"""
_POOLING = """
{program} -q {port}.ini > /dev/null 2>&1 &
while ! [ -S .s.PGSQL.{port} ]; do kill -0 $! || break; sleep 0.05; done
echo started; read _
kill $!; wait
"""


def as_reader(url: str) -> str:
    """The same database for a role that may connect, use its schema public and select, and nothing else."""
    return url.replace("//deniable:", "//reader:")


def programs() -> Path | None:
    """The folder of PostgreSQL's programs: POSTGRES_BIN, or on the path, or where Debian puts them."""
    if chosen := os.environ.get("POSTGRES_BIN"):
        return Path(chosen).resolve()
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    return max((path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")), default=None)


def pooler_program() -> str | None:
    """The path of PgBouncer, on the path or where Debian puts it."""
    return shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")


def missing() -> str | None:
    """Why no server can be had; None if one can."""
    if os.name != "posix" or programs() is None:
        return "needs PostgreSQL's server programs: `make postgres` installs them on Debian"
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        return f"needs psycopg: {error}"
    return None


def _exists(name: str) -> bool:
    import pwd

    return any(name == user.pw_name for user in pwd.getpwall())

"""One table of a Spark session: its columns, and the rows of one statement.

A result is fetched once, through Arrow.
"""

import weakref
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from secrets import token_hex
from typing import Any

from deniable.errors import InvalidParameterError, MissingExtraError, SourceError
from deniable.query.engines.runner import StatementRunner, not_opened
from deniable.query.engines.spark.expression import Spark
from deniable.query.engines.spark.views import FIELDS, refusal

OLDEST = 4  # the first with try_mod, toArrow and collations
SETTINGS: Mapping[str, str] = {  # what a statement's meaning depends on
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
}


# What others in the session may change: it decides how a statement is run, and not what it means.
LOOSE = (
    FIELDS,
    "spark.sql.adaptive.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.execution.arrow.",
    "spark.sql.files.maxPartition",
    "spark.sql.files.minPartition",
    "spark.sql.shuffle.",
    "spark.sql.ui.",
)

# Frames and views of them that nobody asks any more. The garbage collector may run in the middle of a call to Spark, so
# it drops none itself: the next connections do.
_LEFT: deque[tuple[Any, str]] = deque()


def session_in_hand() -> Any:
    """Return the active session of Spark, or a new one.

    SPARK_REMOTE or spark-defaults.conf say which a new one is.

    Raises: MissingExtraError without pyspark; SourceError if none can be started.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError.of("spark", "Spark needs pyspark") from None
    with suppress(Exception):
        return SparkSession.getActiveSession() or SparkSession.builder.config(map=dict(SETTINGS)).getOrCreate()
    raise SourceError("no session of Spark can be started. Check Java, and SPARK_REMOTE or spark-defaults.conf.")


def open_table(table: str) -> "SparkRunner":
    """A table or view of the catalogue of `session_in_hand`, as "database.table".

    Raises: as `session_in_hand` and `SparkRunner`.
    """
    session = session_in_hand()
    frame = None
    with suppress(Exception):
        frame = session.table(".".join(map(Spark.quoted, table.split("."))))
    if frame is None:
        raise not_opened(table, "check that the catalogue has it, and how database and table are spelt.")
    runner = SparkRunner(session, f"deniable_{token_hex(16)}", frame)
    runner.table = table
    return runner


class SparkRunner(StatementRunner):
    """A table, view or path of Parquet files; a path has a slash.

    Args:
        frame: what `table` is to be the name of. It is named anew before each question, as others in the session may
            use or drop any name.

    Raises: InvalidParameterError if the session's settings or version do not fit; SourceError if there is no table.
    """

    dialect = Spark()

    def __init__(self, session: Any, table: str, frame: Any = None) -> None:
        other = _others(session)
        if other or int(session.version.split(".")[0]) < OLDEST:
            needed = ", ".join(f"{name}={value}" for name, value in (other or SETTINGS).items())
            raise InvalidParameterError(f"the session must be of Spark {OLDEST} or newer, with {needed}.")
        self.session = session
        self.server = session
        types = None
        self._table = table
        self._frame = frame
        self._said = _said(session)
        _drop_left()
        if frame is not None:
            weakref.finalize(self, _LEFT.append, (frame, table)).atexit = False
        parts = (
            [f"parquet.{self.dialect.quoted(table)}"] if "/" in table else map(self.dialect.quoted, table.split("."))
        )
        self.source = ".".join(parts)
        with suppress(Exception):
            self._name()  # through Spark Connect a frame is analysed here
            types = {field.name: field.dataType.simpleString() for field in session.table(self.source).schema}
        if types is None and frame is not None:
            raise SourceError("the frame cannot be opened: check that what it reads is there, and may be read.")
        if types is None:
            raise not_opened(table)
        if why := refusal(session, self.source):
            raise SourceError(f"the table or frame cannot be asked: {why}")
        self.types = {name: base.split("(")[0].split(" ")[0] for name, base in types.items()}

    def unchanged(self) -> bool:
        with suppress(Exception):
            self._name()
            return not _others(self.session) and _said(self.session) == self._said
        return False

    def _name(self) -> None:
        if self._frame is not None:
            self._frame.createOrReplaceTempView(self._table)

    def check(self, statement: str) -> bool:
        plan = "Error occurred"  # so begins what EXPLAIN says of a statement that cannot be planned
        with suppress(Exception):
            ((plan,),) = self.session.sql(f"EXPLAIN {statement}").collect()
        return not plan.startswith("Error occurred")

    def rows(self, statement: str) -> list[tuple[Any, ...]] | None:
        with suppress(Exception):
            if not self.unchanged():
                return None
            rows = self.session.sql(statement).toArrow()
            if not self.unchanged():  # somebody changed a setting meanwhile
                return None
            return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
        return None


def _drop_left() -> None:
    """Drop two views that were left, and none of a cached frame.

    With the view, Spark would empty the cache.

    Each new view drops two, so they do not pile up.
    """
    for _ in range(2):
        with suppress(Exception):  # none is left, or the session is stopped
            frame, view = _LEFT.popleft()
            if frame.storageLevel.useMemory or frame.storageLevel.useDisk:
                _LEFT.append((frame, view))
            else:
                frame.sparkSession.catalog.dropTempView(view)


def _others(session: Any) -> dict[str, str]:
    """The settings that a session needs and does not have."""
    return {name: value for name, value in SETTINGS.items() if _setting(session, name) != value.lower()}


def _said(session: Any) -> dict[str, str]:
    """Return the settings of a session that change how SQL is understood."""
    said = session.conf.getAll.items()
    return {name: value for name, value in said if name.startswith("spark.sql.") and not name.startswith(LOOSE)}


def _setting(session: Any, name: str) -> str:
    """Return a setting of a session; "" if it has none.

    Spark 4.3 checks a default that is asked with, so none is given.
    """
    with suppress(Exception):
        return str(session.conf.get(name)).lower().replace("etc/utc", "utc")
    return ""

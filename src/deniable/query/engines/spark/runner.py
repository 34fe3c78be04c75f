"""One table of a Spark session: its columns, and the rows of one statement.

A result is fetched once, through Arrow.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from deniable.errors import InvalidParameterError, SourceError
from deniable.query.engines.runner import Runner, not_opened
from deniable.query.engines.spark.expression import Spark
from deniable.query.engines.spark.views import refusal

OLDEST = 4  # the first with try_mod, toArrow and collations
SETTINGS: Mapping[str, str] = {  # what a statement's meaning depends on
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
}


class SparkRunner(Runner):
    """A table, view or path of Parquet files; a path has a slash.

    Raises: InvalidParameterError if the session's settings or version do not fit; SourceError if there is no table.
    """

    dialect = Spark()

    def __init__(self, session: Any, table: str) -> None:
        other = _others(session)
        if other or int(session.version.split(".")[0]) < OLDEST:
            needed = ", ".join(f"{name}={value}" for name, value in (other or SETTINGS).items())
            raise InvalidParameterError(f"the session must be of Spark {OLDEST} or newer, with {needed}.")
        self.session, self.place, types = session, session, None
        parts = (
            [f"parquet.{self.dialect.quoted(table)}"] if "/" in table else map(self.dialect.quoted, table.split("."))
        )
        self.source = ".".join(parts)
        with suppress(Exception):
            types = {field.name: field.dataType.simpleString() for field in session.table(self.source).schema}
        if types is None:
            raise not_opened(table)
        if why := refusal(session, self.source):
            raise SourceError(f"the table or frame cannot be asked: {why}")
        self.types = {name: base.split("(")[0].split(" ")[0] for name, base in types.items()}

    def unchanged(self) -> bool:
        return not _others(self.session)

    def check(self, statement: str) -> bool:
        plan = "Error occurred"  # so begins what EXPLAIN says of a statement that cannot be planned
        with suppress(Exception):
            ((plan,),) = self.session.sql(f"EXPLAIN {statement}").collect()
        return not plan.startswith("Error occurred")

    def rows(self, statement: str) -> list[tuple[Any, ...]] | None:
        with suppress(Exception):
            if not self.unchanged():
                return None
            found = self.session.sql(statement).toArrow()
            return list(zip(*(column.to_pylist() for column in found.columns), strict=True))
        return None


def _others(session: Any) -> dict[str, str]:
    """The settings that a session needs and does not have."""
    return {name: value for name, value in SETTINGS.items() if _setting(session, name) != value.lower()}


def _setting(session: Any, name: str) -> str:
    """A setting of a session; "" if it has none. Spark 4.3 checks a default that is asked with, so none is given."""
    with suppress(Exception):
        return str(session.conf.get(name)).lower().replace("etc/utc", "utc")
    return ""

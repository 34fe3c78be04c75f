"""A Spark session that reads one table and answers one statement at a time."""

from typing import Any


# What the meaning of a statement depends on.
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
}


def local_session(*, threads: int) -> Any:
    """A session on this machine, for tables that one machine can read."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(threads),
        **SETTINGS,
    }
    builder = SparkSession.builder.master(f"local[{threads}]").appName("deniable")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()

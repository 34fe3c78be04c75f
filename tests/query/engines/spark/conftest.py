"""A Spark on this machine, started once: a minute, so `make spark` brings it and the gate does not."""

import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The session of all tests."""
    for missing in (shutil.which("java") is None and "a Java runtime", find_spec("pyspark") is None and "pyspark"):
        if missing:
            (pytest.fail if os.environ.get("NEED_SPARK") else pytest.skip)(f"needs {missing}: make spark brings it")
    with started() as session:
        yield session


@contextmanager
def started() -> Iterator[Any]:
    """A session of two threads, where a task may fail twice."""
    from pyspark.sql import SparkSession

    from deniable.query.engines.spark.runner import SETTINGS

    os.environ["PYSPARK_PYTHON"] = sys.executable  # what executors run
    own = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.host": "127.0.0.1"}
    own |= {"spark.driver.bindAddress": "127.0.0.1", "spark.sql.shuffle.partitions": "3", **SETTINGS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that pandas is newer than pyspark knows
        session = SparkSession.builder.master("local[2,3]").appName("deniable").config(map=own).getOrCreate()
    yield session
    session.stop()
